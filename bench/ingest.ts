// Measures analytics ingestion: how many events per second are accepted and stored, through the API and by the store
// alone, compared with a bare copy of the same rows, and how much CPU time the API and PostgreSQL use. A bare server
// that copies the rows shows how much of the difference is due to HTTP and JSON. It is not judged. Also measures the
// cost of counting users while events arrive, in an app with few users and in an app with many.
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { createDatabase, startApi, startProgram } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { createIngestion, type Ingest } from '../server/src/features/analytics/ingestion.ts';
import { toCopyLine } from '../server/src/features/analytics/store/events.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { measureAgainst } from './ingest/against.ts';
import { type BareProgram, createBareTable, openBare } from './ingest/bare.ts';
import { type BenchEvent, batchSize, makeBatch, randomUser } from './ingest/events.ts';
import { atOnce, type Block, type Measured, measureBlock, send, sendAll, type Target } from './ingest/requests.ts';
import { seedUsers } from './ingest/users.ts';
import { startRivals } from './lib/against.ts';
import { listFigures, listRatios, medianOf, ratioOf, runBlocks } from './lib/blocks.ts';

const rateBar = 15_000;
const apiCpuBar = 15;
const storeBar = 0.33;
const postgresCpuBar = 17;
const flatBar = 2;
/** The number of distinct users in the measured app. */
const activeUsers = 20_000;
const fewUsers = 10_000;
const bareWays = [
  { connections: 2, rowsPerCopy: batchSize },
  { connections: 2, rowsPerCopy: 4_000 },
];

interface Setting extends Target, Measured {
  readonly db: Db;
  readonly url: string;
  readonly bareOrigin: string;
  createApp(): Promise<string>;
}

export const ingest: Bench = async (options) => {
  const database = await createDatabase('ingest');
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    REDIS_PREFIX: `bench:${process.pid}:`,
    LOG_LEVEL: 'silent',
  };
  const { workspace, comparedApp } = await seed(environment);
  const rivals = await startRivals(options.against, database, environment);
  const api = await startApi(environment);
  await createBareTable(database.url);
  const bare = await startProgram(fileURLToPath(new URL('./ingest/bare-server.ts', import.meta.url)), environment);
  const { db, close } = openDatabase<Tables>({ url: database.url, poolSize: 4 });
  try {
    const setting: Setting = {
      db,
      url: database.url,
      origin: `http://127.0.0.1:${api.port}`,
      apiPid: api.pid,
      listBackends: database.backends,
      bareOrigin: `http://127.0.0.1:${bare.port}`,
      token: workspace.token,
      createApp: async () => (await createBenchApp(db, workspace, 'user_app')).id,
    };
    const against = await measureAgainst(setting, rivals, {
      app_id: comparedApp,
      nextUser: randomUser(activeUsers),
      ...sizesOf(options),
      progress: options.progress,
    });
    const rates = await measureRates(setting, options);
    const counting = await measureCounting(setting, options);
    return {
      figures: { rates, counting, ...(against.figures && { against: against.figures }) },
      judged: [
        { bar: `${rateBar} events a second are accepted and stored`, met: rates.api_per_second >= rateBar },
        {
          bar: `the API process uses <= ${apiCpuBar} µs of CPU time per event`,
          met: rates.api_cpu_us_per_event <= apiCpuBar,
        },
        {
          bar: `the store alone reaches >= ${storeBar} of the rate of a bare copy of the same rows`,
          met: rates.store_ratio >= storeBar,
        },
        {
          bar: `PostgreSQL uses <= ${postgresCpuBar} µs of CPU time per event that is stored`,
          met: rates.store_postgres_cpu_us_per_event <= postgresCpuBar,
        },
        { bar: 'every accepted event is stored, once', met: rates.stored === rates.accepted },
        { bar: 'the counts equal a recount', met: rates.miscounted === 0 && counting.miscounted === 0 },
        {
          bar: `counting ${counting.many_users} users takes at most ${flatBar} times as long as ${fewUsers}`,
          met: counting.ratio <= flatBar,
        },
        ...against.judged,
      ],
      skipped: [],
    };
  } finally {
    await close();
    for (const rival of Object.values(rivals ?? {})) await rival.stop();
    await api.stop();
    await bare.stop();
    await database.drop();
  }
};

async function seed(environment: Record<string, string>) {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const workspace = await createBenchWorkspace(db, config, await createBenchUser(db));
  const { id: comparedApp } = await createBenchApp(db, workspace, 'user_app');
  await close();
  return { workspace, comparedApp };
}

// ---- rates

const sizesOf = ({ quick }: BenchOptions) => ({ blocks: quick ? 3 : 9, batchesPerBlock: quick ? 60 : 300 });

type Way = 'server' | 'api' | 'four_apps' | 'copy' | 'store';

async function measureRates(setting: Setting, options: BenchOptions) {
  const app_id = await setting.createApp();
  const fourApps: string[] = [];
  for (let n = 0; n < 4; n += 1) fourApps.push(await setting.createApp());
  const { blocks, batchesPerBlock } = sizesOf(options);
  const events = batchesPerBlock * batchSize;
  const makeBatches = () => Array.from({ length: batchesPerBlock }, () => makeBatch(randomUser(activeUsers)));
  const bare = await chooseBare(setting.url, app_id, makeBatches);
  let retried = 0;
  const store = createIngestion({ db: setting.db, onRetry: () => (retried += 1) });
  const runs = {
    server: () => sendAll({ ...setting, origin: setting.bareOrigin }, [app_id], makeBatches()),
    api: () => sendAll(setting, [app_id], makeBatches()),
    four_apps: () => sendAll(setting, fourApps, makeBatches()),
    copy: () => bare.copy(app_id, makeBatches()),
    store: () => storeAll(store, app_id, makeBatches()),
  };
  const measured = await runBlocks(runs, (run) => measureBlock(setting, events, run), {
    what: 'rates',
    count: blocks,
    warmUp: 1,
    describe: ({ perSecond }) => `${rounded(perSecond, 0)} events/s`,
    progress: options.progress,
  });
  const accepted = 3 * events * (blocks + 1);
  await bare.close();
  const apps = [app_id, ...fourApps];
  const stored = await setting.db
    .selectFrom('analytics_events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('app_id', 'in', apps)
    .executeTakeFirstOrThrow();
  let miscounted = 0;
  for (const id of apps) miscounted += await countMiscounted(setting, id);
  return { ...summarize(measured), retried, accepted, stored: stored.count, miscounted };
}

function summarize(measured: Readonly<Record<Way, readonly Block[]>>) {
  const rateOf = (way: Way) => medianOf(measured[way], 'perSecond', 0);
  const cpuOf = (way: Way, field: 'apiUs' | 'postgresUs') => medianOf(measured[way], field, 1);
  const ratio = (way: Way, base: Way) => rounded(ratioOf(measured[way], measured[base], 'perSecond'), 3);
  const ratios = (way: Way, base: Way) =>
    listRatios(measured[way], measured[base], 'perSecond').map((each) => rounded(each));
  return {
    bare_server_per_second: rateOf('server'),
    bare_copy_per_second: rateOf('copy'),
    api_per_second: rateOf('api'),
    four_apps_per_second: rateOf('four_apps'),
    store_per_second: rateOf('store'),
    api_cpu_us_per_event: cpuOf('api', 'apiUs'),
    api_cpu_us_per_event_by_block: listFigures(measured.api, 'apiUs').map((us) => rounded(us, 1)),
    four_apps_api_cpu_us_per_event: cpuOf('four_apps', 'apiUs'),
    postgres_cpu_us_per_event: cpuOf('api', 'postgresUs'),
    four_apps_postgres_cpu_us_per_event: cpuOf('four_apps', 'postgresUs'),
    store_postgres_cpu_us_per_event: cpuOf('store', 'postgresUs'),
    bare_copy_postgres_cpu_us_per_event: cpuOf('copy', 'postgresUs'),
    api_to_server_ratio: ratio('api', 'server'),
    api_to_server_ratios: ratios('api', 'server'),
    store_ratio: ratio('store', 'copy'),
    store_ratios: ratios('store', 'copy'),
    api_to_copy_ratio: ratio('api', 'copy'),
    api_to_copy_ratios: ratios('api', 'copy'),
  };
}

/** Returns the fastest of several bare programs. */
async function chooseBare(url: string, app_id: string, makeBatches: () => BenchEvent[][]): Promise<BareProgram> {
  let best: { program: BareProgram; ms: number } | undefined;
  for (const { connections, rowsPerCopy } of bareWays) {
    const program = openBare(url, connections, rowsPerCopy);
    await program.copy(app_id, makeBatches());
    const ms = await program.copy(app_id, makeBatches());
    if (best !== undefined && best.ms <= ms) await program.close();
    else {
      await best?.program.close();
      best = { program, ms };
    }
  }
  if (best === undefined) throw new Error('no way to copy');
  return best.program;
}

/** Stores the batches in this process, without HTTP: ids, events, users and counts. Returns the duration in ms. */
async function storeAll(store: Ingest, app_id: string, batches: readonly BenchEvent[][]): Promise<number> {
  const waiting = batches.values();
  const startedAt = performance.now();
  await atOnce(async () => {
    for (const batch of waiting)
      await store(
        batch.map((event) => toStored(app_id, event)),
        new Date(),
      );
  });
  return performance.now() - startedAt;
}

function toStored(app_id: string, { timestamp, ...event }: BenchEvent) {
  const at = new Date(timestamp);
  const line = toCopyLine({ ...event, app_id, at, country: null, device_type: null, os: null });
  return { app_id, sent_id: event.event_id, user_id: event.user_id, at, line };
}

/**
 * Returns the number of seconds, minutes, hours and days whose count differs from a recount of the users. Takes minutes
 * with ten million users.
 */
async function countMiscounted({ url }: Setting, app_id: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ wrong: string }>(recount, [app_id]);
    return Number(rows[0]?.wrong);
  } finally {
    await client.end();
  }
}

const recount = `
  with recounted as (
    select grain, bucket, count(*) as users from analytics_users
    cross join lateral (values ('second', event_second), ('minute', event_second / 60), ('hour', event_second / 3600),
      ('day', event_second / 86400)) g (grain, bucket)
    where app_id = $1 and event_second is not null group by 1, 2),
  counted as (
    select grain, bucket, users from analytics_user_counts
    where app_id = $1 and grain in ('second', 'minute', 'hour', 'day') and users <> 0)
  select count(*) as wrong from recounted full join counted using (grain, bucket)
  where recounted.users is distinct from counted.users`;

// ---- counting users

async function measureCounting(setting: Setting, { quick, progress }: BenchOptions) {
  const manyUsers = quick ? 200_000 : 10_000_000;
  const apps = [
    { id: await setting.createApp(), users: fewUsers },
    { id: await setting.createApp(), users: manyUsers },
  ];
  for (const { id, users } of apps) await seedUsers(setting.url, id, users, progress);
  const ended = new AbortController();
  const ingesting = keepSending(setting, apps, ended.signal);
  const times = apps.map((): number[] => []);
  const rounds = quick ? 150 : 2_000;
  for (let round = 0; round < rounds; round += 1)
    for (const [n, { id }] of apps.entries()) {
      const startedAt = performance.now();
      await getStats(setting, id);
      if (round >= 20) times[n]?.push(performance.now() - startedAt);
    }
  ended.abort();
  const sent = await ingesting;
  const [few = [], many = []] = times;
  progress(`counting: ${rounded(median(few))} ms with few users, ${rounded(median(many))} ms with many`);
  return {
    many_users: manyUsers,
    few_ms_p50: rounded(median(few)),
    few_ms_p99: rounded(quantile(few, 0.99)),
    many_ms_p50: rounded(median(many)),
    many_ms_p99: rounded(quantile(many, 0.99)),
    ratio: rounded(median(many) / median(few), 3),
    events_sent_meanwhile: sent,
    miscounted: await countMiscounted(setting, apps[1]?.id ?? ''),
  };
}

async function getStats({ origin, token }: Setting, app_id: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${origin}/api/apps/${app_id}/analytics/stats/users`, { headers });
  await answer.text();
  const partial = answer.headers.get('x-partial-result');
  if (answer.status !== 200 || partial !== null) throw new Error(`not counted: ${answer.status} ${partial}`);
}

/** Sends batches from returning users to each app in turn until aborted. Returns the number of events sent. */
async function keepSending(setting: Setting, apps: readonly { id: string; users: number }[], signal: AbortSignal) {
  let sent = 0;
  while (!signal.aborted)
    for (const { id, users } of apps) {
      await send(setting, id, JSON.stringify({ events: makeBatch(randomUser(users)) }));
      sent += batchSize;
    }
  return sent;
}
