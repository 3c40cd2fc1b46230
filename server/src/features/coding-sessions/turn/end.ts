// Ends a turn that a worker runs: its state, the credits for an incomplete step, and the closing log lines.
import type { Db } from '../../../tables.ts';
import { appendEnd, asWorker, type Move, moveSession, type SessionDeps } from '../session/session.ts';
import { removeCheckpoints } from '../store/checkpoints.ts';
import { listPendingMessages } from '../store/messages.ts';
import { lockSession, type SessionRow } from '../store/sessions.ts';
import { isEnded } from '../transitions.ts';
import { closeOpenStep } from './costs.ts';
import type { SessionFault } from './fault.ts';
import type { Kept } from './kept.ts';

/** Returns the session in its new state. A session that is being cancelled becomes cancelled, whatever the fault. */
export function failTurn(
  db: Db,
  deps: SessionDeps,
  {
    session,
    fault: { code, message },
    kept,
  }: { readonly session: SessionRow; readonly fault: SessionFault; readonly kept: Kept },
  now: Date,
): Promise<SessionRow> {
  return asWorker(db, session, async (db, locked) => {
    if (locked.state === 'cancelling')
      return endCancelled(db, deps, { locked, reason: 'cancelled', kept, stoppedCredits: 0 }, now);
    await closeOpenStep(db, locked, 0, now);
    const logged = await appendEnd(db, deps, locked, [message], now);
    const change = { ...kept.change, error_code: code, error_message: message };
    return moveSession(db, deps, { locked: logged, move: { to: 'failed', change } }, now);
  });
}

const reasons = {
  cancelled: 'The session was cancelled.',
  access_lost:
    'The session was cancelled because the person who launched it can no longer edit the app or has revoked the credential that the session uses.',
} as const;
export type CancelReason = keyof typeof reasons;

/**
 * Ends a session because it was cancelled or the user may no longer change the app. `stoppedCredits` is the interrupted
 * step's cost so far.
 */
export const cancelTurn = (
  db: Db,
  deps: SessionDeps,
  {
    session,
    reason,
    kept,
    stoppedCredits,
  }: {
    readonly session: SessionRow;
    readonly reason: CancelReason;
    readonly kept: Kept;
    readonly stoppedCredits: number;
  },
  now: Date,
): Promise<SessionRow> =>
  asWorker(db, session, (db, locked) => endCancelled(db, deps, { locked, reason, kept, stoppedCredits }, now));

async function endCancelled(
  db: Db,
  deps: SessionDeps,
  {
    locked,
    reason,
    kept,
    stoppedCredits,
  }: {
    readonly locked: SessionRow;
    readonly reason: CancelReason;
    readonly kept: Kept;
    readonly stoppedCredits: number;
  },
  now: Date,
): Promise<SessionRow> {
  const stopped_credits = Number(locked.stopped_credits) + (await closeOpenStep(db, locked, stoppedCredits, now));
  let row = await appendEnd(db, deps, locked, [`${reasons[reason]} ${kept.text}`], now);
  if (row.state !== 'cancelling' && row.state !== 'queued')
    row = await moveSession(db, deps, { locked: row, move: { to: 'cancelling' } }, now);
  return moveSession(
    db,
    deps,
    { locked: row, move: { to: 'cancelled', change: { ...kept.change, stopped_credits } } },
    now,
  );
}

/**
 * Returns undefined if the agent has not read all messages; the turn then continues. Messages that arrived during the
 * push start the next turn.
 */
export function completeTurn(
  db: Db,
  deps: SessionDeps,
  session: SessionRow,
  move: Extract<Move, { to: 'completed' }>,
  now: Date,
): Promise<SessionRow | undefined> {
  return asWorker(db, session, async (db, locked) => {
    const isFollowed = (await listPendingMessages(db, locked)).length > 0;
    if (locked.state === 'running' && isFollowed) return undefined;
    await removeCheckpoints(db, locked);
    const row = await moveSession(db, deps, { locked, move: { ...move, isFollowed } }, now);
    if (isFollowed) await moveSession(db, deps, { locked: row, move: { to: 'queued' } }, now);
    return row;
  });
}

/** Ends a session that no worker is running, unless it has already ended. Call this in a transaction. */
export async function deadLetterTurn(
  db: Db,
  deps: SessionDeps,
  {
    session,
    fault: { code, message },
    kept,
  }: { readonly session: SessionRow; readonly fault: SessionFault; readonly kept?: Kept },
  now: Date,
): Promise<SessionRow | undefined> {
  const locked = await lockSession(db, session);
  if (locked === undefined || isEnded(locked.state)) return undefined;
  await closeOpenStep(db, locked, 0, now);
  if (locked.state === 'cancelling') {
    const cancelled = await appendEnd(db, deps, locked, kept ? [`${reasons.cancelled} ${kept.text}`] : [], now);
    return moveSession(db, deps, { locked: cancelled, move: { to: 'cancelled', change: { ...kept?.change } } }, now);
  }
  const change = { ...kept?.change, error_code: code, error_message: message };
  const logged = await appendEnd(db, deps, locked, [message], now);
  return moveSession(db, deps, { locked: logged, move: { to: 'failed', change } }, now);
}
