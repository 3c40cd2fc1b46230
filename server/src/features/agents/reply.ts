// Owns answering with a reply: once it is complete, or as a stream of events while a worker writes it.
import { prepareFindProgress, type StreamPosition } from '../../core/turns/deltas.ts';
import { answerWithTurn, type FollowDeps, invalidLastEventId, isResumable } from '../../core/turns/follow.ts';
import type { NewMessage } from '../../core/turns/messages.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import type { Answer } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type Message, presentMessage } from './contract.ts';
import { messageDeleted, modelUnavailable, type TurnDeps } from './conversation.ts';
import type { ConversationAccess } from './store/conversations.ts';
import { findMessage } from './store/messages.ts';
import { findTurn, type TurnRow } from './store/turns.ts';

export type ReplyDeps = TurnDeps & FollowDeps;

export interface FollowedReply {
  readonly turn: TurnRow;
  /** The last event the caller has seen; undefined: none. */
  readonly from: StreamPosition | undefined;
  readonly access: ConversationAccess;
  readonly hasIdempotencyKey: boolean;
}

const maxWaitMs = 5 * 60 * 1000;
const findProgress = prepareFindProgress('agent_turns');

/** Answers with a stream if the request accepts one. */
export function answerWithReply(
  db: AnyDb,
  accept: unknown,
  { turn, from, access, hasIdempotencyKey }: FollowedReply,
  deps: ReplyDeps,
): Promise<Answer<Message>> {
  const { conversation, caller } = access;
  const followed = {
    turn,
    from,
    requestId: caller.request_id,
    conversationId: conversation.id,
    hasIdempotencyKey,
    maxWaitMs,
    findProgress,
    readCreated: async (db: Db) => {
      const message = await findMessage(db, conversation, turn.message_id);
      return message && { event: 'message.created', data: presentMessage(message) };
    },
    readEnd: (db: Db) => readEnd(db, access, turn.id, hasIdempotencyKey),
  };
  return answerWithTurn(db, accept, followed, deps);
}

async function readEnd(db: Db, { conversation }: ConversationAccess, turnId: string, hasIdempotencyKey: boolean) {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.reply_id ?? turn.message_id));
  if (turn === undefined || message === undefined) return messageDeleted();
  if (turn.reply_id === null) return modelUnavailable(hasIdempotencyKey);
  return [{ event: 'message.completed', data: presentMessage(message) }] as const;
}

/** Finds the turn of a `Last-Event-ID`. It must be a reply to the same content, running or ended in the last ten minutes. */
export async function rejoinTurn(
  db: Db,
  { conversation }: ConversationAccess,
  turnId: string,
  sent: NewMessage,
  now: Date,
): Promise<TurnRow> {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.message_id));
  // Refused, because sending the content as a new message is not what a caller who reconnects wants.
  if (turn === undefined || !isResumable(turn, now) || message?.content !== sent.content) throw invalidLastEventId();
  return turn;
}
