// Generates replies. Workers take turns from a queue. Deltas are stored while the model writes. The message, its
// events, the charge and changed memories are written in the transaction that completes the turn.
import { refund, settle } from '../../core/credits/reservations.ts';
import { getUser } from '../../core/identity/accounts.ts';
import { toTurnTopic, writeDeltas } from '../../core/turns/delta-writer.ts';
import { buildHistory, historyLimits, toTokens, toValidUsage } from '../../core/turns/messages.ts';
import type { CompletedReply, LanguageModel } from '../../gateways/language-model/index.ts';
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Clock } from '../../kit/clock.ts';
import { afterCommit } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { toStorable } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import type { AgentSettings, ConversationRow, MemoryRow } from './contract.ts';
import { computeCredits, type TurnDeps, toMessageEvent, turnQueue } from './conversation.ts';
import { createMemoryTools } from './memory.ts';
import { findAgent } from './store/agents.ts';
import { findConversationById } from './store/conversations.ts';
import { listMemoriesFor } from './store/memories.ts';
import { findMessage, insertMessage, listRecentMessages } from './store/messages.ts';
import { removeOldTurns, saveTurnEnd, type TurnRow } from './store/turns.ts';

export interface TurnQueueDeps extends TurnDeps {
  readonly model: LanguageModel;
  readonly clock: Clock;
}

const timeoutMs = 10 * 60 * 1000;

export const createTurnQueue = (deps: TurnQueueDeps): Queue<TurnRow> => ({
  name: turnQueue,
  owner: 'workspace_id',
  byHand: { retry: 'The caller got an error and the credits were refunded. Send the message again.', cancel: true },
  // High, because turns mostly wait for the model.
  concurrency: 128,
  quarantineAfter: 5, // turns take minutes, and two unrelated crashes must not make them run one by one
  perOwner: 32,
  timeoutMs,
  retryMs: retries(500, 2_000, 5_000),
  async run(turn, { db, signal }) {
    const context = await readTurnContext(db, turn);
    if (context === undefined) return { error: 'the message was deleted' };
    const memoryTools = createMemoryTools(context.conversation, context.memories, turn.may_save_memories);
    const deltas = writeDeltas(db, deps, turn);
    const request = { ...context, model: context.agent.model, tools: memoryTools.tools, signal };
    const answer = await deps.model.reply(request, deltas.add);
    await deltas.end();
    // Not retried here. The caller gets an error and may send the message again.
    if (answer.outcome === 'unavailable') return { error: `the model is unavailable: ${answer.reason}` };
    const reply = { ...answer, usage: toValidUsage(answer.usage) };
    const cost = computeCredits(countTokens(reply, context));
    return {
      record: async (db) => {
        const now = deps.clock.now();
        await storeReply(db, deps, { turn, context, reply }, now);
        await settle(db, toReservation(turn), cost, now);
        await memoryTools.save(db, now);
      },
    };
  },
  async onDeadLetter(db, turn) {
    const now = deps.clock.now();
    await saveTurnEnd(db, turn, null, now);
    await refund(db, toReservation(turn), now);
    afterCommit(db, () => deps.wake.notify(toTurnTopic(turn.id)));
  },
});

const toReservation = ({ workspace_id, reservation_id }: TurnRow) => ({ workspace_id, id: reservation_id });

interface TurnContext {
  readonly conversation: ConversationRow;
  readonly agent: AgentSettings;
  readonly memories: readonly MemoryRow[];
  readonly instructions: string;
  readonly messages: readonly { role: 'user' | 'assistant'; content: string }[];
}

/** Reads everything to send to the model. Returns undefined if the message was deleted. */
async function readTurnContext(db: Db, turn: TurnRow): Promise<TurnContext | undefined> {
  const { workspace_id, conversation_id, message_id } = turn;
  const conversation = await findConversationById(db, { workspace_id, id: conversation_id });
  const message = conversation && (await findMessage(db, conversation, message_id));
  if (conversation === undefined || message === undefined) return undefined;
  const agent = await findAgent(db, { workspace_id, id: conversation.app_id });
  const memories = await listMemoriesFor(db, conversation);
  const recentMessages = await listRecentMessages(db, conversation, message.position, historyLimits.messages);
  const settings = agent ?? { instructions: '', model: null };
  return {
    conversation,
    agent: settings,
    memories,
    instructions: buildInstructions(settings, memories),
    messages: buildHistory(
      recentMessages.map(({ role, ...rest }) => ({ ...rest, role: role as 'user' | 'assistant' })),
    ),
  };
}

/** Builds the system instructions that come before the messages. */
export const buildInstructions = (
  { instructions }: Pick<AgentSettings, 'instructions'>,
  memories: readonly Pick<MemoryRow, 'id' | 'content'>[],
): string =>
  [
    instructions || 'You are a helpful assistant.',
    ...(memories.length === 0
      ? []
      : ['What you remember, each under its id:', ...memories.map(({ id, content }) => `${id}: ${content}`)]),
  ].join('\n\n');

const countTokens = (reply: CompletedReply, { instructions, messages }: TurnContext): number =>
  reply.usage === null
    ? toTokens([instructions, reply.content, ...messages.map(({ content }) => content)].join('').length)
    : reply.usage.prompt_tokens + reply.usage.completion_tokens;

async function storeReply(
  db: Db,
  deps: TurnQueueDeps,
  {
    turn,
    context: { conversation },
    reply,
  }: { readonly turn: TurnRow; readonly context: TurnContext; readonly reply: CompletedReply },
  now: Date,
): Promise<void> {
  const message = await insertMessage(
    db,
    conversation,
    {
      id: newId(),
      role: 'assistant',
      content: toStorable(reply.content),
      file_urls: [],
      tool_calls: toStorable(reply.tool_calls),
      model: toStorable(reply.model),
      ...reply.usage,
    },
    now,
  );
  const { id, email } = await getUser(db, conversation.user_id);
  const event = toMessageEvent(conversation, message, { id, email });
  await deps.publish(db, 'message.created', event, now);
  await deps.publish(db, 'message.completed', event, now);
  await saveTurnEnd(db, turn, message.id, now);
  afterCommit(db, () => deps.wake.notify(toTurnTopic(turn.id)));
}

export const turnJobs: readonly Job[] = [{ name: 'remove old agent turns', everyMs: 60_000, run: removeOldTurns }];
