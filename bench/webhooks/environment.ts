// The environment that the webhook measurements share: its own PostgreSQL, a worker, the receiver, the bare
// programs, and agents with webhooks.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { type OwnPostgres, startPostgres } from '../../harness/postgres.ts';
import { killProcess } from '../../harness/services.ts';
import { makeAuthority } from '../../sandbox/src/certificates.ts';
import { startDnsSandbox } from '../../sandbox/src/dns.ts';
import { type App, createApp } from '../../server/src/app.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import type { MessageEvent } from '../../server/src/events.ts';
import { createWebhook } from '../../server/src/features/webhooks/webhook.ts';
import { transaction } from '../../server/src/kit/db/database.ts';
import { createLog } from '../../server/src/kit/log.ts';
import { createSecrets } from '../../server/src/kit/secrets.ts';
import { receiverName } from './bare-client.ts';
import { type FairEvents, openFairEvents } from './fair-events.ts';
import { newMessage } from './message.ts';
import type { Seen } from './receiver.ts';

export const agentCount = 10;
export const webhooksPerAgent = 5;

export interface Agent {
  readonly workspace_id: string;
  readonly id: string;
}

export interface Environment {
  readonly app: App;
  readonly postgres: OwnPostgres;
  readonly worker: ChildProcess;
  /** Each agent has `webhooksPerAgent` webhooks. */
  readonly agents: readonly Agent[];
  readonly urls: readonly string[];
  readonly receiver: Receiver;
  readonly bareLoop: ChildProcess;
  readonly bareSender: ChildProcess;
  readonly fairSender: ChildProcess;
  /** Publishes to the fair sender. Owners are numbered like the agents. */
  readonly fairEvents: FairEvents;
  /** Creates another agent with webhooks at these paths. */
  agentWith(paths: readonly string[]): Promise<Agent>;
  close(): Promise<void>;
}

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function startEnvironment(): Promise<Environment> {
  const postgres = await startPostgres();
  await migrateAll(postgres.url);
  const authority = await makeAuthority();
  const certificate = await authority.issue('IP:127.20.0.1', `DNS:${receiverName}`);
  const dns = await startDnsSandbox((_name, type) => ({
    addresses: type === 'A' ? ['127.20.0.1'] : [],
    ttlSeconds: 60,
  }));
  const folder = mkdtempSync(join(tmpdir(), 'plinth-hooks-'));
  writeFileSync(join(folder, 'ca.pem'), authority.ca);
  const environment = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_PREFIX: `bench:${process.pid}:`,
    STORAGE_FOLDER: join(folder, 'storage'),
    OUTBOUND_ALLOW: '127.20.0.0/16',
    LOG_LEVEL: 'error',
  };
  const trusting = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  const receiver = await Receiver.start({ BENCH_KEY: certificate.key, BENCH_CERT: certificate.cert });
  const urlOf = (path: string) => `https://127.20.0.1:${receiver.port}${path}`;
  const paths = Array.from({ length: agentCount * webhooksPerAgent }, (_, n) => `/${n}`);
  const urls = paths.map(urlOf);
  const bareEnvironment = {
    ...trusting,
    DATABASE_URL: postgres.url,
    BENCH_URLS: JSON.stringify(urls),
    BENCH_PER_OWNER: String(webhooksPerAgent),
    BENCH_DNS: dns.server,
  };
  const config = readConfig(environment);
  const app = createApp(config, { migrations: [], log: createLog('error') });
  const worker = fork(file('../../server/src/main.ts'), ['worker'], { env: { ...trusting, ...environment } });
  const bareLoop = fork(file('bare-loop.ts'), { env: bareEnvironment });
  const bareSender = fork(file('bare-sender.ts'), { env: bareEnvironment });
  const ofFair = {
    DATABASE_URL: postgres.url,
    REDIS_URL: config.REDIS_URL,
    REDIS_PREFIX: `${config.REDIS_PREFIX}fair:`,
  };
  const fairSender = fork(file('fair-sender.ts'), { env: { ...bareEnvironment, ...ofFair } });
  await once(fairSender, 'message'); // its tables now exist
  const fairEvents = openFairEvents(ofFair);

  const { db } = app.database;
  const user_id = await createBenchUser(db);
  const deps = { secrets: createSecrets(config.MASTER_KEYS), baseUrl: config.BASE_URL };
  // Each agent has its own workspace, because concurrency is limited per workspace and host.
  const agentWith = async (paths: readonly string[]): Promise<Agent> => {
    const workspace = await createBenchWorkspace(db, config, user_id);
    const app = await createBenchApp(db, workspace, 'user_agent');
    const access = { ...workspace.access, app, app_role: 'owner' } as const;
    for (const path of paths) {
      const input = { mode: 'push' as const, target_url: urlOf(path), events: ['message.created'] };
      await createWebhook(db, deps, access, { scope: 'agent', input }, new Date());
    }
    return { workspace_id: workspace.workspace_id, id: app.id };
  };
  const agents: Agent[] = [];
  for (let n = 0; n < agentCount; n += 1)
    agents.push(await agentWith(paths.slice(n * webhooksPerAgent, (n + 1) * webhooksPerAgent)));
  return {
    app,
    postgres,
    worker,
    agents,
    urls,
    receiver,
    bareLoop,
    bareSender,
    fairSender,
    fairEvents,
    agentWith,
    async close() {
      for (const child of [worker, bareLoop, bareSender, fairSender]) await killProcess(child);
      await fairEvents.close();
      receiver.stop();
      dns.close();
      await app.close();
      postgres.stop();
      await authority.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Publishes a message's event in its own transaction. Returns the message's id. */
export async function publishMessage({ app }: Environment, agent: Agent): Promise<string> {
  const event = messageEvent(agent);
  await transaction(app.database.db, (db) => app.publish(db, 'message.created', event, new Date()));
  return event.data.message.id;
}

/** Publishes many messages' events in one transaction. */
export const publishMessages = ({ app }: Environment, agents: readonly Agent[], count: number): Promise<void> =>
  transaction(app.database.db, async (db) => {
    for (let n = 0; n < count; n += 1)
      await app.publish(db, 'message.created', messageEvent(agents[n % agents.length] as Agent), new Date());
  });

const messageEvent = ({ workspace_id, id: agent_id }: Agent): MessageEvent => ({
  workspace_id,
  agent_id,
  ...newMessage(),
});

export class Receiver {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(env: Record<string, string>): Promise<Receiver> {
    const child = fork(file('receiver.ts'), { env: { PATH: process.env.PATH, ...env } });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Receiver(child, port);
  }

  async request(what: 'count' | 'reset' | 'all'): Promise<Seen> {
    this.#child.send(what);
    return ((await once(this.#child, 'message')) as [Seen])[0];
  }

  /** Waits until this many deliveries have been received. */
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
