// What the drill's workers do: a queue job with one effect, and a workflow of two steps with one effect each. Effects are
// plain inserts without a key, so that nothing hides a repeat.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Queue, retries } from '../../server/src/kit/background/queues/queue.ts';
import type { Workflow } from '../../server/src/kit/background/workflows/workflows.ts';
import type { AnyDb } from '../../server/src/kit/db/database.ts';

export const tables = `
  create table drill_effects (what text not null, step integer not null, at timestamptz not null default clock_timestamp());
  create table drill_jobs (
    id uuid primary key, owner_id uuid not null, due_at timestamptz, claims integer not null default 0,
    failures integer not null default 0, crash_count integer not null default 0, claimed_slot integer,
    claimed_epoch bigint, last_error text, failed_at timestamptz, kind text not null default 'good'
  );
  create index on drill_jobs (due_at) where claimed_slot is null and due_at is not null;
  create index on drill_jobs (owner_id, due_at) where claimed_slot is null and due_at is not null;
  create index on drill_jobs (claimed_slot) where claimed_slot is not null;`;

const effect = (db: AnyDb, what: string, step: number) =>
  sql`insert into drill_effects (what, step) values (${what}, ${step})`.execute(db);

export const jobs: Queue = {
  name: 'drill_jobs',
  owner: 'owner_id',
  concurrency: 32,
  perOwner: 16,
  timeoutMs: 5_000,
  retryMs: retries(100, 1_000, 5_000),
  async run(row) {
    await sleep(5 + Math.random() * 20);
    return { record: async (db) => void (await effect(db, row.id, 1)) };
  },
};

export const twoSteps: Workflow<{ name: string }> = {
  name: 'two steps',
  perProcess: 40,
  pollMs: 100,
  timeoutMs: 300_000,
  async run(flow, { name }) {
    await flow.transaction('first', async (db) => void (await effect(db, name, 1)));
    await flow.sleep(50 + Math.random() * 200);
    await flow.transaction('second', async (db) => void (await effect(db, name, 2)));
  },
};
