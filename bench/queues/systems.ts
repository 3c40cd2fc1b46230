// The compared systems as seen from outside: how a job is enqueued in a transaction, whether all jobs are
// completed, and the worker's program. Each system has its own database on the same server.
import { fileURLToPath } from 'node:url';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { createQueueTable } from '../../harness/queue-table.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { dbosVersion, jobName } from './settings.ts';

export const systemNames = ['plinth', 'plinth_with_limits', 'pg_boss', 'graphile_worker', 'dbos'] as const;
export type SystemName = (typeof systemNames)[number];

export interface System {
  readonly name: SystemName;
  readonly pool: pg.Pool;
  /** The worker's program and its environment. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The fraction of the backlog that the system gets. */
  readonly share: number;
  /** The table that holds the jobs. */
  readonly table: string;
  /** A boolean SQL expression that is true if a job is queued or running. */
  readonly hasOpenJobs: string;
  /** Enqueues a job in this connection's transaction. */
  enqueue(client: pg.ClientBase, number: number): Promise<unknown>;
  /** Enqueues many jobs in the fastest way the system offers. */
  enqueueMany(client: pg.ClientBase, numbers: readonly number[]): Promise<unknown>;
  /** Called after a transaction that enqueued jobs has been committed. */
  wake?(): void;
  close(): Promise<void>;
}

const redisUrl = 'redis://127.0.0.1:6379';
const chunkSize = 1_000;
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const openers = {
  plinth: (url, pool) => openPlinth(url, pool, {}),
  plinth_with_limits: (url, pool) => openPlinth(url, pool, { BENCH_LIMITS: 'true' }),
  pg_boss: openPgBoss,
  graphile_worker: openGraphileWorker,
  dbos: openDbos,
} satisfies Record<SystemName, (url: string, pool: pg.Pool) => Promise<Omit<System, 'name' | 'pool'>>>;

/** Creates a system's database and tables, and the table that the caller's transaction writes to. */
export async function openSystem(name: SystemName, serverUrl: string, poolSize: number): Promise<System> {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database bench_${name}`);
  await admin.end();
  const url = serverUrl.replace(/\/[^/]*$/, `/bench_${name}`);
  const pool = new pg.Pool({ connectionString: url, max: poolSize });
  pool.on('error', () => {}); // expected, because the server is stopped at the end
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

/** The rows belong to 50 owners. */
async function openPlinth(
  url: string,
  pool: pg.Pool,
  settings: Readonly<Record<string, string>>,
): Promise<Omit<System, 'name' | 'pool'>> {
  await migrateAll(url);
  await pool.query(createQueueTable(jobName, 'number integer not null, concurrency_key text not null'));
  const owners = Array.from({ length: 50 }, newId);
  const ownerOf = (number: number) => owners[number % owners.length];
  const prefix = `bench:${process.pid}:${newId()}:`;
  const wakeUps = openWakeUps(redisUrl, prefix);
  return {
    program: file('plinth-worker.ts'),
    environment: { BENCH_REDIS_URL: redisUrl, BENCH_PREFIX: prefix, ...settings },
    share: 1,
    table: jobName,
    hasOpenJobs: `exists (select 1 from ${jobName} where claimed_slot is not null)
      or exists (select 1 from ${jobName} where claimed_slot is null and due_at is not null)`,
    enqueue: (client, number) =>
      client.query({
        name: 'enqueue',
        text: `insert into ${jobName} (id, owner_id, concurrency_key, number, due_at)
          values ($1, $2, $2::uuid::text, $3, statement_timestamp())`,
        values: [newId(), ownerOf(number), number],
      }),
    enqueueMany: (client, numbers) =>
      client.query({
        name: 'enqueue many',
        text: `insert into ${jobName} (id, owner_id, concurrency_key, number, due_at)
          select id, owner, owner::text, number, statement_timestamp()
          from unnest($1::uuid[], $2::uuid[], $3::int[]) jobs(id, owner, number)`,
        values: [numbers.map(newId), numbers.map(ownerOf), numbers],
      }),
    wake: () => wakeUps.notify(jobName),
    close: async () => wakeUps.close(),
  };
}

/** The queue has its own table, as the documentation recommends for large queues. */
async function openPgBoss(url: string): Promise<Omit<System, 'name' | 'pool'>> {
  const boss = new PgBoss({ connectionString: url, max: 2, supervise: false, schedule: false });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(jobName, { notify: true, partition: true });
  // Wraps the caller's connection in an adapter, so the job is part of the caller's transaction.
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

/** Jobs are added with SQL functions, which are part of graphile-worker's public interface. */
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
        await client.query({
          name: 'enqueue many',
          text: `select count(*) from graphile_worker.add_jobs(array(
             select json_populate_record(null::graphile_worker.job_spec,
               json_build_object('identifier', '${jobName}', 'payload', json_build_object('number', number)))
             from unnest($1::int[]) number))`,
          values: [chunk],
        });
    },
    close: async () => {},
  };
}

/** Gets a smaller backlog, because it is slower and can enqueue only one workflow at a time in a transaction. */
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
