// The drill's environment: a language model, the receiver, Plinth's processes, and a workspace with agents and
// webhooks.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Installation } from '../../harness/installation.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { startModelSandbox } from '../../sandbox/src/model.ts';
import { startReceiver } from '../lib/receiver-process.ts';
import type { FaultTargets } from './faults.ts';
import { createAgent, createWebhook, type Webhook } from './integrator.ts';
import { replyTo } from './journal.ts';
import type { ReceiverCommand } from './receiver.ts';
import type { SenderOptions } from './sender.ts';

const everyType = ['message.created', 'message.completed'];

/**
 * The event types of an agent's webhooks. Each agent has one webhook per type, and every fifth agent has an additional
 * webhook with both types.
 */
const subscriptionsOf = (agent: number): string[][] => [
  ...everyType.map((type) => [type]),
  ...(agent % 5 === 0 ? [everyType] : []),
];

export interface Environment {
  readonly targets: FaultTargets;
  readonly webhooks: readonly Webhook[];
  readonly journals: { readonly sent: string; readonly received: string };
  readonly call: Call;
  /** Starts the sender. `sent` resolves when everything has been sent. */
  send(how: Pick<SenderOptions, 'events' | 'messages' | 'seconds'>): Promise<{ readonly sent: Promise<void> }>;
}

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function startEnvironment(installation: Installation, agentCount: number): Promise<Environment> {
  const { folder, postgres, redis, ends } = installation;
  const journals = { sent: join(folder, 'sent'), received: join(folder, 'received') };
  const addresses = Array.from({ length: agentCount }, (_, n) => `127.20.0.${n + 1}`);
  const receiver = await startReceiver(file('receiver.ts'), { folder, journal: journals.received, addresses });
  ends.defer(receiver.stop);
  const model = await startModelSandbox();
  ends.defer(model.close);
  model.script(({ messages }) => ({ text: replyTo(messages.at(-1)?.content ?? '') }));
  const { user_id, workspace_id, token } = await installation.createWorkspace();
  const processes = await installation.startProcesses(
    { api: 2, worker: 2 },
    { MODEL_URL: model.url, OUTBOUND_ALLOW: '127.20.0.0/16', NODE_EXTRA_CA_CERTS: receiver.authority },
  );

  const call = retryingClient(processes.apis, token);
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
      const by = { user_id, workspace_id, token };
      const sending: SenderOptions = { ...how, ...by, apis: processes.apis, agents, journal: journals.sent };
      const env = { PATH: process.env.PATH, ...installation.settings };
      const sender = fork(file('sender.ts'), [JSON.stringify(sending)], { env });
      ends.defer(() => void sender.kill('SIGKILL'));
      const ended = once(sender, 'exit').then(([code]) => {
        if (code !== 0) throw new Error('the sender ended before everything was sent');
      });
      await Promise.race([once(sender, 'message'), ended]);
      return { sent: ended };
    },
  };
}
