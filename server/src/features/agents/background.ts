// Owns the answering: turns as a queue that workers run. The reply goes out in pieces while it comes, and becomes a
// message, its events and its price in the one transaction that ends the turn; a worker that dies leaves none of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { refund, settle } from '../../core/credits/reservations.ts';
import { getUser } from '../../core/identity/accounts.ts';
import type { CompletedReply, LanguageModel, ReplyDelta } from '../../gateways/language-model/index.ts';
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Clock } from '../../kit/clock.ts';
import { type AnyDb, afterCommit } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import type { AgentOwn, ConversationRow, MemoryRow } from './contract.ts';
import { creditsFor, recent, type TurnDeps, tokensOf, told, turnQueue } from './conversation.ts';
import { openNotebook } from './memory.ts';
import { topicOf } from './reply.ts';
import {
  endTurn,
  findAgent,
  findConversationRow,
  findMessage,
  forgetDeltas,
  forgetTurns,
  insertDeltas,
  insertMessage,
  listRecent,
  listRemembered,
  type TurnRow,
} from './store.ts';

export interface AnsweringDeps extends TurnDeps {
  readonly model: LanguageModel;
  readonly clock: Clock;
}

const timeoutMs = 10 * 60 * 1000;

export const turns = (deps: AnsweringDeps): Queue<TurnRow> => ({
  name: turnQueue,
  owner: 'workspace_id',
  // A reply is waited for more than it is worked on.
  concurrency: 128,
  quarantineAfter: 5, // minutes long: two unrelated crashes must not make all replies wait for each other
  perOwner: 32,
  timeoutMs,
  retryMs: retries(500, 2_000, 5_000),
  async run(turn, { db, signal }) {
    const setting = await settingOf(db, turn);
    if (setting === undefined) return { error: 'the message was deleted' };
    const notebook = openNotebook(setting.conversation, setting.memories, turn.may_save_memories);
    const pieces = sendPieces(db, turn, deps);
    const asked = { ...setting, model: setting.agent.model, tools: notebook.tools, signal };
    const answer = await deps.model.reply(asked, pieces.add);
    await pieces.end();
    // Told to the person, who may send again.
    if (answer.outcome === 'unavailable') return { error: `the model is unavailable: ${answer.reason}` };
    const reply = { ...answer, usage: countable(answer.usage) };
    const cost = creditsFor(tokensIn(reply, setting));
    return {
      record: async (db) => {
        const now = deps.clock.now();
        await storeReply(db, turn, setting, reply, deps, now);
        await settle(db, reservationOf(turn), cost, now);
        await notebook.save(db, now);
      },
    };
  },
  async onDeadLetter(db, turn) {
    const now = deps.clock.now();
    await endTurn(db, turn, null, now);
    await refund(db, reservationOf(turn), now);
    afterCommit(db, () => deps.wake.notify(topicOf(turn.id)));
  },
});

const reservationOf = ({ workspace_id, reservation_id }: TurnRow) => ({ workspace_id, id: reservation_id });

interface Setting {
  readonly conversation: ConversationRow;
  readonly agent: AgentOwn;
  readonly memories: readonly MemoryRow[];
  readonly instructions: string;
  readonly messages: readonly { role: 'user' | 'assistant'; content: string }[];
}

/** All that the model is told; undefined when what it was to answer is gone. */
async function settingOf(db: Db, turn: TurnRow): Promise<Setting | undefined> {
  const { workspace_id, conversation_id, message_id } = turn;
  const conversation = await findConversationRow(db, { workspace_id, id: conversation_id });
  const message = conversation && (await findMessage(db, conversation, message_id));
  if (conversation === undefined || message === undefined) return undefined;
  const agent = await findAgent(db, { workspace_id, id: conversation.app_id });
  const memories = await listRemembered(db, conversation);
  const said = await listRecent(db, conversation, message.position, recent.messages);
  const own = agent ?? { instructions: '', model: null };
  return { conversation, agent: own, memories, instructions: instructionsOf(own, memories), messages: spoken(said) };
}

const instructionsOf = ({ instructions }: AgentOwn, memories: readonly MemoryRow[]): string =>
  [
    instructions || 'You are a helpful assistant.',
    ...(memories.length === 0
      ? []
      : ['What you remember, each under its id:', ...memories.map(({ id, content }) => `${id}: ${content}`)]),
  ].join('\n\n');

/** As much of what was said last as there is room for; addresses are told as text, and fetched by nobody. */
function spoken(said: readonly { role: string; content: string; file_urls: string[] }[]): Setting['messages'] {
  const told = said.map(({ role, content, file_urls }) => ({
    role: role as 'user' | 'assistant',
    content: [content, ...file_urls.map((url) => `Attached: ${url}`)].join('\n'),
  }));
  const kept = told.splice(-1); // what is to be answered, however long
  let room = recent.characters;
  for (const message of told.reverse()) {
    room -= message.content.length;
    if (room < 0) break;
    if (message.content !== '') kept.unshift(message);
  }
  return kept;
}

const tokensIn = (reply: CompletedReply, { instructions, messages }: Setting): number =>
  reply.usage === null
    ? tokensOf([instructions, reply.content, ...messages.map(({ content }) => content)].join('').length)
    : reply.usage.prompt_tokens + reply.usage.completion_tokens;

async function storeReply(
  db: Db,
  turn: TurnRow,
  { conversation }: Setting,
  reply: CompletedReply,
  deps: AnsweringDeps,
  now: Date,
): Promise<void> {
  const message = await insertMessage(
    db,
    conversation,
    {
      id: newId(),
      role: 'assistant',
      content: storable(reply.content),
      file_urls: [],
      tool_calls: storable(reply.tool_calls),
      model: storable(reply.model),
      ...reply.usage,
    },
    now,
  );
  const { id, email } = await getUser(db, conversation.user_id);
  const event = told(conversation, message, { id, email });
  await deps.publish(db, 'message.created', event, now);
  await deps.publish(db, 'message.completed', event, now);
  await endTurn(db, turn, message.id, now);
  afterCommit(db, () => deps.wake.notify(topicOf(turn.id)));
}

/** A model may say what the database cannot keep. */
const storable = <Value>(value: Value): Value =>
  JSON.parse(JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? toStorableText(inner) : inner)));

const mostTokens = 2 ** 31 - 1;

/** Figures that no model can mean are none. */
const countable = (usage: CompletedReply['usage']): CompletedReply['usage'] =>
  usage && Object.values(usage).every((tokens) => Number.isInteger(tokens) && tokens >= 0 && tokens <= mostTokens)
    ? usage
    : null;

const gatherMs = 150;

/**
 * Writes pieces down as they come, a few times a second, and tells whoever watches. When that fails, who watches gets the
 * reply at its end: it is not worth failing for.
 */
function sendPieces(db: AnyDb, turn: TurnRow, { wake, clock }: AnsweringDeps) {
  const ended = new AbortController();
  const waiting: ReplyDelta[] = [];
  let seq = 0;
  let broken = false;
  let writing: Promise<void> | undefined;
  const write = async () => {
    await sleep(gatherMs, undefined, { signal: ended.signal }).catch(() => {});
    const pieces = waiting.splice(0);
    await insertDeltas(db, turn, seq, storable(pieces), clock.now());
    seq += pieces.length;
    wake.notify(topicOf(turn.id));
  };
  const next = () => {
    writing ??= write()
      .catch(() => {
        broken = true;
        waiting.length = 0; // nothing after a hole
      })
      .finally(() => {
        writing = undefined;
        if (waiting.length > 0) next();
      });
  };
  return {
    add(piece: ReplyDelta) {
      if (broken) return;
      const last = waiting.at(-1);
      if ('text' in piece && last && 'text' in last) waiting.splice(-1, 1, { text: last.text + piece.text });
      else waiting.push(piece);
      next();
    },
    async end() {
      ended.abort();
      while (writing !== undefined) await writing;
    },
  };
}

// A turn takes at most ten minutes, and its pieces can be asked for for ten more.
const deltasKeptMs = 2 * timeoutMs;

export const turnJobs: readonly Job[] = [
  { name: 'forget agent turns', everyMs: 60_000, run: forgetTurns },
  {
    name: 'forget agent deltas',
    everyMs: 30_000,
    run: (db, now) => forgetDeltas(db, new Date(now.getTime() - deltasKeptMs)),
  },
];
