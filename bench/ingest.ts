// Measures analytics: how many events are accepted and stored a second, through the API and by the store alone, against a bare
// copy of the same rows. A bare server that copies them shows which part of the difference is HTTP and JSON; it is not judged.
// And what counting users costs while events come in, in an app with few users and in one with many.
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { createIngestion, type Ingest } from '../server/src/features/analytics/ingestion.ts';
import { toCopyLine } from '../server/src/features/analytics/store/events.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { type BareProgram, createBareTable, openBare } from './ingest/bare.ts';
import { type BenchEvent, batchSize, makeBatch, randomUser } from './ingest/events.ts';
import { seedUsers } from './ingest/users.ts';
import type { Bench, BenchOptions } from './lib/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from './lib/fixtures.ts';
import { createDatabase, startProgram } from './lib/services.ts';
import { median, quantile, rounded } from './lib/statistics.ts';

const rateBar = 15_000;
const ratioBar = 0.35;
const flatBar = 2;
const blocks = 9;
const requestsAtOnce = 8;
/** How many different users the measured app has. */
const activeUsers = 20_000;
const fewUsers = 10_000;
const bareWays = [
  { connections: 2, rowsPerCopy: batchSize },
  { connections: 2, rowsPerCopy: 4_000 },
];

interface Setting {
  readonly db: Db;
  readonly url: string;
  readonly origin: string;
  readonly bareOrigin: string;
  readonly token: string;
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
  const api = await startProgram(fileURLToPath(new URL('./lib/api-server.ts', import.meta.url)), environment);
  await createBareTable(database.url);
  const bare = await startProgram(fileURLToPath(new URL('./ingest/bare-server.ts', import.meta.url)), environment);
  const { db, close } = openDatabase<Tables>({ url: database.url, poolSize: 4 });
  try {
    const workspace = await createBenchWorkspace(db, readConfig(environment), await createBenchUser(db));
    const setting: Setting = {
      db,
      url: database.url,
      origin: `http://127.0.0.1:${api.port}`,
      bareOrigin: `http://127.0.0.1:${bare.port}`,
      token: workspace.token,
      createApp: async () => (await createBenchApp(db, workspace, 'user_app')).id,
    };
    const rates = await measureRates(setting, options);
    const counting = await measureCounting(setting, options);
    return {
      figures: { rates, counting },
      judged: [
        { bar: `${rateBar} events a second are accepted and stored`, met: rates.api_per_second >= rateBar },
        { bar: `the API: ratio to a bare copy >= ${ratioBar}`, met: rates.api_to_copy_ratio >= ratioBar },
        { bar: 'every accepted event is stored, once', met: rates.stored === rates.accepted },
        { bar: 'the counts equal a recount', met: rates.miscounted === 0 && counting.miscounted === 0 },
        {
          bar: `counting ${counting.many_users} users takes at most ${flatBar} times as long as ${fewUsers}`,
          met: counting.ratio <= flatBar,
        },
      ],
      skipped: [],
    };
  } finally {
    await close();
    await api.stop();
    await bare.stop();
    await database.drop();
  }
};

// ---- rates

async function measureRates(setting: Setting, { quick, progress }: BenchOptions) {
  const app_id = await setting.createApp();
  const batchesPerBlock = quick ? 24 : 300;
  const makeBatches = () => Array.from({ length: batchesPerBlock }, () => makeBatch(randomUser(activeUsers)));
  const bare = await chooseBare(setting.url, app_id, makeBatches);
  const store = createIngestion(setting.db);
  let accepted = 0;
  const ways = ['server', 'api', 'copy', 'store'] as const;
  const measured = { server: [] as number[], api: [] as number[], copy: [] as number[], store: [] as number[] };
  for (let block = 0; block <= blocks; block += 1) {
    const perSecond = (ms: number) => (batchesPerBlock * batchSize * 1000) / ms;
    const rates = {
      server: perSecond(await sendAll({ ...setting, origin: setting.bareOrigin }, app_id, makeBatches())),
      api: perSecond(await sendAll(setting, app_id, makeBatches())),
      copy: perSecond(await bare.copy(app_id, makeBatches())),
      store: perSecond(await storeAll(store, app_id, makeBatches())),
    };
    accepted += 2 * batchesPerBlock * batchSize;
    if (block === 0) continue; // the compiler is still at work
    for (const way of ways) measured[way].push(rates[way]);
    progress(
      `block ${block} of ${blocks}: ${ways.map((way) => `${way} ${rounded(rates[way], 0)}`).join(', ')} events a second`,
    );
  }
  await bare.close();
  const ratios = (way: 'api' | 'store', base: 'server' | 'copy') =>
    measured[way].map((rate, n) => rate / (measured[base][n] ?? Number.NaN));
  const stored = await setting.db
    .selectFrom('analytics_events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('app_id', '=', app_id)
    .executeTakeFirstOrThrow();
  return {
    bare_server_per_second: rounded(median(measured.server), 0),
    bare_copy_per_second: rounded(median(measured.copy), 0),
    api_per_second: rounded(median(measured.api), 0),
    store_per_second: rounded(median(measured.store), 0),
    api_to_server_ratio: rounded(median(ratios('api', 'server')), 3),
    api_to_server_ratios: ratios('api', 'server').map((ratio) => rounded(ratio)),
    store_ratio: rounded(median(ratios('store', 'copy')), 3),
    store_ratios: ratios('store', 'copy').map((ratio) => rounded(ratio)),
    api_to_copy_ratio: rounded(median(ratios('api', 'copy')), 3),
    api_to_copy_ratios: ratios('api', 'copy').map((ratio) => rounded(ratio)),
    accepted,
    stored: stored.count,
    miscounted: await countMiscounted(setting, app_id),
  };
}

/** The faster of a few ways to copy. */
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

/** Sends each batch as a request. Returns how long it took, in ms. */
async function sendAll(setting: Setting, app_id: string, batches: readonly BenchEvent[][]): Promise<number> {
  const bodies = batches.map((events) => JSON.stringify({ events })).values();
  const startedAt = performance.now();
  await atOnce(async () => {
    for (const body of bodies) await send(setting, app_id, body);
  });
  return performance.now() - startedAt;
}

async function send({ origin, token }: Setting, app_id: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${origin}/api/apps/${app_id}/analytics/track/batch`, { method: 'POST', headers, body });
  const text = await answer.text();
  if (answer.status !== 200 || !text.includes(`"accepted":${batchSize},`)) throw new Error(`${answer.status} ${text}`);
}

/** The same without HTTP, in this process: ids, events, users and counts. */
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

const atOnce = (work: () => Promise<void>) => Promise.all(Array.from({ length: requestsAtOnce }, work));

/** How many seconds, minutes, hours and days have another count than a recount of the users. Takes minutes with ten million of them. */
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

/** Sends batches of users who come back, to both apps in turn, until it is aborted. Returns how many events there were. */
async function keepSending(setting: Setting, apps: readonly { id: string; users: number }[], signal: AbortSignal) {
  let sent = 0;
  while (!signal.aborted)
    for (const { id, users } of apps) {
      await send(setting, id, JSON.stringify({ events: makeBatch(randomUser(users)) }));
      sent += batchSize;
    }
  return sent;
}
