// Starts, resumes and finds the turn for a message, and builds the response once the turn has ended.
import type { z } from 'zod';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { presentApp } from '../../core/identity/app-shapes.ts';
import { findApp } from '../../core/identity/apps.ts';
import type { TurnEnd } from '../../core/turns/answer.ts';
import { prepareFindProgress } from '../../core/turns/deltas.ts';
import type { TurnKind } from '../../core/turns/send.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type ChatDeps, startTurn } from './chat.ts';
import { type ChatTurn, presentMessage, presentTurnStatus } from './contract.ts';
import { findMessage, listTurnMessages, toChatKey } from './store/messages.ts';
import { findTurn, type TurnRow } from './store/turns.ts';

export interface ChatAnswerDeps extends ChatDeps {
  readonly addresses: AppAddresses;
}

type ChatTurnBody = z.input<typeof ChatTurn>;

export const findProgress = prepareFindProgress('chat_turns');

export const createTurnKind = (deps: ChatAnswerDeps): TurnKind<TurnRow, AppAccess, ChatTurnBody> => ({
  maxWaitMs: 10 * 60 * 1000,
  findProgress,
  start: ({ db, access, body, now }) => startTurn(db, deps, access, body, now),
  resume: async ({ db, access }, turnId) => {
    const turn = await findTurn(db, toChatKey(access), turnId);
    if (turn === undefined) throw notFound('app_not_found'); // turns outlive idempotency keys, so the app was deleted
    return turn;
  },
  findTurn: (db, access, turnId) => findTurn(db, toChatKey(access), turnId),
  findMessage: async (db, _access, turn) => {
    const message = await findMessage(db, turn, turn.message_id);
    return message && presentMessage(message);
  },
  getConversationId: ({ app }) => app.id,
  readEnd: (db, access, turnId) => readEnd(db, access, turnId, deps.addresses),
});

/** The events that end a turn, for everybody who follows it. */
export async function readEnd(
  db: Db,
  access: AppAccess,
  turnId: string,
  addresses: AppAddresses,
): Promise<TurnEnd<ChatTurnBody>> {
  const turn = await findTurn(db, toChatKey(access), turnId);
  const app = await findApp(db, access);
  if (turn === undefined || app === undefined) return () => notFound('app_not_found');
  const messages = (await listTurnMessages(db, turn)).map(presentMessage);
  const completed = messages.slice(1).map((data) => ({ event: 'message.completed', data }));
  const body: ChatTurnBody = {
    app: presentApp(app, addresses),
    conversation: { messages },
    status: presentTurnStatus(turn),
  };
  return [...completed, { event: 'turn.completed', data: body }] as const;
}
