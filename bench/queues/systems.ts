// Owns the systems that are compared, as the measurement sees them from outside: how a job is enqueued in a transaction, whether
// all jobs are completed, and the program of the worker. Each has its own database on the same server.
import { fileURLToPath } from 'node:url';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { dbosVersion, jobName } from './settings.ts';

export const systemNames = ['plinth', 'pg_boss', 'graphile_worker', 'dbos'] as const;
export type SystemName = (typeof systemNames)[number];

export interface System {
  readonly name: SystemName;
  readonly pool: pg.Pool;
  /** The program of the worker, and its environment. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The part of a backlog that it gets. */
  readonly share: number;
  /** The table that jobs are in. */
  readonly table: string;
  /** SQL, a boolean: whether a job is queued or running. */
  readonly hasOpenJobs: string;
  /** Enqueues a job in the transaction of this connection. */
  enqueue(client: pg.ClientBase, number: number): Promise<unknown>;
  /** The same for many jobs, by the fastest way it offers. */
  enqueueMany(client: pg.ClientBase, numbers: readonly number[]): Promise<unknown>;
  /** Called after the commit of a transaction that enqueued. */
  wake?(): void;
  close(): Promise<void>;
}

const redisUrl = 'redis://127.0.0.1:6379';
const chunkSize = 1_000;
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const openers = {
  plinth: openPlinth,
  pg_boss: openPgBoss,
  graphile_worker: openGraphileWorker,
  dbos: openDbos,
} satisfies Record<SystemName, (url: string, pool: pg.Pool) => Promise<Omit<System, 'name' | 'pool'>>>;

/** Creates the database of a system and its tables, and a table for the row that the caller's transaction writes. */
export async function openSystem(name: SystemName, serverUrl: string, poolSize: number): Promise<System> {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database bench_${name}`);
  await admin.end();
  const url = serverUrl.replace(/\/[^/]*$/, `/bench_${name}`);
  const pool = new pg.Pool({ connectionString: url, max: poolSize });
  pool.on('error', () => {}); // the server is stopped at the end
  await pool.query('create table bench_rows (id uuid primary key, note text not null)');
  const system = await openers[name](url, pool);
  return {
    ...system,
    name,
    pool,
    environment: { BENCH_URL: url, ...system.environment },
    async close() {
      await system.close();
      await pool.end();
    },
  };
}

/** Rows of 50 owners. The table has the columns and indexes of docs/internals/background-work.md#queue-tables. */
async function openPlinth(url: string, pool: pg.Pool): Promise<Omit<System, 'name' | 'pool'>> {
  await migrateAll(url);
  await pool.query(`create table ${jobName} (
      id uuid primary key, owner_id uuid not null, number integer not null, due_at timestamptz,
      claims integer not null default 0, failures integer not null default 0, crash_count integer not null default 0,
      claimed_slot integer, claimed_epoch bigint, last_error text, failed_at timestamptz
    ) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
    create index on ${jobName} (due_at) where claimed_slot is null and due_at is not null;
    create index on ${jobName} (owner_id, due_at) where claimed_slot is null and due_at is not null;
    create index on ${jobName} (claimed_slot) where claimed_slot is not null;
    create index on ${jobName} (failed_at) where failed_at is not null`);
  const owners = Array.from({ length: 50 }, newId);
  const ownerOf = (number: number) => owners[number % owners.length];
  const prefix = `bench:${process.pid}:`;
  const wakeUps = openWakeUps(redisUrl, prefix);
  return {
    program: file('plinth-worker.ts'),
    environment: { BENCH_REDIS_URL: redisUrl, BENCH_PREFIX: prefix },
    share: 1,
    table: jobName,
    hasOpenJobs: `exists (select 1 from ${jobName} where claimed_slot is not null)
      or exists (select 1 from ${jobName} where claimed_slot is null and due_at is not null)`,
    enqueue: (client, number) =>
      client.query({
        name: 'enqueue',
        text: `insert into ${jobName} (id, owner_id, number, due_at) values ($1, $2, $3, statement_timestamp())`,
        values: [newId(), ownerOf(number), number],
      }),
    enqueueMany: (client, numbers) =>
      client.query(
        `insert into ${jobName} (id, owner_id, number, due_at)
         select *, statement_timestamp() from unnest($1::uuid[], $2::uuid[], $3::int[])`,
        [numbers.map(newId), numbers.map(ownerOf), numbers],
      ),
    wake: () => wakeUps.notify(jobName),
    close: async () => wakeUps.close(),
  };
}

/** The queue has a table of its own, which its documentation recommends for a large one. */
async function openPgBoss(url: string): Promise<Omit<System, 'name' | 'pool'>> {
  const boss = new PgBoss({ connectionString: url, max: 2, supervise: false, schedule: false });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(jobName, { notify: true, partition: true });
  // How a job is added to a transaction of the caller: the connection is passed as an adapter.
  const within = (client: pg.ClientBase) => ({
    db: { executeSql: (text: string, values: unknown[] = []) => client.query(text, values) },
  });
  return {
    program: file('pg-boss-worker.ts'),
    environment: {},
    share: 1,
    table: 'pgboss.job',
    hasOpenJobs: `exists (select 1 from pgboss.job where name = '${jobName}' and state < 'completed')`,
    enqueue: (client, number) => boss.send(jobName, { number }, within(client)),
    async enqueueMany(client, numbers) {
      for (const chunk of chunksOf(numbers)) {
        const jobs = chunk.map((number) => ({ data: { number } }));
        await boss.insert(jobName, jobs, within(client));
      }
    },
    close: () => boss.stop({ graceful: false }),
  };
}

/** Jobs are added by its SQL functions, which are part of its interface. */
async function openGraphileWorker(url: string): Promise<Omit<System, 'name' | 'pool'>> {
  await runMigrations({ connectionString: url });
  return {
    program: file('graphile-worker.ts'),
    environment: {},
    share: 1,
    table: 'graphile_worker._private_jobs',
    hasOpenJobs: 'exists (select 1 from graphile_worker._private_jobs)',
    enqueue: (client, number) =>
      client.query({
        name: 'enqueue',
        text: `select id from graphile_worker.add_job('${jobName}', json_build_object('number', $1::int))`,
        values: [number],
      }),
    async enqueueMany(client, numbers) {
      for (const chunk of chunksOf(numbers))
        await client.query(
          `select count(*) from graphile_worker.add_jobs(array(
             select json_populate_record(null::graphile_worker.job_spec,
               json_build_object('identifier', '${jobName}', 'payload', json_build_object('number', number)))
             from unnest($1::int[]) number))`,
          [chunk],
        );
    },
    close: async () => {},
  };
}

/** Takes a smaller backlog: it can enqueue only one workflow at a time in a transaction, and is slower. */
async function openDbos(url: string): Promise<Omit<System, 'name' | 'pool'>> {
  await DBOS.migrate(url);
  const ignore = () => {};
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 2,
    applicationName: jobName,
    logger: { info: ignore, debug: ignore, warn: ignore, error: ignore },
  });
  const options = { queueName: jobName, workflowName: jobName, appVersion: dbosVersion };
  const enqueue: System['enqueue'] = (connection, number) => client.enqueueInTransaction(connection, options, number);
  return {
    program: file('dbos-worker.ts'),
    environment: {},
    share: 0.1,
    table: 'dbos.workflow_status',
    hasOpenJobs: `exists (select 1 from dbos.workflow_status where queue_name = '${jobName}' and status in ('ENQUEUED', 'PENDING'))`,
    enqueue,
    async enqueueMany(connection, numbers) {
      for (const number of numbers) await enqueue(connection, number);
    },
    close: () => client.destroy(),
  };
}

const chunksOf = (numbers: readonly number[]): (readonly number[])[] =>
  Array.from({ length: Math.ceil(numbers.length / chunkSize) }, (_, n) =>
    numbers.slice(n * chunkSize, (n + 1) * chunkSize),
  );
