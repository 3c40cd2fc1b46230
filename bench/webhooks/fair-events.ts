// Publishes to the fair baseline. Events are committed to disk, either one per transaction or all in one, and the fair
// sender's process is then woken.
import pg from 'pg';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { bodyOf } from './message.ts';

export const fairTopic = 'events';

export interface FairEvents {
  /** Publishes an event for each of these owners in one transaction. Returns the event ids. */
  publish(owners: readonly number[]): Promise<string[]>;
  close(): Promise<void>;
}

const insert = {
  name: 'insert',
  text: 'insert into fair.events (id, owner, body) select * from unnest($1::uuid[], $2::integer[], $3::text[])',
};

export function openFairEvents(settings: {
  DATABASE_URL: string;
  REDIS_URL: string;
  REDIS_PREFIX: string;
}): FairEvents {
  const pool = new pg.Pool({ connectionString: settings.DATABASE_URL, max: 8 });
  const wake = openWakeUps(settings.REDIS_URL, settings.REDIS_PREFIX);
  return {
    async publish(owners) {
      const ids = owners.map(() => newId());
      await pool.query({ ...insert, values: [ids, owners, ids.map((id) => bodyOf(id, id))] });
      wake.notify(fairTopic);
      return ids;
    },
    async close() {
      wake.close();
      await pool.end();
    },
  };
}
