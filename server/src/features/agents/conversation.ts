// Owns conversations, and how a turn begins in one: a person's message, the credits for its reply and the event that it
// was said, in one transaction (docs/contract.md §4.2). A worker fetches the reply: later.ts.

import type { AppAccess } from '../../core/auth/proofs.ts';
import { type Reservation, reserve } from '../../core/credits/reservations.ts';
import type { MessageEvent, Publish } from '../../events.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type ConversationQuery,
  type ConversationRow,
  type MessageRow,
  type NewMessage,
  presentConversation,
} from './contract.ts';
import {
  type ConversationAccess,
  findMessage,
  findRunningTurn,
  findTurn,
  holdConversation,
  insertConversation,
  insertMessage,
  insertTurn,
  listConversations,
  listMessages,
  removeMessage,
  restartTurn,
  sizeOfRecent,
} from './store.ts';

/** One per person and agent: asked for again, it is the same, with the metadata of the first call. */
export async function createConversation(db: Db, access: AppAccess, metadata: object, now: Date) {
  const made = await insertConversation(db, access, metadata, now);
  if (made !== undefined) return presentConversation(made, []);
  const [there] = await listConversations(db, access);
  return unchanged(presentConversation(there as ConversationRow, await newest(db, there as ConversationRow)));
}

const newest = (db: Db, conversation: ConversationRow) => listMessages(db, conversation, { limit: 100 });

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

/** What is needed to begin a turn: the conversation, and whether the model answers, asked before any transaction. */
export type SendAccess = ConversationAccess & { readonly model_answers: boolean };

/** The queue of turns, and what wakes it. */
export const turnQueue = 'agent_turns';

/** How much of what was said before the model is told again. */
export const recent = { messages: 40, characters: 60_000 };

// Longer than a turn can take.
const leaseMs = 15 * 60 * 1000;

export function beginTurn(db: Db, access: SendAccess, sent: NewMessage, { publish, wake }: TurnDeps, now: Date) {
  const { conversation, caller } = access;
  const { content, file_urls = [] } = sent;
  return transaction(db, async (db) => {
    const id = newId();
    await holdConversation(db, conversation);
    const reservation = await admit(db, access, id, content, now);
    const message = await insertMessage(db, conversation, { id, role: 'user', content, file_urls }, now);
    const user = { id: conversation.user_id, email: caller.email as string };
    await publish(db, 'message.created', told(conversation, message, user), now);
    const turn = { message_id: id, reservation_id: reservation.id, may_save_memories: mayTeach(access) };
    afterCommit(db, () => wake.notify(turnQueue));
    return insertTurn(db, conversation, turn, now);
  });
}

/** The turn that was begun under an Idempotency-Key: as it is, or, where it failed, once more for the same message. */
export function takeUpTurn(db: Db, access: SendAccess, turnId: string, { wake }: TurnDeps, now: Date) {
  const { conversation } = access;
  return transaction(db, async (db) => {
    await holdConversation(db, conversation);
    const turn = await findTurn(db, conversation, turnId);
    if (turn === undefined) throw messageGone();
    if (turn.due_at !== null || turn.reply_id !== null) return turn;
    const message = await findMessage(db, conversation, turn.message_id);
    if (message === undefined) throw messageGone();
    const reservation = await admit(db, access, message.id, message.content, now);
    afterCommit(db, () => wake.notify(turnQueue));
    return restartTurn(db, turn, { reservation_id: reservation.id, may_save_memories: mayTeach(access) });
  });
}

/** As they are now: who may no longer change the agent does not change it by repeating what they once sent. */
const mayTeach = ({ app_role }: SendAccess): boolean => app_role === 'owner' || app_role === 'editor';

/** Refuses in the contract's order: credits, the model, a turn already running. The conversation is held. */
async function admit(db: Db, access: SendAccess, message_id: string, content: string, now: Date): Promise<Reservation> {
  const { conversation, workspace_id, app } = access;
  const busy = (await findRunningTurn(db, conversation)) !== undefined;
  const spend = { workspace_id, user_id: conversation.user_id, app_id: app.id, reference_id: message_id, leaseMs };
  const amount = creditsFor(await likelyTokens(db, conversation, content));
  const reservation = await reserve(db, { ...spend, operation: 'sendAgentMessage', amount }, now);
  if (!access.model_answers) throw modelUnavailable(true);
  if (busy) throw new Problem('conflict', 'conversation_busy', 'A reply is still under way in this conversation.');
  return reservation;
}

/** One credit for 10,000 tokens, and at least a fifth of one (contract §2.5). */
export const creditsFor = (tokens: number): number => Math.max(0.2, tokens / 10_000);

/** Some four characters make a token. */
export const tokensOf = (characters: number): number => Math.ceil(characters / 4);

const likelyReply = 1_000;

async function likelyTokens(db: Db, conversation: ConversationRow, content: string): Promise<number> {
  const before = await sizeOfRecent(db, conversation, recent.messages);
  return tokensOf(content.length + Math.min(before, recent.characters)) + likelyReply;
}

export const modelUnavailable = (retrySafe: boolean) =>
  new Problem('unavailable', 'model_unavailable', 'The language model cannot be reached, or did not finish.', {
    retrySafe,
    headers: { 'retry-after': '5' },
  });

export const messageGone = () => new Problem('not_found', 'message_not_found', 'The message was deleted.');

// ---- what is told of a message

const maxEventBytes = 255 * 1024; // of 256 KiB, with room for the event's own id, type and time

/** The message as an event carries it: frozen, and cut where it is too long. */
export function told(
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
  const whole: MessageEvent = { workspace_id, agent_id: app_id, conversation_id: id, data: { message, user } };
  const tooLong = bytesOf(whole) - maxEventBytes;
  if (tooLong <= 0) return whole;
  const content = cut(message.content, bytesOf(message.content) - tooLong);
  return { ...whole, data: { message: { ...message, content, content_truncated: true }, user } };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The longest beginning, of whole characters, that takes no more bytes than this as JSON. */
function cut(text: string, maxBytes: number): string {
  let [fits, over] = [0, text.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (bytesOf(text.slice(0, middle)) <= maxBytes) fits = middle;
    else over = middle;
  }
  const last = text.charCodeAt(fits - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? fits - 1 : fits);
}
