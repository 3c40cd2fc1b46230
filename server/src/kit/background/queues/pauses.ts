// Pauses of queues. While a queue or one of its owners is paused, no worker claims its rows. Rows that are already
// running continue. A pause ends by itself, so a forgotten one does no lasting harm.
import { sql } from 'kysely';
import { type AnyDb, transaction } from '../../db/database.ts';
import type { Queue } from './queue.ts';

export interface Pause {
  readonly queue: string;
  /** Null if the whole queue is paused. */
  readonly owner: string | null;
  readonly until: Date;
}

/** SQL for a claim's candidates. The table is nearly always empty. */
export const isNotPaused = ({ name }: Pick<Queue, 'name'>, owner: string): string =>
  `not exists (select from queue_pauses p where p.queue = '${name}' and (p.owner is null or p.owner = ${owner})
     and p.until > statement_timestamp())`;

/** Pauses a queue or one of its owners, or changes when the pause ends. Also removes pauses that have ended. */
export async function pauseQueue(
  db: AnyDb,
  queue: Pick<Queue, 'name'>,
  owner: string | null,
  seconds: number,
): Promise<Pause> {
  await sql`/* service */ delete from queue_pauses where until <= statement_timestamp()`.execute(db);
  const { rows } = await sql<Pause>`/* service */ insert into queue_pauses (queue, owner, until)
    values (${queue.name}, ${owner}::uuid, statement_timestamp() + ${seconds} * interval '1 second')
    on conflict (queue, owner) do update set until = excluded.until
    returning queue, owner, until`.execute(db);
  return rows[0] as Pause;
}

/** Returns whether there was a pause. Resuming the whole queue leaves the pauses of single owners. */
export const resumeQueue = (db: AnyDb, queue: Pick<Queue, 'name'>, owner: string | null): Promise<boolean> =>
  transaction(db, async (db) => {
    const { numAffectedRows } = await sql`/* service */ delete from queue_pauses
      where queue = ${queue.name} and owner is not distinct from ${owner}::uuid and until > statement_timestamp()`.execute(
      db,
    );
    return Number(numAffectedRows ?? 0) > 0;
  });

export async function listPauses(db: AnyDb): Promise<Pause[]> {
  const { rows } = await sql<Pause>`/* service */ select queue, owner, until from queue_pauses
    where until > statement_timestamp() order by queue, owner nulls first`.execute(db);
  return rows;
}
