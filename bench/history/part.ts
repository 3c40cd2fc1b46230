// What the parts of the measurement share: tables of notes, with and without partitions, and a writer beside the
// measured statements.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import type { Judged } from '../../harness/bench.ts';
import { preciseCpuMs } from '../../harness/cpu.ts';
import { quantile, rounded } from '../../harness/statistics.ts';
import type { AnyDb } from '../../server/src/kit/db/database.ts';

export interface Services {
  readonly url: string;
  /** One connection, whose backend's CPU time is that of the measured statements. */
  readonly db: AnyDb;
  /** Used by everything else. */
  readonly pool: pg.Pool;
  readonly quick: boolean;
  progress(line: string): void;
}

export interface Measured {
  readonly figures: Readonly<Record<string, unknown>>;
  readonly judged: readonly Judged[];
}

/** As large as the bodies of webhook events, with the same indexes. */
export const createNotes = (name: string, partitioned: boolean): string => `
  create table ${name} (id uuid primary key, workspace_id uuid not null, body text not null)
    ${partitioned ? 'partition by range (id)' : ''};
  create index on ${name} (workspace_id, id);`;

/** SQL that adds notes, evenly over the days from `firstAge` to `lastAge` days ago. */
export const insertNotes = (name: string, count: number, firstAge: number, lastAge: number): string => `
  insert into ${name} select overlay(first_id_at(now() - ${lastAge} * interval '1 day'
      - n * interval '1 day' * ${firstAge - lastAge} / ${count})::text placing right(md5(n::text), 12) from 25)::uuid,
    ('00000000-0000-7000-8000-' || lpad((n % 1000)::text, 12, '0'))::uuid, repeat(md5(n::text), 10)
  from generate_series(1, ${count}) n`;

/** Creates the partitions from `days` ago to three days ahead. */
export async function createDays(pool: pg.Pool, name: string, days: number, keptDays: number): Promise<void> {
  await pool.query('insert into partitioned_tables (name, key_column, days, kept_days) values ($1, $2, 1, $3)', [
    name,
    'id',
    keptDays,
  ]);
  await pool.query(`create table partitions.${name}_until_20000101 (like ${name} including indexes)`);
  const { rows } = await pool.query("select first_id_at(partition_start(now() - $1 * interval '1 day', 1)) as id", [
    days,
  ]);
  await pool.query(`alter table ${name} attach partition partitions.${name}_until_20000101
    for values from (minvalue) to ('${rows[0].id}')`);
  for (let created = 1; created > 0; )
    created = (await pool.query('select create_partitions($1) as created', [name])).rows[0].created;
}

/** Measures a call: its time, and the CPU time of the backend that does its statements. */
export async function measure<Result>({ db }: Services, call: () => Promise<Result>) {
  const pid = await readBackend(db);
  const before = { at: performance.now(), cpu: preciseCpuMs(pid) };
  const result = await call();
  const ms = rounded(performance.now() - before.at);
  const cpu_ms = rounded(preciseCpuMs(pid) - before.cpu);
  if ((await readBackend(db)) !== pid) throw new Error('the connection was replaced during a measurement');
  return { result, ms, cpu_ms };
}

export async function readBackend(db: AnyDb): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  return rows[0]?.pid ?? 0;
}

/** Adds a note every few milliseconds, each in a transaction of its own, while `call` runs. */
export async function besideWrites<Result>({ url }: Services, name: string, call: () => Promise<Result>) {
  const client = new pg.Client(url);
  await client.connect();
  const took: number[] = [];
  let isStopped = false;
  const write = async () => {
    const startedAt = performance.now();
    await client.query(`insert into ${name} select overlay(first_id_at(now())::text
      placing right(md5(random()::text), 12) from 25)::uuid, gen_random_uuid(), 'a note'`);
    took.push(performance.now() - startedAt);
    await sleep(2);
  };
  await write();
  const writing = (async () => {
    while (!isStopped) await write();
  })();
  try {
    const result = await call();
    await sleep(20); // for writes that are still waiting
    return { result, writes: { p50_ms: rounded(quantile(took, 0.5)), longest_ms: rounded(Math.max(...took)) } };
  } finally {
    isStopped = true;
    await writing;
    await client.end();
  }
}
