// The drill's work: rows in a queue table with one or two steps, and one effect per step. Effects are plain
// inserts without a key, so a repeated effect is visible.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createQueueTable } from '../../harness/queue-table.ts';
import { type Queue, type QueueRow, retries } from '../../server/src/kit/background/queues/queue.ts';

export const tables = `
  create table drill_effects (what text not null, step integer not null, at timestamptz not null default clock_timestamp());
  ${createQueueTable('drill_jobs', 'steps integer not null, steps_done integer not null default 0')}`;

interface DrillJob extends QueueRow {
  readonly steps: number;
  readonly steps_done: number;
}

export const jobs: Queue<DrillJob> = {
  name: 'drill_jobs',
  owner: 'owner_id',
  concurrency: 32,
  perOwner: 16,
  timeoutMs: 5_000,
  retryMs: retries(100, 1_000, 5_000),
  outcomeColumns: { steps_done: 'integer' },
  async run({ id, steps, steps_done }) {
    await sleep(5 + Math.random() * 20);
    const step = steps_done + 1;
    return {
      columns: { steps_done: step },
      record: async (db) =>
        void (await sql`insert into drill_effects (what, step) values (${id}, ${step})`.execute(db)),
      // The row waits between two steps. Its worker may no longer exist when the wait is over.
      ...(step < steps && { runAgainInMs: 50 + Math.random() * 200 }),
    };
  },
};
