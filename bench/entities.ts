// Measures record updates under rules, compared with a bare program that runs the same statements, and how the result
// changes with the number of records. With a worker, the bare program causes the same background work. A bare program
// that omits most of the background work is measured as well, but not judged.
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Bench } from '../harness/bench.ts';
import { cpuUs } from '../harness/cpu.ts';
import { benchEmail, createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { startPostgres } from '../harness/postgres.ts';
import { killProcess, type Running, startApi, startProgram } from '../harness/services.ts';
import { median, rounded } from '../harness/statistics.ts';
import { startWebhookEndpoint } from '../sandbox/src/webhook-endpoint.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type Config, readConfig } from '../server/src/config.ts';
import { eventsTopic } from '../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../server/src/kit/background/workers/wake.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { addKeys, free, grow, ruled, schemas } from './entities/seed.ts';
import { medianOf, ratioOf, runBlocks, summarizeBlocks } from './lib/blocks.ts';
import { runWrk } from './lib/load.ts';

const run = promisify(execFile);
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const bars = { bare: 0.6, fair: 0.65, ruleCost: 0.15, growth: 1.5, listMs: 25 };
/** A process's first requests are slower, because its code is still being compiled. */
const full = { seconds: 2, blocks: 9, warmUpRequests: 15_000 };
const short = { seconds: 1, blocks: 3, warmUpRequests: 3_000 };
const apps = 10;

interface Block {
  readonly requests: number;
  readonly perSecond: number;
  /** The CPU time per request, in µs. */
  readonly nodeUs: number;
  readonly postgresUs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly failed: number;
}

const allSizes = [10_000, 1_000_000, 10_000_000];

export const entities: Bench = async ({ quick, only, progress }) => {
  const sizes = quick ? [50_000] : allSizes.filter((size) => only === undefined || size === Number(only));
  if (sizes.length === 0) throw new Error(`--only is one of ${allSizes.join(', ')}`);
  const environment = await startEnvironment();
  const load = quick ? short : full;
  const figures: Record<string, Awaited<ReturnType<typeof changes>>> = {};
  try {
    let from = 0;
    for (const size of sizes) {
      progress(`growing to ${size} records in ${apps} apps`);
      await environment.growTo(from, size);
      from = size;
      figures[size] = await changes(environment, size, load, (line) => progress(`${size} records, ${line}`));
    }
    const lists = await listing(environment, from, load);
    progress(`a list of 50 under an owner rule at ${from} records: p95 ${lists} ms`);
    const all = Object.values(figures);
    const growth = rounded((figures[from]?.p50_ms ?? Number.NaN) / (figures[sizes[0] as number]?.p50_ms ?? Number.NaN));
    const failed = all.reduce((sum, each) => sum + each.failed, 0);
    const isAtMany = sizes.length > 1;
    return {
      figures: {
        at: figures,
        ...(isAtMany && { p50_growth: growth }),
        list_p95_ms: lists,
        failed,
        events_delivered: environment.delivered(),
      },
      judged: [
        ...(quick
          ? []
          : [
              {
                bar: `a PUT under rules, without a worker, >= ${bars.bare} of bare, at every size`,
                met: all.every((at) => at.ratio >= bars.bare),
              },
              {
                bar: `with a worker >= ${bars.fair} of the bare program that causes the same work, at every size`,
                met: all.every((at) => at.fair_ratio >= bars.fair),
              },
            ]),
        {
          bar: `rules cost <= ${bars.ruleCost * 100} % of the same PUT without`,
          met: all.every((at) => at.rule_cost <= bars.ruleCost),
        },
        ...(isAtMany
          ? [{ bar: `p50 at ${from} <= ${bars.growth} of that at ${sizes[0]}`, met: growth <= bars.growth }]
          : []),
        { bar: `a list of 50 under an owner rule p95 <= ${bars.listMs} ms`, met: lists <= bars.listMs },
        {
          bar: 'no failed request, and the subscribed webhook received events',
          met: failed === 0 && environment.delivered() > 0,
        },
      ],
      skipped: [
        ...(isAtMany ? [] : ['how p50 grows with the number of records']),
        ...(quick ? ['the ratios: a short run measures code that is still being compiled'] : []),
      ],
    };
  } finally {
    await environment.close();
  }
};

type Load = typeof full;

async function changes(
  environment: Environment,
  size: number,
  { seconds, blocks, warmUpRequests }: Load,
  progress: (line: string) => void,
) {
  const { bare, fair, plinth } = environment.servers;
  const measure = (server: Running, entity = ruled) => environment.measure(server, entity, size, seconds);
  const run = <Name extends string>(what: string, sides: Readonly<Record<Name, () => Promise<Block>>>) =>
    runBlocks(sides, (measureSide) => measureSide(), {
      what,
      count: blocks,
      describe: ({ perSecond }) => `${rounded(perSecond, 0)}/s`,
      progress,
    });
  for (const server of [bare, fair, plinth])
    for (let sent = 0; sent < warmUpRequests; ) sent += (await measure(server)).requests;
  const alone = await run('without a worker', { bare: () => measure(bare), ruled: () => measure(plinth) });
  await environment.startWorker();
  const beside = await run('with a worker', {
    bare: () => measure(bare),
    fair: () => measure(fair),
    ruled: () => measure(plinth),
    free: () => measure(plinth, free),
  });
  await environment.stopWorker();
  const updates = await environment.pgbench(size, seconds);
  return {
    ratio: rounded(ratioOf(alone.ruled, alone.bare, 'perSecond'), 3),
    fair_ratio: rounded(ratioOf(beside.ruled, beside.fair, 'perSecond'), 3),
    ratio_with_worker_to_bare: rounded(ratioOf(beside.ruled, beside.bare, 'perSecond'), 3),
    rule_cost: rounded(1 - ratioOf(beside.ruled, beside.free, 'perSecond'), 3),
    p50_ms: medianOf(beside.ruled, 'p50Ms'),
    without_worker: summarizeBlocks(alone, reported),
    with_worker: summarizeBlocks(beside, reported),
    pgbench_updates_per_second: updates,
    failed: [...Object.values(alone), ...Object.values(beside)].flat().reduce((sum, block) => sum + block.failed, 0),
  };
}

const reported = {
  per_second: ['perSecond', 0],
  node_us: ['nodeUs', 0],
  postgres_us: ['postgresUs', 0],
} as const;

async function listing(environment: Environment, size: number, { seconds, blocks }: Load): Promise<number> {
  const { plinth } = environment.servers;
  await environment.measure(plinth, ruled, size, seconds, 'list');
  const waits: number[] = [];
  for (let block = 0; block < blocks; block += 1)
    waits.push((await environment.measure(plinth, ruled, size, seconds, 'list')).p95Ms);
  return rounded(median(waits));
}

interface Environment {
  readonly servers: { readonly bare: Running; readonly fair: Running; readonly plinth: Running };
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  growTo(from: number, to: number): Promise<void>;
  measure(server: Running, entity: string, size: number, seconds: number, kind?: 'list'): Promise<Block>;
  pgbench(size: number, seconds: number): Promise<number>;
  delivered(): number;
  close(): Promise<void>;
}

async function startEnvironment(): Promise<Environment> {
  const postgres = await startPostgres();
  await migrateAll(postgres.url);
  const receiver = await startWebhookEndpoint({ address: '127.0.0.1', onRequest: () => (delivered += 1) });
  let delivered = 0;
  const environment = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `bench:${process.pid}:`,
    OUTBOUND_ALLOW: `http://127.0.0.1:${receiver.port}`,
    LOG_LEVEL: 'error',
  };
  const config = readConfig(environment);
  const { token, appIds, workspaceId, credentialId, userId } = await makeApps(config);
  const env = { PATH: process.env.PATH ?? '', ...environment, BENCH_WORKSPACE: workspaceId };
  const author = { BENCH_CREDENTIAL: credentialId, BENCH_USER: userId, BENCH_EMAIL: benchEmail };
  const servers = {
    bare: await startProgram(file('entities/bare.ts'), env),
    fair: await startProgram(file('entities/bare.ts'), { ...env, ...author, REDIS_URL: config.REDIS_URL }),
    plinth: await startApi(env),
  };
  const { plinth } = servers;
  let worker: ChildProcess | undefined;
  const call = caller(plinth.port, token);
  for (const id of appIds) await call('PUT', `/api/apps/${id}/entity-schemas`, { schemas });
  const hook = { target_url: `http://127.0.0.1:${receiver.port}/`, events: ['entity.updated'] };
  await call('POST', `/api/apps/${appIds[0]}/webhooks`, hook);
  const wake = openWakeUps(config.REDIS_URL, config.REDIS_PREFIX);
  const client = new pg.Client(postgres.url);
  await client.connect();
  const hasWorker = () => worker !== undefined;
  return {
    servers,
    async startWorker() {
      await client.query('truncate events'); // removes events from the blocks without a worker
      const { rows } = await client.query('select coalesce(sum(epoch), 0) as epochs from worker_slots');
      worker = fork(file('../server/src/main.ts'), ['worker'], { env });
      await waitUntilEmpty(client, `select 1 from worker_slots having coalesce(sum(epoch), 0) <= ${rows[0].epochs}`);
    },
    async stopWorker() {
      if (worker !== undefined) await killProcess(worker);
      worker = undefined;
    },
    async growTo(from, to) {
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
    },
    // With a worker, a block ends when its events have been dispatched. Otherwise the faster side would leave that work
    // to the next block. A wake-up is sent here because a bare program may not send one, and waiting for the next poll
    // is not part of its work. The next block starts when everything has been delivered.
    measure: async (server, entity, size, seconds, kind) => {
      const startedAt = performance.now();
      const backends = postgres.pids();
      const before = { node: cpuUs([server.pid]), postgres: cpuUs(backends) };
      const load = await measured(server.port, token, appIds, entity, size, seconds, kind);
      const block = {
        ...load,
        nodeUs: (cpuUs([server.pid]) - before.node) / load.requests,
        postgresUs: (cpuUs(backends) - before.postgres) / load.requests,
      };
      if (!hasWorker()) return block;
      wake.notify(eventsTopic);
      await waitUntilEmpty(client, 'select 1 from events where dispatched_at is null limit 1');
      const elapsed = (performance.now() - startedAt) / 1000;
      await waitUntilEmpty(client, "select 1 from webhook_deliveries where status = 'pending' limit 1");
      return { ...block, perSecond: (block.perSecond * seconds) / elapsed };
    },
    pgbench: (size, seconds) => pgbench(postgres.url, appIds, size, seconds),
    delivered: () => delivered,
    async close() {
      wake.close();
      await client.end();
      if (worker !== undefined) await killProcess(worker);
      for (const server of Object.values(servers)) await server.stop();
      await receiver.close();
      postgres.stop();
    },
  };
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
    script: file('entities/requests.lua'),
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
