// Starts, resumes and finds a message's turn, and the events sent to the caller once it has ended.
import type { FollowDeps, TurnEnd } from '../../core/turns/answer.ts';
import { prepareFindProgress } from '../../core/turns/deltas.ts';
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
  start: ({ db, access, body, now }) => startTurn(db, deps, access, body, now),
  resume: ({ db, access, now }, turnId) => resumeTurn(db, deps, access, turnId, now),
  findTurn: (db, { conversation }, turnId) => findTurn(db, conversation, turnId),
  findMessage: async (db, { conversation }, { message_id }) => {
    const message = await findMessage(db, conversation, message_id);
    return message && presentMessage(message);
  },
  getConversationId: ({ conversation }) => conversation.id,
  readEnd,
});

async function readEnd(db: Db, { conversation }: SendAccess, turnId: string): Promise<TurnEnd<Message>> {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.reply_id ?? turn.message_id));
  if (turn === undefined || message === undefined) return messageDeleted;
  if (turn.reply_id === null) return modelUnavailable;
  return [{ event: 'message.completed', data: presentMessage(message) }] as const;
}
