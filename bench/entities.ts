// Measures updating a record under rules against the same statements in a bare program, and how that changes with the
// number of records.
import { execFile, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { startWebhookEndpoint } from '../sandbox/src/webhook-endpoint.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type Config, readConfig } from '../server/src/config.ts';
import { eventsTopic } from '../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../server/src/kit/background/workers/wake.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { addKeys, free, grow, ruled, schemas } from './entities/seed.ts';
import type { Bench } from './lib/bench.ts';
import { benchEmail, createBenchApp, createBenchUser, createBenchWorkspace } from './lib/fixtures.ts';
import { startPostgres } from './lib/postgres.ts';
import { killProcess, startProgram } from './lib/services.ts';
import { median, rounded } from './lib/statistics.ts';

const run = promisify(execFile);
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const bars = { bare: 0.6, ruleCost: 0.15, growth: 1.5, listMs: 25 };
const blocks = 9;
const apps = 10;

interface Block {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly failed: number;
}

type Measure = (port: number, entity: string, kind?: 'list') => Promise<Block>;

export const entities: Bench = async ({ quick, progress }) => {
  const environment = await startEnvironment();
  const sizes = quick ? [200_000] : [10_000, 1_000_000, 10_000_000];
  const seconds = quick ? 1 : 2;
  const figures: Record<string, Awaited<ReturnType<typeof changes>>> = {};
  try {
    let from = 0;
    for (const size of sizes) {
      progress(`growing to ${size} records in ${apps} apps`);
      await environment.growTo(from, size);
      from = size;
      figures[size] = await changes(environment, size, seconds, (line) => progress(`${size} records, ${line}`));
    }
    const lists = await listing(environment, from, seconds, quick ? 3 : blocks);
    progress(`a list of 50 under an owner rule at ${from} records: p95 ${lists} ms`);
    const largest = figures[from] as (typeof figures)[string];
    const growth = rounded(largest.p50_ms / (figures[sizes[0] as number]?.p50_ms ?? Number.NaN));
    const all = Object.values(figures);
    const failed = all.reduce((sum, each) => sum + each.failed, 0);
    return {
      figures: {
        at: figures,
        ...(!quick && { p50_growth: growth }),
        list_p95_ms: lists,
        failed,
        events_delivered: environment.delivered(),
      },
      judged: [
        {
          bar: `a PUT under rules >= ${bars.bare} of bare, at every size`,
          met: all.every((at) => at.ratio >= bars.bare),
        },
        {
          bar: `rules cost <= ${bars.ruleCost * 100} % of the same PUT without`,
          met: all.every((at) => at.rule_cost <= bars.ruleCost),
        },
        ...(quick
          ? []
          : [{ bar: `p50 at ${from} <= ${bars.growth} of that at ${sizes[0]}`, met: growth <= bars.growth }]),
        { bar: `a list of 50 under an owner rule p95 <= ${bars.listMs} ms`, met: lists <= bars.listMs },
        {
          bar: 'no failed request, and the subscribed webhook received events',
          met: failed === 0 && environment.delivered() > 0,
        },
      ],
      skipped: quick ? ['1M and 10M records, and how p50 grows with them'] : [],
    };
  } finally {
    await environment.close();
  }
};

async function changes(environment: Environment, size: number, seconds: number, progress: (line: string) => void) {
  const measure: Measure = (port, entity) => environment.measure(port, entity, size, seconds);
  for (const port of [environment.bare, environment.plinth]) await measure(port, ruled);
  const kinds = { bare: [] as Block[], ruled: [] as Block[], free: [] as Block[] };
  for (let block = 1; block <= blocks; block += 1) {
    kinds.bare.push(await measure(environment.bare, ruled));
    kinds.ruled.push(await measure(environment.plinth, ruled));
    kinds.free.push(await measure(environment.plinth, free));
    const rate = (blocks: readonly Block[]) => rounded(blocks.at(-1)?.perSecond ?? 0, 0);
    progress(
      `block ${block} of ${blocks}: bare ${rate(kinds.bare)}/s, under rules ${rate(kinds.ruled)}/s, without ${rate(kinds.free)}/s`,
    );
  }
  const updates = await environment.pgbench(size, seconds);
  const ratios = (over: readonly Block[], under: readonly Block[]) =>
    median(over.map((block, n) => block.perSecond / (under[n]?.perSecond ?? Number.NaN)));
  const rate = (blocks: readonly Block[]) => rounded(median(blocks.map((block) => block.perSecond)), 0);
  return {
    ratio: rounded(ratios(kinds.ruled, kinds.bare), 3),
    rule_cost: rounded(1 - ratios(kinds.ruled, kinds.free), 3),
    p50_ms: rounded(median(kinds.ruled.map((block) => block.p50Ms))),
    per_second: { bare: rate(kinds.bare), ruled: rate(kinds.ruled), free: rate(kinds.free), pgbench_update: updates },
    ratio_to_pgbench_update: rounded(rate(kinds.ruled) / updates, 3),
    failed: Object.values(kinds)
      .flat()
      .reduce((sum, block) => sum + block.failed, 0),
  };
}

async function listing(environment: Environment, size: number, seconds: number, blocks: number): Promise<number> {
  await environment.measure(environment.plinth, ruled, size, seconds, 'list');
  const waits: number[] = [];
  for (let block = 0; block < blocks; block += 1)
    waits.push((await environment.measure(environment.plinth, ruled, size, seconds, 'list')).p95Ms);
  return rounded(median(waits));
}

interface Environment {
  readonly bare: number;
  readonly plinth: number;
  growTo(from: number, to: number): Promise<void>;
  measure(port: number, entity: string, size: number, seconds: number, kind?: 'list'): Promise<Block>;
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
  const { token, appIds, workspaceId } = await makeApps(config);
  const env = { PATH: process.env.PATH ?? '', ...environment, BENCH_WORKSPACE: workspaceId };
  const bare = await startProgram(file('entities/bare.ts'), env);
  const plinth = await startProgram(file('lib/api-server.ts'), env);
  const worker = fork(file('../server/src/main.ts'), ['worker'], { env });
  const call = caller(plinth.port, token);
  for (const id of appIds) await call('PUT', `/api/apps/${id}/entity-schemas`, { schemas });
  const hook = { target_url: `http://127.0.0.1:${receiver.port}/`, events: ['entity.updated'] };
  await call('POST', `/api/apps/${appIds[0]}/webhooks`, hook);
  const wake = openWakeUps(config.REDIS_URL, config.REDIS_PREFIX);
  const client = new pg.Client(postgres.url);
  await client.connect();
  return {
    bare: bare.port,
    plinth: plinth.port,
    async growTo(from, to) {
      await grow(client, appIds, benchEmail, from, to);
      const { rows } = await client.query<{ key: string }>(
        `select unnest(keys) as key from entity_schemas where name = $1 limit 1`,
        [ruled],
      );
      await addKeys(client, rows[0]?.key as string, benchEmail, from, to);
      // What the job does once all records have their keys.
      await client.query(
        'update entity_key_states k set ready = s.keys, building_since = null from entity_schemas s where s.app_id = k.app_id and s.name = k.entity_name',
      );
      await client.query('truncate events');
      for (const table of ['entity_records', 'entity_keys', 'events']) await client.query(`vacuum analyze ${table}`);
      await client.query('checkpoint');
    },
    // A block ends when its events are dispatched. Otherwise the faster side would leave that work to the next block. The bare
    // program sends no wake-ups, so one is sent here: the wait for the next poll is not part of its work. The next block starts
    // when all is delivered.
    measure: async (port, entity, size, seconds, kind) => {
      const startedAt = performance.now();
      const block = await measured(port, token, appIds, entity, size, seconds, kind);
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
      await killProcess(worker);
      await bare.stop();
      await plinth.stop();
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
  return { token: workspace.token, appIds, workspaceId: workspace.workspace_id };
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
): Promise<Block> {
  const args = [
    '-t1',
    `-c${kind === 'list' ? 4 : 32}`,
    `-d${seconds}s`,
    '-s',
    file('entities/requests.lua'),
    `http://127.0.0.1:${port}`,
  ];
  const env = {
    ...process.env,
    BENCH_APPS: appIds.join(' '),
    BENCH_KIND: kind,
    BENCH_ENTITY: entity,
    BENCH_ID_DIGIT: entity === ruled ? '8' : '9',
    BENCH_RECORDS: String(size),
    BENCH_TOKEN: token,
  };
  const { stdout } = await run('wrk', args, { env });
  const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
  return {
    perSecond: figure(/Requests\/sec:\s+([\d.]+)/),
    p50Ms: figure(/p50 (\d+) us/) / 1000,
    p95Ms: figure(/p95 (\d+) us/) / 1000,
    failed: figure(/Non-2xx or 3xx responses: (\d+)/),
  };
}

/** The bare UPDATE of a record's data, as fast as PostgreSQL's own client can send it. */
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
