// A queue table for tests. Its rows have an owner and a concurrency key, and their runs insert into the table
// `effects`.
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type Queue, type QueueRow, retries } from '../../src/kit/background/queues/queue.ts';
import { type RunningQueue, runQueue } from '../../src/kit/background/queues/run.ts';
import { openWakeUps } from '../../src/kit/background/workers/wake.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openDatabase } from '../../src/kit/db/database.ts';
import { newId } from '../../src/kit/ids.ts';
import { cloneTemplate } from './template.ts';

export interface TestJob extends QueueRow {
  readonly what: string;
  readonly owner_id: string;
  readonly concurrency_key: string;
  readonly note: string | null;
  readonly tries: number;
}

export async function createTestQueue() {
  const cloned = await cloneTemplate();
  const { db, close } = openDatabase<never>({ url: cloned.url, poolSize: 12 });
  const wake = openWakeUps('redis://127.0.0.1:6379', `test:${process.pid}:`);
  await cloned.runAsOwner(`
    create table jobs (id uuid primary key, owner_id uuid not null, what text not null,
    concurrency_key text not null default '', note text, tries integer not null default 0, due_at timestamptz,
    claims integer not null default 0, failures integer not null default 0, crash_count integer not null default 0,
    claimed_slot integer, claimed_epoch bigint, last_error text, failed_at timestamptz, changed_in xid8);
    create index jobs_due on jobs (due_at) where claimed_slot is null and due_at is not null;
    create index jobs_of_owner on jobs (owner_id, due_at) where claimed_slot is null and due_at is not null;
    create index jobs_claimed on jobs (claimed_slot) where claimed_slot is not null;
    create index jobs_changed on jobs (changed_in) where changed_in is not null;
    create trigger queue_row_added before insert on jobs for each row execute function note_queue_change();
    create trigger queue_row_changed before update of due_at, claimed_slot, owner_id on jobs for each row
      when ((old.due_at, old.claimed_slot, old.owner_id) is distinct from (new.due_at, new.claimed_slot, new.owner_id))
      execute function note_queue_change();
    create table effects (what text not null, at timestamptz not null default clock_timestamp())`);
  await sql`insert into worker_slots (slot, epoch) values (0, 1), (1, 1)`.execute(db);

  let runs: RunningQueue[] = [];
  const errors: unknown[] = [];
  const stopAll = (timeoutMs: number) => Promise.all(runs.map((run) => run.stop(timeoutMs)));
  beforeEach(async () => {
    await cloned.runAsOwner('truncate jobs, effects');
  });
  afterEach(async () => {
    await stopAll(5_000);
    runs = [];
  });
  afterAll(async () => {
    wake.close();
    await close();
    await cloned.drop();
  });
  const owners = [newId(), newId(), newId()] as const;

  return {
    db,
    url: cloned.url,
    runAsOwner: cloned.runAsOwner,
    wake,
    owners,
    errors,
    stopAll,
    buildQueue: (options: Partial<Queue<TestJob>> = {}): Queue<TestJob> => ({
      name: 'jobs',
      owner: 'owner_id',
      concurrency: 10,
      perOwner: 5,
      timeoutMs: 1_000,
      retryMs: retries(10, 20),
      run: async ({ what }) => ({
        record: async (db) => void (await sql`insert into effects (what) values (${what})`.execute(db)),
      }),
      ...options,
    }),
    start(queue: Queue<TestJob>, slot = 0): RunningQueue {
      const onError = (_queue: string, error: unknown) => errors.push(error);
      const run = runQueue(queue, { db, clock: systemClock, slot: { slot, epoch: 1 }, wake, onError });
      runs.push(run);
      return run;
    },
    async enqueue(what: string, options: { owner?: string; inMs?: number; concurrency_key?: string } = {}) {
      const { owner = owners[0], inMs = 0, concurrency_key = '' } = options;
      const due = new Date(Date.now() + inMs);
      await sql`insert into jobs (id, owner_id, what, concurrency_key, due_at)
        values (${newId()}, ${owner}, ${what}, ${concurrency_key}, ${due})`.execute(db);
      wake.notify('jobs');
    },
    effects: async () =>
      (await sql<{ what: string }>`select what from effects order by at`.execute(db)).rows.map((row) => row.what),
    findRow: async (what: string) =>
      (await sql<TestJob>`select * from jobs where what = ${what}`.execute(db)).rows[0] as TestJob,
  };
}
