// The bare program. It copies the same rows into a table with the same columns and partitions, without indexes,
// ids, users or counts. Its connections copy concurrently, as the API's do.
import pg from 'pg';
import { toCopyLine } from '../../server/src/features/analytics/store/events.ts';
import { copyRows, openDatabase } from '../../server/src/kit/db/database.ts';
import type { BenchEvent } from './events.ts';

export interface BareProgram {
  /** Copies each batch in its own statement. Returns the duration in ms. */
  copy(app_id: string, batches: readonly BenchEvent[][]): Promise<number>;
  close(): Promise<void>;
}

export async function createBareTable(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`create table bare_events (like analytics_events) partition by range (at);
    create table bare_other partition of bare_events default`);
  await client.query(`do $$ declare day date := (now() at time zone 'UTC')::date - 1; begin
    for n in 0..3 loop
      execute format('create table bare_%s partition of bare_events for values from (%L) to (%L)', n,
        (day + n)::timestamp at time zone 'UTC', (day + n + 1)::timestamp at time zone 'UTC');
    end loop; end $$`);
  await client.end();
}

export function openBare(url: string, connections: number, rowsPerCopy: number): BareProgram {
  const { db, close } = openDatabase({ url, poolSize: connections });
  const text = `copy bare_events (app_id, event_id, at, event_name, user_id, session_id, page_url, properties, country,
    device_type, os) from stdin`;
  return {
    close,
    async copy(app_id, batches) {
      const startedAt = performance.now();
      const rows = batches.flat();
      const chunks = Array.from({ length: Math.ceil(rows.length / rowsPerCopy) }, (_, n) =>
        rows.slice(n * rowsPerCopy, (n + 1) * rowsPerCopy),
      ).values();
      const copyNext = async () => {
        for (const chunk of chunks) await copyRows(db, text, chunk.map((event) => toLine(app_id, event)).join(''));
      };
      await Promise.all(Array.from({ length: connections }, copyNext));
      return performance.now() - startedAt;
    },
  };
}

const toLine = (app_id: string, { timestamp, ...event }: BenchEvent): string =>
  toCopyLine({ ...event, app_id, at: new Date(timestamp), country: null, device_type: null, os: null });
