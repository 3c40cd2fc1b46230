// The measurement's installation: a PostgreSQL of its own, the servers, and a worker. Another checkout has two copies of
// the database, each with a server and a worker.
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { cpuUs } from '../../harness/cpu.ts';
import { benchEmail, createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { startPostgres } from '../../harness/postgres.ts';
import { createDatabase, killProcess, type Running, startApi, startProgram } from '../../harness/services.ts';
import { rounded } from '../../harness/statistics.ts';
import { startWebhookEndpoint } from '../../sandbox/src/webhook-endpoint.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { type Config, readConfig } from '../../server/src/config.ts';
import { eventsTopic } from '../../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';
import { startRivals } from '../lib/against.ts';
import { runWrk } from '../lib/load.ts';
import { addKeys, grow, ruled, schemas } from './seed.ts';

const run = promisify(execFile);
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export const apps = 10;

export interface Block {
  readonly requests: number;
  readonly perSecond: number;
  /** The CPU time per request, in µs. */
  readonly nodeUs: number;
  readonly postgresUs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly failed: number;
}

export type Server = Running & { readonly site: Site };

/** A database, and the worker that does its background work. */
interface Site {
  readonly client: pg.Client;
  wakeWorker(): void;
  hasWorker(): boolean;
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  close(): Promise<void>;
}

export interface Environment {
  readonly servers: Readonly<Record<'bare' | 'fair' | 'plinth', Server>> &
    Readonly<Partial<Record<'before' | 'before_again', Server>>>;
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  growTo(from: number, to: number): Promise<void>;
  measure(server: Server, entity: string, size: number, seconds: number, kind?: 'list'): Promise<Block>;
  pgbench(size: number, seconds: number): Promise<number>;
  delivered(): number;
  close(): Promise<void>;
}

export async function startEnvironment(against: string | undefined): Promise<Environment> {
  const postgres = await startPostgres();
  const database = await createDatabase('entities', postgres.url);
  const receiver = await startWebhookEndpoint({ address: '127.0.0.1', onRequest: () => (delivered += 1) });
  let delivered = 0;
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `bench:${process.pid}:`,
    OUTBOUND_ALLOW: `http://127.0.0.1:${receiver.port}`,
    LOG_LEVEL: 'error',
  };
  const config = readConfig(environment);
  const { token, appIds, workspaceId, credentialId, userId } = await makeApps(config);
  const env = { PATH: process.env.PATH ?? '', ...environment, BENCH_WORKSPACE: workspaceId };
  const author = { BENCH_CREDENTIAL: credentialId, BENCH_USER: userId, BENCH_EMAIL: benchEmail };
  await addSchemas(env, token, appIds, `http://127.0.0.1:${receiver.port}/`);
  const rivals = await startRivals(against, database, env);
  const site = await openSite(env);
  const servers: Environment['servers'] = {
    bare: { ...(await startProgram(file('bare.ts'), env)), site },
    fair: { ...(await startProgram(file('bare.ts'), { ...env, ...author, REDIS_URL: config.REDIS_URL })), site },
    plinth: { ...(await startApi(env)), site },
    ...(rivals && {
      before: { ...rivals.before, site: await openSite(rivals.before.environment, against) },
      before_again: { ...rivals.before_again, site: await openSite(rivals.before_again.environment, against) },
    }),
  };
  const sites = new Set(Object.values(servers).map((server) => server.site));
  return {
    servers,
    async startWorker() {
      for (const each of sites) await each.startWorker();
    },
    async stopWorker() {
      for (const each of sites) await each.stopWorker();
    },
    async growTo(from, to) {
      for (const { client } of sites) await growSite(client, appIds, from, to);
    },
    // With a worker, a block ends when its events have been dispatched. Otherwise the faster side would leave that work
    // to the next block. A wake-up is sent here because a bare program may not send one, and waiting for the next poll
    // is not part of its work. The next block starts when everything has been delivered.
    measure: async ({ port, pid, site: { client, hasWorker, wakeWorker } }, entity, size, seconds, kind) => {
      const startedAt = performance.now();
      const backends = postgres.pids();
      const before = { node: cpuUs([pid]), postgres: cpuUs(backends) };
      const load = await measured(port, token, appIds, entity, size, seconds, kind);
      const block = {
        ...load,
        nodeUs: (cpuUs([pid]) - before.node) / load.requests,
        postgresUs: (cpuUs(backends) - before.postgres) / load.requests,
      };
      if (!hasWorker()) return block;
      wakeWorker();
      await waitUntilEmpty(client, 'select 1 from events where dispatched_at is null limit 1');
      const elapsed = (performance.now() - startedAt) / 1000;
      await waitUntilEmpty(client, "select 1 from webhook_deliveries where status = 'pending' limit 1");
      return { ...block, perSecond: (block.perSecond * seconds) / elapsed };
    },
    pgbench: (size, seconds) => pgbench(database.url, appIds, size, seconds),
    delivered: () => delivered,
    async close() {
      for (const each of sites) await each.close();
      for (const server of Object.values(servers)) await server.stop();
      await receiver.close();
      postgres.stop();
    },
  };
}

/** Saves the apps' schemas, and subscribes a webhook to the first app's events. */
async function addSchemas(env: Record<string, string>, token: string, appIds: readonly string[], target_url: string) {
  const { port, stop } = await startApi(env);
  const call = caller(port, token);
  for (const id of appIds) await call('PUT', `/api/apps/${id}/entity-schemas`, { schemas });
  await call('POST', `/api/apps/${appIds[0]}/webhooks`, { target_url, events: ['entity.updated'] });
  await stop();
}

/** The worker is that of `checkout`, or of this checkout. */
async function openSite(env: Readonly<Record<string, string>>, checkout?: string): Promise<Site> {
  const { REDIS_URL, REDIS_PREFIX, DATABASE_URL } = readConfig(env);
  const program = join(checkout ?? file('../..'), 'server/src/main.ts');
  const wake = openWakeUps(REDIS_URL, REDIS_PREFIX);
  const client = new pg.Client(DATABASE_URL);
  await client.connect();
  let worker: ChildProcess | undefined;
  const stopWorker = async () => {
    if (worker !== undefined) await killProcess(worker);
    worker = undefined;
  };
  return {
    client,
    wakeWorker: () => wake.notify(eventsTopic),
    hasWorker: () => worker !== undefined,
    async startWorker() {
      await client.query('truncate events'); // removes events from the blocks without a worker
      const { rows } = await client.query('select coalesce(sum(epoch), 0) as epochs from worker_slots');
      worker = fork(program, ['worker'], { env });
      await waitUntilEmpty(client, `select 1 from worker_slots having coalesce(sum(epoch), 0) <= ${rows[0].epochs}`);
    },
    stopWorker,
    async close() {
      wake.close();
      await client.end();
      await stopWorker();
    },
  };
}

async function growSite(client: pg.Client, appIds: readonly string[], from: number, to: number): Promise<void> {
  await grow(client, appIds, benchEmail, from, to);
  const { rows } = await client.query<{ key: string }>(
    `select unnest(keys) as key from entity_schemas where name = $1 limit 1`,
    [ruled],
  );
  await addKeys(client, rows[0]?.key as string, benchEmail, from, to);
  // Completes the key-building job, because all records now have their keys.
  await client.query(
    'update entity_key_states k set ready = s.keys, building_since = null from entity_schemas s where s.app_id = k.app_id and s.name = k.entity_name',
  );
  await client.query('truncate events');
  for (const table of ['entity_records', 'entity_keys', 'events']) await client.query(`vacuum analyze ${table}`);
  await client.query('checkpoint');
}

async function waitUntilEmpty(client: pg.Client, waiting: string): Promise<void> {
  while ((await client.query(waiting)).rows.length > 0) await sleep(10);
}

async function makeApps(config: Config) {
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const workspace = await createBenchWorkspace(db, config, await createBenchUser(db));
  const appIds: string[] = [];
  for (let n = 1; n <= apps; n += 1) appIds.push((await createBenchApp(db, workspace, 'user_app', `App ${n}`)).id);
  await close();
  return {
    token: workspace.token,
    appIds,
    workspaceId: workspace.workspace_id,
    credentialId: workspace.access.caller.credential_id,
    userId: workspace.user_id,
  };
}

const caller = (port: number, token: string) => async (method: string, path: string, body: object) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
};

async function measured(
  port: number,
  token: string,
  appIds: readonly string[],
  entity: string,
  size: number,
  seconds: number,
  kind: 'list' | 'change' = 'change',
): Promise<Omit<Block, 'nodeUs' | 'postgresUs'>> {
  const { requests, perSecond, failed, printed } = await runWrk(`http://127.0.0.1:${port}`, {
    seconds,
    connections: kind === 'list' ? 4 : 32,
    script: file('requests.lua'),
    environment: {
      BENCH_APPS: appIds.join(' '),
      BENCH_KIND: kind,
      BENCH_ENTITY: entity,
      BENCH_ID_DIGIT: entity === ruled ? '8' : '9',
      BENCH_RECORDS: String(size),
      BENCH_TOKEN: token,
    },
  });
  const readMs = (pattern: RegExp) => Number(pattern.exec(printed)?.[1] ?? 0) / 1000;
  return { requests, perSecond, p50Ms: readMs(/p50 (\d+) us/), p95Ms: readMs(/p95 (\d+) us/), failed };
}

/** Updates a record's data without the product, as fast as PostgreSQL's own client can send the statement. */
async function pgbench(url: string, appIds: readonly string[], size: number, seconds: number): Promise<number> {
  const script = join(tmpdir(), `plinth-bench-${process.pid}.sql`);
  writeFileSync(
    script,
    `\\set n random(0, ${size - 1})
update entity_records set data = data || '{"title":"changed","cost":5}', version = version + 1
where app_id = ('{${appIds.join()}}'::uuid[])[:n::int % ${appIds.length} + 1]
  and id = ('00000000-0000-7000-8000-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid returning data;\n`,
  );
  const { stdout } = await run('pgbench', [
    '-n',
    '-M',
    'prepared',
    '-c',
    '16',
    '-j',
    '2',
    '-T',
    String(Math.max(2, seconds)),
    '-f',
    script,
    url,
  ]);
  return rounded(Number(/tps = ([\d.]+)/.exec(stdout)?.[1]), 0);
}
