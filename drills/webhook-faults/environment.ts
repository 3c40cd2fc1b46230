// Owns the environment of the drill: its own PostgreSQL and Redis, a language model, the receiver, Plinth's processes, and a
// workspace with agents and webhooks. Everything is stopped by its pid.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBenchUser, createBenchWorkspace } from '../../bench/lib/fixtures.ts';
import { startPostgres } from '../../bench/lib/postgres.ts';
import { startModelSandbox } from '../../sandbox/src/model.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';
import { startProcesses } from '../lib/processes.ts';
import { startReceiver } from '../lib/receiver-process.ts';
import { startRedis } from '../lib/redis.ts';
import { type Call, retryingClient } from '../lib/retrying-client.ts';
import type { FaultTargets } from './faults.ts';
import { createAgent, createWebhook, type Webhook } from './integrator.ts';
import { replyTo } from './journal.ts';
import type { ReceiverCommand } from './receiver.ts';
import type { SenderOptions } from './sender.ts';

const everyType = ['message.created', 'message.completed'];

/** The event types of an agent's webhooks: one each; every fifth agent has another webhook with both. */
const subscriptionsOf = (agent: number): string[][] => [
  ...everyType.map((type) => [type]),
  ...(agent % 5 === 0 ? [everyType] : []),
];

export interface Environment {
  readonly targets: FaultTargets;
  readonly webhooks: readonly Webhook[];
  readonly journals: { readonly sent: string; readonly received: string };
  readonly call: Call;
  /** Starts the sender; `sent` resolves when everything was sent. */
  send(how: Pick<SenderOptions, 'events' | 'messages' | 'seconds'>): Promise<{ readonly sent: Promise<void> }>;
  close(): Promise<void>;
}

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function startEnvironment(agentCount: number): Promise<Environment> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(agentCount, (end) => void ends.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(agentCount: number, atEnd: (end: () => unknown) => void): Promise<Omit<Environment, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'webhook-faults-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const journals = { sent: join(folder, 'sent'), received: join(folder, 'received') };
  const addresses = Array.from({ length: agentCount }, (_, n) => `127.20.0.${n + 1}`);
  const receiver = await startReceiver(file('receiver.ts'), { folder, journal: journals.received, addresses });
  atEnd(receiver.stop);
  const postgres = await startPostgres();
  atEnd(postgres.stop);
  const redis = await startRedis();
  atEnd(redis.stop);
  const model = await startModelSandbox();
  atEnd(model.close);
  model.script(({ messages }) => ({ text: replyTo(messages.at(-1)?.content ?? '') }));
  const settings = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    MODEL_URL: model.url,
    OUTBOUND_ALLOW: '127.20.0.0/16',
    NODE_EXTRA_CA_CERTS: receiver.authority,
    STORAGE_FOLDER: folder,
  };
  await migrateAll(postgres.url);
  const who = await seed(settings);
  const processes = await startProcesses({ api: 2, worker: 2 }, settings);
  atEnd(processes.stop);
  await processes.allReady();

  const call = retryingClient(processes.apis, who.token);
  const agents = await Promise.all(addresses.map((address) => createAgent(call, address)));
  const webhooks = await Promise.all(
    agents.flatMap(({ id }, n) =>
      subscriptionsOf(n).map((types, m) =>
        createWebhook(call, id, `https://${addresses[n]}:${receiver.port}`, `/${n}/${m}`, types),
      ),
    ),
  );
  const order = (given: ReceiverCommand) => receiver.send(given);
  order({ secrets: Object.fromEntries(webhooks.map(({ path, secret }) => [path, secret])) });
  return {
    targets: {
      processes: processes,
      postgres,
      redis,
      addresses,
      receive: (address, answer) => order({ address, answer }),
    },
    webhooks,
    journals,
    call,
    async send(how) {
      const sending: SenderOptions = { ...how, ...who, apis: processes.apis, agents, journal: journals.sent };
      const env = { PATH: process.env.PATH, ...settings };
      const sender = fork(file('sender.ts'), [JSON.stringify(sending)], { env });
      atEnd(() => sender.kill('SIGKILL'));
      const ended = once(sender, 'exit').then(([code]) => {
        if (code !== 0) throw new Error('the sender ended before everything was sent');
      });
      await Promise.race([once(sender, 'message'), ended]);
      return { sent: ended };
    },
  };
}

/** Creates a user with a token, in a workspace without effective rate limits. */
async function seed(settings: Record<string, string>) {
  const config = readConfig(settings);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const { user_id, workspace_id, token } = await createBenchWorkspace(db, config, await createBenchUser(db));
  await close();
  return { user_id, workspace_id, token };
}
