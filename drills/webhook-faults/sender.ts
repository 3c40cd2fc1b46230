// The drill's sender, in its own process. It sends messages through the API, retrying with the same idempotency key,
// and publishes events in transactions. An event counts once the journal records its commit.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchEmail } from '../../harness/fixtures.ts';
import { retryingClient } from '../../harness/retrying-client.ts';
import { createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';
import type { MessageEvent } from '../../server/src/events.ts';
import { transaction } from '../../server/src/kit/db/database.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { openJournal } from '../lib/journal-file.ts';
import { keyOf, keysOfTurn, lastMessage, type SentLine } from './journal.ts';

export interface SenderOptions {
  readonly journal: string;
  readonly apis: readonly string[];
  readonly token: string;
  readonly workspace_id: string;
  readonly user_id: string;
  readonly agents: readonly { readonly id: string; readonly conversation: string }[];
  /** The number of events to publish. `messages` is the number of messages to send, and `seconds` is the duration. */
  readonly events: number;
  readonly messages: number;
  readonly seconds: number;
}

const { journal, apis, token, workspace_id, user_id, agents, events, messages, seconds } = JSON.parse(
  process.argv[2] as string,
) as SenderOptions;
const write = openJournal<SentLine>(journal);
const call = retryingClient(apis, token);
const { database, publish } = createApp(readConfig(), { migrations: [] });
await database.pool.query('select 1');
process.send?.('sending');
const startedAt = Date.now();

/** Waits until this share of the total is due. Does not wait if it is overdue. */
const pace = (share: number) => sleep(Math.max(0, startedAt + share * seconds * 1000 - Date.now()));

const agentAt = (n: number) => agents[n % agents.length] as SenderOptions['agents'][number];

async function sendMessage(
  { id: agent, conversation }: SenderOptions['agents'][number],
  content: string,
): Promise<void> {
  const line = { by: 'http', agent, keys: keysOfTurn(content) } as const;
  write({ at: Date.now(), state: 'began', ...line });
  await call('POST', `/api/agents/${agent}/conversations/${conversation}/messages`, { content });
  write({ at: Date.now(), state: 'acknowledged', ...line });
}

async function sendMessages(agentIndex: number): Promise<void> {
  for (let n = agentIndex; n < messages; n += agents.length) {
    await pace(n / messages);
    await sendMessage(agentAt(agentIndex), `message ${n}`);
  }
}

let acknowledged = 0;
let started = 0;
let transactions = 0;

/** Publishes one to seven events per transaction. A failed transaction may still have been committed. */
async function publishEvents(): Promise<void> {
  while (acknowledged < events) {
    await pace(acknowledged / events);
    const agent = agentAt(transactions);
    const batch = Array.from({ length: 1 + (transactions % 7) }, (_, n) => eventOf(started + n));
    transactions += 1;
    started += batch.length;
    const line = {
      by: 'publish',
      agent: agent.id,
      keys: batch.map(({ type, content }) => keyOf(type, content)),
    } as const;
    write({ at: Date.now(), state: 'began', ...line });
    try {
      await transaction(database.db, async (db) => {
        for (const { type, content } of batch) await publish(db, type, payloadOf(agent, content), new Date());
      });
    } catch {
      await sleep(100);
      continue;
    }
    write({ at: Date.now(), state: 'acknowledged', ...line });
    acknowledged += batch.length;
  }
}

const eventOf = (n: number) =>
  ({ type: n % 2 === 0 ? 'message.created' : 'message.completed', content: `event ${n}` }) as const;

function payloadOf({ id, conversation }: SenderOptions['agents'][number], content: string): MessageEvent {
  const at = new Date().toISOString();
  const message = { id: newId(), role: 'user', content, file_urls: [], created_date: at, updated_date: at } as const;
  const user = { id: user_id, email: benchEmail };
  return { workspace_id, agent_id: id, conversation_id: conversation, data: { message, user } };
}

process.on('disconnect', () => process.exit(1));
await Promise.all([
  ...agents.map((_, agentIndex) => sendMessages(agentIndex)),
  ...Array.from({ length: 4 }, publishEvents),
]);
await Promise.all(agents.map((agent) => sendMessage(agent, lastMessage)));
process.exit(0);
