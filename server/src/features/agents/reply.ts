// Owns how the turn of a message is started, resumed and found, and what the caller is sent when it has ended.
import { prepareFindProgress } from '../../core/turns/deltas.ts';
import type { FollowDeps } from '../../core/turns/follow.ts';
import type { TurnKind } from '../../core/turns/send.ts';
import type { Db } from '../../tables.ts';
import { type Message, presentMessage } from './contract.ts';
import {
  messageDeleted,
  modelUnavailable,
  resumeTurn,
  type SendAccess,
  startTurn,
  type TurnDeps,
} from './conversation.ts';
import { findMessage } from './store/messages.ts';
import { findTurn, type TurnRow } from './store/turns.ts';

export type ReplyDeps = TurnDeps & FollowDeps;

const findProgress = prepareFindProgress('agent_turns');

export const createTurnKind = (deps: TurnDeps): TurnKind<TurnRow, SendAccess, Message> => ({
  maxWaitMs: 5 * 60 * 1000,
  findProgress,
  start: ({ db, access, body, now }) => startTurn(db, access, body, deps, now),
  resume: ({ db, access, now }, turnId) => resumeTurn(db, access, turnId, deps, now),
  findTurn: (db, { conversation }, turnId) => findTurn(db, conversation, turnId),
  findMessage: async (db, { conversation }, { message_id }) => {
    const message = await findMessage(db, conversation, message_id);
    return message && presentMessage(message);
  },
  getConversationId: ({ conversation }) => conversation.id,
  readEnd,
});

async function readEnd(db: Db, { conversation }: SendAccess, turnId: string, hasIdempotencyKey: boolean) {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.reply_id ?? turn.message_id));
  if (turn === undefined || message === undefined) return messageDeleted();
  if (turn.reply_id === null) return modelUnavailable(hasIdempotencyKey);
  return [{ event: 'message.completed', data: presentMessage(message) }] as const;
}
