// Measures how fast a backlog is delivered, how soon a delivery begins, and whether hanging webhooks slow down a healthy one.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { makeAuthority } from '../sandbox/src/certificates.ts';
import { type App, createApp } from '../server/src/app.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { readConfig } from '../server/src/config.ts';
import type { MessageEvent } from '../server/src/events.ts';
import { createWebhook } from '../server/src/features/webhooks/webhook.ts';
import { transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import { createLog } from '../server/src/kit/log.ts';
import { createSecrets } from '../server/src/kit/secrets.ts';
import type { Bench } from './lib/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from './lib/fixtures.ts';
import { startPostgres } from './lib/postgres.ts';
import { killProcess } from './lib/services.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import type { Order } from './webhooks/bare.ts';
import type { Seen } from './webhooks/receiver.ts';

const agentCount = 10;
const webhooksPerAgent = 5;
const concurrentPerAgent = 16;
const blocks = 9;
const drainBar = 0.6;
const rateBar = 2_500;
const latencyBar = { p50: 10, p99: 100 };
const hangingWebhooks = 20;

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const nowMs = () => performance.timeOrigin + performance.now();

type Progress = (line: string) => void;

export const webhooks: Bench = async ({ quick, progress }) => {
  const environment = await startEnvironment();
  try {
    const drain = await backlogDrain(environment, quick ? 200 : 1_000, progress);
    const together = await publishAndDeliver(environment, quick ? 4 : 20, progress);
    const latency = await latencies(environment, quick ? 5 : 30, progress);
    const healthy = await measureBesideHanging(environment, quick ? 500 : 10_000, quick ? 1 : 3, progress);
    return {
      figures: { ...drain, ...together, ...latency, ...healthy },
      judged: [
        { bar: `a backlog drains at >= ${drainBar} of a bare loop`, met: drain.drain_ratio >= drainBar },
        { bar: `>= ${rateBar} deliveries/s while publishing`, met: together.deliveries_per_second >= rateBar },
        {
          bar: `commit to first byte p50 <= ${latencyBar.p50} ms at 200 events/s`,
          met: latency.p50_ms <= latencyBar.p50,
        },
        { bar: `and p99 <= ${latencyBar.p99} ms`, met: latency.p99_ms <= latencyBar.p99 },
        {
          bar: "a healthy webhook's p95 beside hanging webhooks <= max(1.5x, +20 ms)",
          met: healthy.p95_beside_ms <= Math.max(1.5 * healthy.p95_alone_ms, healthy.p95_alone_ms + 20),
        },
      ],
      skipped: [],
    };
  } finally {
    await environment.close();
  }
};

interface Agent {
  readonly workspace_id: string;
  readonly id: string;
}

interface Environment {
  readonly app: App;
  /** Each with `webhooksPerAgent` webhooks. */
  readonly agents: readonly Agent[];
  readonly urls: readonly string[];
  readonly receiver: Receiver;
  readonly bare: ChildProcess;
  /** Creates another agent, with webhooks at these paths. */
  agentWith(paths: readonly string[]): Promise<Agent>;
  close(): Promise<void>;
}

async function startEnvironment(): Promise<Environment> {
  const postgres = await startPostgres();
  await migrateAll(postgres.url);
  const authority = await makeAuthority();
  const certificate = await authority.issue('IP:127.20.0.1');
  const folder = mkdtempSync(join(tmpdir(), 'plinth-hooks-'));
  writeFileSync(join(folder, 'ca.pem'), authority.ca);
  const environment = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_PREFIX: `bench:${process.pid}:`,
    OUTBOUND_ALLOW: '127.20.0.0/16',
    LOG_LEVEL: 'error',
  };
  const trusting = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  const receiver = await Receiver.start({ BENCH_KEY: certificate.key, BENCH_CERT: certificate.cert });
  const config = readConfig(environment);
  const app = createApp(config, { migrations: [], log: createLog('error') });
  const worker = fork(file('../server/src/main.ts'), ['worker'], { env: { ...trusting, ...environment } });
  const bare = fork(file('webhooks/bare.ts'), { env: trusting });

  const { db } = app.database;
  const user_id = await createBenchUser(db);
  const secrets = createSecrets(config.MASTER_KEYS);
  const urlOf = (path: string) => `https://127.20.0.1:${receiver.port}${path}`;
  // Each in its own workspace, because concurrency is limited per workspace and host.
  const agentWith = async (paths: readonly string[]): Promise<Agent> => {
    const workspace = await createBenchWorkspace(db, config, user_id);
    const app = await createBenchApp(db, workspace, 'user_agent');
    for (const path of paths) {
      const newWebhook = { target_url: urlOf(path), events: ['message.created'] };
      await createWebhook(
        db,
        { ...workspace.access, app, app_role: 'owner' },
        'agent',
        newWebhook,
        secrets,
        new Date(),
      );
    }
    return { workspace_id: workspace.workspace_id, id: app.id };
  };
  const paths = Array.from({ length: agentCount * webhooksPerAgent }, (_, n) => `/${n}`);
  const stageAgents: Agent[] = [];
  for (let n = 0; n < agentCount; n += 1)
    stageAgents.push(await agentWith(paths.slice(n * webhooksPerAgent, (n + 1) * webhooksPerAgent)));
  return {
    app,
    agents: stageAgents,
    urls: paths.map(urlOf),
    receiver,
    bare,
    agentWith,
    async close() {
      for (const child of [worker, bare]) await killProcess(child);
      receiver.stop();
      await app.close();
      postgres.stop();
      await authority.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

class Receiver {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(env: Record<string, string>): Promise<Receiver> {
    const child = fork(file('webhooks/receiver.ts'), { env: { PATH: process.env.PATH, ...env } });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Receiver(child, port);
  }

  async request(what: 'count' | 'reset' | 'all'): Promise<Seen> {
    this.#child.send(what);
    return ((await once(this.#child, 'message')) as [Seen])[0];
  }

  /** Waits until this many deliveries were received. */
  async until(count: number, withinMs = 60_000): Promise<Seen> {
    for (const end = performance.now() + withinMs; performance.now() < end; await sleep(25)) {
      const seen = await this.request('count');
      if (seen.count >= count) return seen;
    }
    throw new Error(`only ${(await this.request('count')).count} of ${count} deliveries came`);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

const newMessageEvent = ({ workspace_id, id: agent_id }: Agent): MessageEvent => {
  const date = new Date().toISOString();
  const content = 'A message of a usual length, so that its bytes count. '.repeat(6);
  return {
    workspace_id,
    agent_id,
    conversation_id: newId(),
    data: {
      message: { id: newId(), role: 'user', content, file_urls: [], created_date: date, updated_date: date },
      user: { id: newId(), email: 'somebody@example.com' },
    },
  };
};

const perSecond = ({ count, firstAt, lastAt }: Seen): number => (count - 1) / ((lastAt - firstAt) / 1000);

/** Publishes all events in one transaction. The rate is measured at the receiver, from the first delivery to the last. */
async function backlogDrain(environment: Environment, events: number, progress: Progress) {
  const { app, agents, urls, receiver, bare } = environment;
  const { db } = app.database;
  const perWebhook = events / agentCount;
  const body = JSON.stringify({ id: newId(), type: 'message.created', ...newMessageEvent(agents[0] as Agent) });
  const drainPlinth = async () => {
    await receiver.request('reset');
    await transaction(db, async (db) => {
      for (let n = 0; n < events; n += 1)
        await app.publish(db, 'message.created', newMessageEvent(agents[n % agentCount] as Agent), new Date());
    });
    return perSecond(await receiver.until(events * webhooksPerAgent));
  };
  const drainBare = async () => {
    await receiver.request('reset');
    bare.send({ urls, perOwner: webhooksPerAgent, atOnce: concurrentPerAgent, each: perWebhook, body } satisfies Order);
    await once(bare, 'message');
    return perSecond(await receiver.until(events * webhooksPerAgent));
  };
  await drainPlinth();
  await drainBare();
  const rates: { plinth: number; bare: number }[] = [];
  for (let block = 1; block <= blocks; block += 1) {
    rates.push({ bare: await drainBare(), plinth: await drainPlinth() });
    const latest = rates.at(-1) as (typeof rates)[number];
    progress(`drain, block ${block} of ${blocks}: ${rounded(latest.plinth, 0)}/s, bare ${rounded(latest.bare, 0)}/s`);
  }
  return {
    drain_ratio: rounded(median(rates.map((rate) => rate.plinth / rate.bare)), 3),
    drain_per_second: rounded(median(rates.map(({ plinth }) => plinth)), 0),
    bare_per_second: rounded(median(rates.map((rate) => rate.bare)), 0),
  };
}

async function publishAndDeliver({ app, agents, receiver }: Environment, seconds: number, progress: Progress) {
  const { db } = app.database;
  await receiver.request('reset');
  const end = performance.now() + seconds * 1000;
  let published = 0;
  const client = async () => {
    while (performance.now() < end) {
      const agent = agents[published % agentCount] as Agent;
      published += 1;
      await transaction(db, (db) => app.publish(db, 'message.created', newMessageEvent(agent), new Date()));
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const rate = perSecond(await receiver.until(published * webhooksPerAgent, 120_000));
  progress(`published ${rounded(published / seconds, 0)} events/s, delivered ${rounded(rate, 0)}/s`);
  return { published_per_second: rounded(published / seconds, 0), deliveries_per_second: rounded(rate, 0) };
}

/** Returns, for each event, the milliseconds from the end of the commit to the first byte at the receiver. */
async function timed({ app, receiver }: Environment, agents: readonly Agent[], rate: number, seconds: number) {
  const { db } = app.database;
  await receiver.request('reset');
  const committed = new Map<string, number>();
  const sent: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()));
    const message = newMessageEvent(agents[n % agents.length] as Agent);
    sent.push(
      transaction(db, (db) => app.publish(db, 'message.created', message, new Date())).then(
        () => void committed.set(message.data.message.id, nowMs()),
      ),
    );
  }
  await Promise.all(sent);
  const { rows } = await sql<{
    id: string;
    message_id: string;
  }>`select id, payload->'data'->'message'->>'id' as message_id
    from events where payload->'data'->'message'->>'id' = any(${[...committed.keys()]})`.execute(db);
  for (const until = performance.now() + 30_000; performance.now() < until; await sleep(50)) {
    const { at } = await receiver.request('all');
    if (rows.every((row) => at[row.id] !== undefined))
      return rows.map((row) => (at[row.id] as number) - (committed.get(row.message_id) as number));
  }
  throw new Error('not every event was delivered');
}

async function latencies(environment: Environment, seconds: number, progress: Progress) {
  await timed(environment, environment.agents, 200, 1);
  const waits = await timed(environment, environment.agents, 200, seconds);
  const [p50, p99] = [rounded(median(waits)), rounded(quantile(waits, 0.99))];
  progress(`commit to first byte at 200 events/s: p50 ${p50} ms, p99 ${p99} ms`);
  return { p50_ms: p50, p99_ms: p99 };
}

/** Alternates between the healthy webhook alone and beside hanging webhooks with a due backlog. */
async function measureBesideHanging(environment: Environment, backlog: number, rounds: number, progress: Progress) {
  const { db } = environment.app.database;
  const healthy = await environment.agentWith(['/healthy']);
  const hanging = await environment.agentWith(Array.from({ length: hangingWebhooks }, (_, n) => `/hang/${n}`));
  const ofHanging = sql`webhook_id in (select id from webhooks where app_id = ${hanging.id})`;
  const park = () =>
    sql`update webhook_deliveries set due_at = clock_timestamp() + interval '1 day'
      where ${ofHanging} and claimed_slot is null and due_at is not null`.execute(db);
  const release = () =>
    sql`update webhook_deliveries set due_at = clock_timestamp() where ${ofHanging} and claimed_slot is null and due_at is not null`.execute(
      db,
    );
  // Timeouts would turn these webhooks off within a minute. Keep them on.
  const keepOn = () => sql`update webhooks set consecutive_failures = 0 where app_id = ${hanging.id}`.execute(db);
  // While they are off, their deliveries are stored and not sent.
  await sql`update webhooks set disabled_at = now() where app_id = ${hanging.id}`.execute(db);
  await transaction(db, async (db) => {
    for (let n = 0; n < backlog; n += 1)
      await environment.app.publish(db, 'message.created', newMessageEvent(hanging), new Date());
  });
  const queued = async () =>
    (await sql<{ n: number }>`select count(*)::int as n from webhook_deliveries where ${ofHanging}`.execute(db)).rows[0]
      ?.n ?? 0;
  while ((await queued()) < backlog * hangingWebhooks) await sleep(200);
  await sql`update webhook_deliveries set status = 'pending', due_at = now() + interval '1 day' where ${ofHanging}`.execute(
    db,
  );
  await sql`update webhooks set disabled_at = null where app_id = ${hanging.id}`.execute(db);
  const measured: { alone: number; beside: number }[] = [];
  const once95 = async () => quantile(await timed(environment, [healthy], 50, 1), 0.95);
  const several = async () => {
    const waits: number[] = [];
    for (let n = 0; n < blocks / rounds; n += 1) waits.push(await once95());
    return waits;
  };
  for (let round = 1; round <= rounds; round += 1) {
    await park();
    while (
      (await sql`select 1 from webhook_deliveries where ${ofHanging} and claimed_slot is not null`.execute(db)).rows
        .length > 0
    )
      await sleep(100);
    await park();
    const alone = await several();
    await keepOn();
    await release();
    await sleep(500);
    const beside = await several();
    for (const [n, value] of alone.entries()) measured.push({ alone: value, beside: beside[n] as number });
    progress(
      `healthy p95, round ${round} of ${rounds}: alone ${rounded(median(alone))} ms, beside ${rounded(median(beside))} ms`,
    );
  }
  return {
    p95_alone_ms: rounded(median(measured.map(({ alone }) => alone))),
    p95_beside_ms: rounded(median(measured.map(({ beside }) => beside))),
    hanging_backlog: backlog * hangingWebhooks,
  };
}
