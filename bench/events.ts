// Measures how much publishing an event adds to the cost of a transaction, how soon and how fast events are handled,
// and how much an idle worker costs.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { cpuMs, usedSince } from '../harness/cpu.ts';
import { type OwnPostgres, startPostgres } from '../harness/postgres.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { createListeners, type EventBus, eventBus } from '../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../server/src/kit/background/workers/wake.ts';
import { type AnyDb, openDatabase, prepared, transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';

interface BenchEvents {
  'bench.published': { n: number; note: string };
}
type Bus = EventBus<BenchEvents, AnyDb>;

const redisUrl = 'redis://127.0.0.1:6379';
const prefix = `bench:${process.pid}:`;
const clients = 16;
const addedBar = 0.25;
const dispatchBar = 10_000;
const latencyBarMs = 10;
const idleBar = 1;

export const events: Bench = async ({ quick, progress }) => {
  const postgres = await startPostgres();
  const wake = openWakeUps(redisUrl, prefix);
  const database = openDatabase<never>({ url: postgres.url, poolSize: clients });
  try {
    await migrateAll(postgres.url);
    const bus = eventBus<BenchEvents, AnyDb>(wake, (_event, error) => progress(String(error)));
    const { db } = database;
    await sql`create table bench_rows (id integer primary key, value integer not null, note text not null default '')`.execute(
      db,
    );
    await sql`insert into bench_rows select n, 0 from generate_series(1, 10000) n`.execute(db);
    await sql`create table bench_history (id uuid primary key, row_id integer not null, entry jsonb not null, at timestamptz not null)`.execute(
      db,
    );
    await sql`create table bench_plain (like events including all)`.execute(db);

    const cost = await publishCost(db, bus, quick ? 1 : 3, progress);
    await sql`truncate events`.execute(db);
    const rate = await dispatchRate(db, quick ? 30_000 : 150_000, progress);
    const latency = await latencies(postgres, db, bus, quick ? 4 : 15, progress);
    const idle = await idleLoad(postgres, quick ? 6 : 20, progress);
    return {
      figures: { ...cost, dispatched_per_second: rate, ...latency, ...idle },
      judged: [
        {
          bar: `publishing adds <= ${addedBar * 100} % to the caller's transaction, against a bare INSERT of the same rows`,
          met: cost.publish_adds_to_one_with_a_bare_insert <= addedBar,
        },
        { bar: `>= ${dispatchBar} events/s dispatched`, met: rate >= dispatchBar },
        { bar: `p50 <= ${latencyBarMs} ms at 200 events/s`, met: latency.latency_ms_p50 <= latencyBarMs },
        { bar: `an idle worker uses <= ${idleBar} % CPU`, met: idle.idle_worker_cpu_percent <= idleBar },
        { bar: `PostgreSQL uses <= ${idleBar} % CPU for it`, met: idle.idle_postgres_cpu_percent <= idleBar },
      ],
      skipped: [],
    };
  } finally {
    wake.close();
    await database.close();
    postgres.stop();
  }
};

const change = prepared<object, [number, number]>(
  'bench change',
  'update bench_rows set value = value + 1 where id = $1 and value >= 0 and $2 > 0 returning value',
);
const history = prepared<object, [string, number, string, Date]>(
  'bench history',
  'insert into bench_history (id, row_id, entry, at) values ($1, $2, $3, $4)',
);
const plain = prepared<object, [string, string, string, Date]>(
  'bench plain insert',
  'insert into bench_plain (id, name, payload, occurred_at) values ($1, $2, $3, $4)',
);

/**
 * Additional work that makes a transaction resemble the product's: locks and updates a row, and inserts a history row.
 */
type Extra = (db: AnyDb, n: number, now: Date) => Promise<unknown>;
async function callers(db: AnyDb, seconds: number, extra: Extra): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let done = 0;
  const client = async () => {
    while (performance.now() < end) {
      const n = 1 + Math.floor(Math.random() * 10_000);
      await transaction(db, async (db) => {
        const now = new Date();
        await change(db, n, 1);
        await history(db, newId(), n, JSON.stringify({ type: 'row.changed', before: 1, after: 2 }), now);
        await extra(db, n, now);
      });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return done / seconds;
}

async function publishCost(db: AnyDb, bus: Bus, seconds: number, progress: (line: string) => void) {
  const note = 'a payload of a usual size, so its bytes count: '.repeat(4);
  const kinds: Record<string, Extra> = {
    without: async () => {},
    bare: (db, n, now) => plain(db, newId(), 'bench.published', JSON.stringify({ n, note }), now),
    publish: (db, n, now) => bus.publish(db, 'bench.published', { n, note }, now),
  };
  const rates: Record<string, number[]> = { without: [], bare: [], publish: [] };
  for (const extra of Object.values(kinds)) await callers(db, seconds, extra); // warm-up
  for (let block = 1; block <= 9; block += 1) {
    for (const [kind, extra] of Object.entries(kinds)) rates[kind]?.push(await callers(db, seconds, extra));
    progress(
      `block ${block} of 9: ${Object.entries(rates)
        .map(([kind, list]) => `${kind} ${rounded(list.at(-1) ?? 0, 0)}/s`)
        .join(', ')}`,
    );
  }
  const overhead = (to: string, from: string) =>
    rounded(median((rates[from] ?? []).map((rate, block) => rate / (rates[to]?.[block] ?? 1))) - 1, 3);
  return {
    publish_adds: overhead('publish', 'without'),
    publish_adds_to_one_with_a_bare_insert: overhead('publish', 'bare'),
    transactions_per_second: Object.fromEntries(
      Object.entries(rates).map(([kind, list]) => [kind, rounded(median(list), 0)]),
    ),
  };
}

async function dispatchRate(db: AnyDb, count: number, progress: (line: string) => void): Promise<number> {
  await sql`insert into events (id, name, payload, occurred_at)
    select gen_random_uuid(), 'bench.published', jsonb_build_object('n', n, 'note', repeat('x', 200)), now()
    from generate_series(1, ${sql.lit(count)}) n`.execute(db);
  let handled = 0;
  const { listenAfterCommit } = createListeners<BenchEvents, AnyDb>();
  const bus = eventBus<BenchEvents, AnyDb>({ notify: () => {} }, () => {});
  bus.listen([
    listenAfterCommit('bench.published', async (_db, events) => {
      handled += events.length;
    }),
  ]);
  const startedAt = performance.now();
  while ((await bus.dispatch(db, new Date())) > 0);
  const rate = handled / ((performance.now() - startedAt) / 1000);
  progress(`dispatched ${handled} events at ${rounded(rate, 0)}/s`);
  await sql`truncate events`.execute(db);
  return handled === count ? rounded(rate, 0) : 0;
}

async function latencies(
  postgres: OwnPostgres,
  db: AnyDb,
  bus: Bus,
  seconds: number,
  progress: (line: string) => void,
) {
  const measure = async (redis: string) => {
    const listener = await Listener.start(postgres.url, redis);
    try {
      const published = await publishSteadily(db, bus, 200, seconds);
      await listener.until(published.size);
      return [...published].map(([n, at]) => (listener.handled.get(n) ?? Number.POSITIVE_INFINITY) - at);
    } finally {
      listener.stop();
    }
  };
  const awake = await measure(redisUrl);
  progress(`handled after p50 ${rounded(median(awake))} ms, p99 ${rounded(quantile(awake, 0.99))} ms`);
  const withoutRedis = await measure('redis://127.0.0.1:1');
  progress(`without Redis: p50 ${rounded(median(withoutRedis))} ms, max ${rounded(Math.max(...withoutRedis))} ms`);
  return {
    latency_ms_p50: rounded(median(awake)),
    latency_ms_p99: rounded(quantile(awake, 0.99)),
    latency_ms_p50_without_redis: rounded(median(withoutRedis)),
    latency_ms_max_without_redis: rounded(Math.max(...withoutRedis)),
  };
}

/** Returns each event's commit time, keyed by event number. */
async function publishSteadily(db: AnyDb, bus: Bus, perSecond: number, seconds: number): Promise<Map<number, number>> {
  const published = new Map<number, number>();
  const startedAt = performance.now();
  const sent: Promise<void>[] = [];
  for (let n = 0; n < perSecond * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1000) / perSecond - performance.now()));
    const publishOne = async () => {
      await transaction(db, (db) => bus.publish(db, 'bench.published', { n, note: '' }, new Date()));
      published.set(n, performance.timeOrigin + performance.now());
    };
    sent.push(publishOne());
  }
  await Promise.all(sent);
  return published;
}

class Listener {
  readonly handled = new Map<number, number>();
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(url: string, redis: string): Promise<Listener> {
    const child = spawn(process.execPath, [fileURLToPath(new URL('events/worker.ts', import.meta.url))], {
      env: { ...process.env, BENCH_URL: url, BENCH_REDIS_URL: redis, BENCH_PREFIX: prefix },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const listener = new Listener(child);
    const { promise, resolve } = Promise.withResolvers<void>();
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line) as { working?: boolean; at?: number; handled?: number[] };
      if (said.working) resolve();
      for (const n of said.handled ?? []) listener.handled.set(n, said.at as number);
    });
    await promise;
    await sleep(500);
    return listener;
  }

  async until(count: number): Promise<void> {
    for (const end = performance.now() + 10_000; this.handled.size < count && performance.now() < end; )
      await sleep(50);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Measures the product's own worker while it is idle. */
async function idleLoad(postgres: OwnPostgres, seconds: number, progress: (line: string) => void) {
  await sleep(9_000); // until the killed listener's lease has expired and vacuums have finished
  const worker = spawn(process.execPath, [fileURLToPath(new URL('../server/src/main.ts', import.meta.url)), 'worker'], {
    env: {
      PATH: process.env.PATH,
      ...newKeys(),
      DATABASE_URL: postgres.url,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await sleep(6_000);
    const before = {
      worker: cpuMs(worker.pid as number),
      postgres: postgres.pids().map((pid) => [pid, cpuMs(pid)] as const),
    };
    await sleep(seconds * 1000);
    const percent = (now: number, then: number) => rounded((now - then) / (seconds * 10), 2);
    const idle = {
      idle_worker_cpu_percent: percent(cpuMs(worker.pid as number), before.worker),
      idle_postgres_cpu_percent: percent(usedSince(postgres.pids(), new Map(before.postgres)), 0),
    };
    progress(`idle: worker ${idle.idle_worker_cpu_percent} %, PostgreSQL ${idle.idle_postgres_cpu_percent} %`);
    return idle;
  } finally {
    worker.kill('SIGKILL');
  }
}
