// Conversations and starting a turn: the user's message, its event, the reserved credits and the queued turn are
// written in one transaction (docs/api/agents.md#send-a-message). A worker generates the reply (background.ts).

import type { AppAccess } from '../../core/auth/proofs.ts';
import { type Reservation, reserve } from '../../core/credits/reservations.ts';
import { historyLimits, type NewMessage, toTokens } from '../../core/turns/messages.ts';
import { computeStepCredits, toTokenPrice } from '../../core/turns/step-costs.ts';
import type { MessageEvent, Publish } from '../../events.ts';
import type { ModelState } from '../../gateways/language-model/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type ConversationQuery, type ConversationRow, type MessageRow, presentConversation } from './contract.ts';
import {
  type ConversationAccess,
  insertConversation,
  listConversations,
  lockConversation,
} from './store/conversations.ts';
import { countRecentBytes, findMessage, insertMessage, listMessages, removeMessage } from './store/messages.ts';
import { findRunningTurn, findTurn, insertTurn, restartTurn } from './store/turns.ts';

/** Each user has one conversation per agent. Repeated calls return it with the first call's metadata. */
export async function createConversation(db: Db, access: AppAccess, metadata: object, now: Date) {
  const created = await insertConversation(db, access, metadata, now);
  if (created !== undefined) return presentConversation(created, []);
  const [existing] = await listConversations(db, access);
  if (existing === undefined) throw new Error('the conversation was removed while it was read');
  return unchanged(presentConversation(existing, await listNewestMessages(db, existing)));
}

const listNewestMessages = (db: Db, conversation: ConversationRow) => listMessages(db, conversation, { limit: 100 });

export const getConversation = async (db: Db, { conversation }: ConversationAccess, query: ConversationQuery) =>
  presentConversation(conversation, await listMessages(db, conversation, query));

export async function deleteMessage(db: Db, access: ConversationAccess, id: string) {
  const done = { success: true } as const;
  return (await removeMessage(db, access, id)) ? done : unchanged(done);
}

// ---- turns

export interface TurnDeps {
  readonly publish: Publish;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
}

/** The access needed to start a turn, including the model's current state. */
export type SendAccess = ConversationAccess & { readonly model: ModelState };

/** The turn queue's table, and the topic that wakes its workers. */
export const turnQueue = 'agent_turns';

// Longer than any turn.
const reservationMs = 15 * 60 * 1000;

export function startTurn(db: Db, { publish, wake }: TurnDeps, access: SendAccess, sent: NewMessage, now: Date) {
  const { conversation, caller } = access;
  const { content, file_urls = [] } = sent;
  return transaction(db, async (db) => {
    const id = newId();
    await lockConversation(db, conversation);
    const reservation = await admitTurn(db, access, id, content, now);
    const message = await insertMessage(db, conversation, { id, role: 'user', content, file_urls }, now);
    const user = { id: conversation.user_id, email: caller.email as string };
    await publish(db, 'message.created', toMessageEvent(conversation, message, user), now);
    const turn = { message_id: id, reservation_id: reservation.id, may_save_memories: maySaveGlobalMemories(access) };
    afterCommit(db, () => wake.notify(turnQueue));
    return insertTurn(db, conversation, turn, now);
  });
}

/**
 * Returns the turn that was started with this Idempotency-Key. If the turn failed, it is run again for the same
 * message.
 */
export function resumeTurn(db: Db, { wake }: TurnDeps, access: SendAccess, turnId: string, now: Date) {
  const { conversation } = access;
  return transaction(db, async (db) => {
    await lockConversation(db, conversation);
    const turn = await findTurn(db, conversation, turnId);
    if (turn === undefined) throw messageDeleted();
    if (turn.due_at !== null || turn.reply_id !== null) return turn;
    const message = await findMessage(db, conversation, turn.message_id);
    if (message === undefined) throw messageDeleted();
    const reservation = await admitTurn(db, access, message.id, message.content, now);
    afterCommit(db, () => wake.notify(turnQueue));
    return restartTurn(db, turn, { reservation_id: reservation.id, may_save_memories: maySaveGlobalMemories(access) });
  });
}

/** Depends on the caller's current role, even if an earlier request is repeated. */
const maySaveGlobalMemories = ({ app_role }: SendAccess): boolean => app_role === 'owner' || app_role === 'editor';

/**
 * Reserves credits for a reply. The checks follow the order in docs/api/agents.md#send-a-message: credits, the model, a
 * running turn. The caller must have locked the conversation.
 */
async function admitTurn(
  db: Db,
  access: SendAccess,
  message_id: string,
  content: string,
  now: Date,
): Promise<Reservation> {
  const { conversation, workspace_id, app } = access;
  const isBusy = (await findRunningTurn(db, conversation)) !== undefined;
  const spend = {
    workspace_id,
    user_id: conversation.user_id,
    app_id: app.id,
    reference_id: message_id,
    leaseMs: reservationMs,
  };
  const amount = computeCredits(await estimateTokens(db, conversation, content));
  const reservation = await reserve(db, { ...spend, operation: 'sendAgentMessage', amount }, now);
  if (access.model === 'not_configured') throw modelNotConfigured();
  if (access.model === 'unavailable') throw modelUnavailable(true);
  if (isBusy)
    throw new Problem(
      'conflict',
      'conversation_busy',
      'A reply is still being generated in this conversation. Wait for it, then send your message.',
    );
  return reservation;
}

const minReplyCredits = 0.2;
export const replyPrice = toTokenPrice(minReplyCredits);

/** One credit per 10,000 tokens, at least 0.2 (docs/api/credits.md). */
export const computeCredits = (tokens: number): number => computeStepCredits(minReplyCredits, [], tokens);

export const estimatedReplyTokens = 1_000;

async function estimateTokens(db: Db, conversation: ConversationRow, content: string): Promise<number> {
  const before = await countRecentBytes(db, conversation, historyLimits.messages);
  return toTokens(content.length + Math.min(before, historyLimits.characters)) + estimatedReplyTokens;
}

export const modelUnavailable = (retrySafe: boolean) =>
  new Problem(
    'unavailable',
    'model_unavailable',
    'The language model is unavailable or did not complete the reply. Retry in a few seconds, with the same Idempotency-Key if you sent one.',
    {
      retrySafe,
      headers: { 'retry-after': '5' },
    },
  );

/** Unlike an outage, this does not resolve itself, so retrying is pointless. */
const modelNotConfigured = () =>
  new Problem(
    'unavailable',
    'model_not_configured',
    'This installation has no language model. Ask its operator to set MODEL_URL.',
    { retrySafe: false },
  );

export const messageDeleted = () =>
  new Problem('not_found', 'message_not_found', 'The message or its reply was deleted. Send a new message.');

// ---- message events

const maxEventBytes = 255 * 1024; // the limit is 256 KiB, including the event's id, type and time

/** Builds the payload for a message's events. Content that is too long for an event is truncated. */
export function toMessageEvent(
  conversation: ConversationRow,
  row: MessageRow,
  user: { id: string; email: string },
): MessageEvent {
  const message = {
    id: row.id,
    role: row.role as 'user' | 'assistant',
    content: row.content,
    file_urls: row.file_urls,
    created_date: row.created_date.toISOString(),
    updated_date: row.updated_date.toISOString(),
  };
  const { workspace_id, app_id, id } = conversation;
  const event: MessageEvent = { workspace_id, agent_id: app_id, conversation_id: id, data: { message, user } };
  const excessBytes = countJsonBytes(event) - maxEventBytes;
  if (excessBytes <= 0) return event;
  const content = truncateToBytes(message.content, countJsonBytes(message.content) - excessBytes);
  return { ...event, data: { message: { ...message, content, content_truncated: true }, user } };
}

const countJsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Returns the longest prefix of whole characters whose JSON takes at most `maxBytes`, found by bisection. */
function truncateToBytes(text: string, maxBytes: number): string {
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (countJsonBytes(text.slice(0, middle)) <= maxBytes) fits = middle;
    else tooLong = middle;
  }
  const last = text.charCodeAt(fits - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? fits - 1 : fits);
}
