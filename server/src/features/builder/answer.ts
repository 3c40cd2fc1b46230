// Owns answering with a turn: once it has ended, or as a stream of events while a worker runs it.
import type { z } from 'zod';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { presentApp } from '../../core/identity/app-shapes.ts';
import { findApp } from '../../core/identity/apps.ts';
import { prepareFindProgress, type StreamPosition } from '../../core/turns/deltas.ts';
import { answerWithTurn, type FollowDeps, invalidLastEventId, isResumable } from '../../core/turns/follow.ts';
import type { NewMessage } from '../../core/turns/messages.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type ChatTurn, presentMessage, presentTurnStatus } from './contract.ts';
import { findMessage, listTurnMessages, toChatKey } from './store/messages.ts';
import { findTurn, type TurnRow } from './store/turns.ts';

export interface ChatAnswerDeps extends FollowDeps {
  readonly addresses: AppAddresses;
}

type ChatTurnBody = z.input<typeof ChatTurn>;

export interface FollowedChatTurn {
  readonly turn: TurnRow;
  /** The last event the caller has seen; undefined: none. */
  readonly from: StreamPosition | undefined;
  readonly access: AppAccess;
  readonly hasIdempotencyKey: boolean;
}

const maxWaitMs = 10 * 60 * 1000;
const findProgress = prepareFindProgress('chat_turns');

/** Answers with a stream if the request accepts one. */
export function answerWithChatTurn(
  db: AnyDb,
  accept: unknown,
  { turn, from, access, hasIdempotencyKey }: FollowedChatTurn,
  deps: ChatAnswerDeps,
): Promise<Answer<ChatTurnBody>> {
  const followed = {
    turn,
    from,
    requestId: access.caller.request_id,
    conversationId: access.app.id,
    hasIdempotencyKey,
    maxWaitMs,
    findProgress,
    readCreated: async (db: Db) => {
      const message = await findMessage(db, turn, turn.message_id);
      return message && { event: 'message.created', data: presentMessage(message) };
    },
    readEnd: (db: Db) => readEnd(db, access, turn.id, deps.addresses),
  };
  return answerWithTurn(db, accept, followed, deps);
}

async function readEnd(db: Db, access: AppAccess, turnId: string, addresses: AppAddresses) {
  const turn = await findTurn(db, toChatKey(access), turnId);
  const app = await findApp(db, access);
  if (turn === undefined || app === undefined) return notFound('app_not_found');
  const messages = (await listTurnMessages(db, turn)).map(presentMessage);
  const completed = messages.slice(1).map((data) => ({ event: 'message.completed', data }));
  const body: ChatTurnBody = {
    app: presentApp(app, addresses),
    conversation: { messages },
    status: presentTurnStatus(turn),
  };
  return [...completed, { event: 'turn.completed', data: body }] as const;
}

/** Finds the turn of a `Last-Event-ID`. It must be about the same content, running or ended in the last ten minutes. */
export async function rejoinTurn(
  db: Db,
  access: AppAccess,
  turnId: string,
  sent: NewMessage,
  now: Date,
): Promise<TurnRow> {
  const turn = await findTurn(db, toChatKey(access), turnId);
  const message = turn && (await findMessage(db, turn, turn.message_id));
  // Refused, because sending the content as a new message is not what a caller who reconnects wants.
  if (turn === undefined || !isResumable(turn, now) || message?.content !== sent.content) throw invalidLastEventId();
  return turn;
}
