// Owns ending a turn that a worker runs: its state, the credits of the step that was not completed, and what is told about it.
import type { Db } from '../../tables.ts';
import { closeOpenStep } from './costs.ts';
import type { SessionFault } from './fault.ts';
import type { Kept } from './kept.ts';
import { appendEnd, asWorker, type Move, moveSession, type SessionDeps } from './session.ts';
import { removeCheckpoints } from './store/checkpoints.ts';
import { listPendingMessages } from './store/messages.ts';
import { lockSession, type SessionRow } from './store/sessions.ts';
import { isEnded } from './transitions.ts';

/** Returns the state that the session has now: one that is being cancelled is cancelled, whatever came of it meanwhile. */
export function failTurn(
  db: Db,
  session: SessionRow,
  { code, message }: SessionFault,
  kept: Kept,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> {
  return asWorker(db, session, async (db, locked) => {
    if (locked.state === 'cancelling') return cancelLocked(db, locked, 'cancelled', kept, 0, deps, now);
    await closeOpenStep(db, locked, 0, now);
    const logged = await appendEnd(db, locked, [message], deps, now);
    const change = { ...kept.change, error_code: code, error_message: message };
    return moveSession(db, logged, { to: 'failed', change }, deps, now);
  });
}

const reasons = {
  cancelled: 'The session was cancelled.',
  access_lost:
    'The session was cancelled, because who launched it may no longer change the app, or has revoked the credential that it runs with.',
} as const;
export type CancelReason = keyof typeof reasons;

/**
 * Ends a session because somebody cancelled it, or because the person may no longer do this. `stoppedCredits`: what the step that was
 * stopped costs, as far as it came.
 */
export const cancelTurn = (
  db: Db,
  session: SessionRow,
  reason: CancelReason,
  kept: Kept,
  stoppedCredits: number,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> =>
  asWorker(db, session, (db, locked) => cancelLocked(db, locked, reason, kept, stoppedCredits, deps, now));

async function cancelLocked(
  db: Db,
  locked: SessionRow,
  reason: CancelReason,
  kept: Kept,
  stoppedCredits: number,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> {
  const stopped_credits = Number(locked.stopped_credits) + (await closeOpenStep(db, locked, stoppedCredits, now));
  let row = await appendEnd(db, locked, [`${reasons[reason]} ${kept.text}`], deps, now);
  if (row.state !== 'cancelling' && row.state !== 'queued')
    row = await moveSession(db, row, { to: 'cancelling' }, deps, now);
  return moveSession(db, row, { to: 'cancelled', change: { ...kept.change, stopped_credits } }, deps, now);
}

/**
 * Returns undefined if something was written to the session that the agent has not read: then the turn goes on. What was written
 * while the work was pushed begins the next turn.
 */
export function completeTurn(
  db: Db,
  session: SessionRow,
  move: Extract<Move, { to: 'completed' }>,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow | undefined> {
  return asWorker(db, session, async (db, locked) => {
    const isFollowed = (await listPendingMessages(db, locked)).length > 0;
    if (locked.state === 'running' && isFollowed) return undefined;
    await removeCheckpoints(db, locked);
    const row = await moveSession(db, locked, { ...move, isFollowed }, deps, now);
    if (isFollowed) await moveSession(db, row, { to: 'queued' }, deps, now);
    return row;
  });
}

/** Ends a session that no worker runs any more, if it has not ended yet. Call this in a transaction. */
export async function deadLetterTurn(
  db: Db,
  session: SessionRow,
  { code, message }: SessionFault,
  deps: SessionDeps,
  now: Date,
  kept?: Kept,
): Promise<SessionRow | undefined> {
  const locked = await lockSession(db, session);
  if (locked === undefined || isEnded(locked.state)) return undefined;
  await closeOpenStep(db, locked, 0, now);
  if (locked.state === 'cancelling') {
    const cancelled = await appendEnd(db, locked, kept ? [`${reasons.cancelled} ${kept.text}`] : [], deps, now);
    return moveSession(db, cancelled, { to: 'cancelled', change: { ...kept?.change } }, deps, now);
  }
  const change = { ...kept?.change, error_code: code, error_message: message };
  const logged = await appendEnd(db, locked, [message], deps, now);
  return moveSession(db, logged, { to: 'failed', change }, deps, now);
}
