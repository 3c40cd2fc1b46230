// Cancels sessions. A queued session ends immediately. A worker stops any other session within 20 seconds.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type CodingSession, presentSession } from '../contract.ts';
import { listCancellable, lockSession, type SessionKey, type SessionRow } from '../store/sessions.ts';
import { isEnded } from '../transitions.ts';
import { moveSession, type SessionDeps } from './session.ts';

export function cancelSession(
  db: Db,
  deps: SessionDeps,
  access: AppAccess & { readonly session: SessionRow },
  now: Date,
): Promise<Answer<CodingSession>> {
  return transaction(db, async (db) => {
    const locked = await lockSession(db, access.session);
    if (locked === undefined) throw notFound('session_not_found');
    const row = await requestCancel(db, deps, locked, now, access);
    const shown = presentSession(row ?? locked, deps.baseUrl);
    return row === undefined ? unchanged(shown) : withNotes(shown, {});
  });
}

/** Call this in a transaction that has locked the session. Returns undefined if there is nothing to cancel. */
async function requestCancel(
  db: Db,
  deps: SessionDeps,
  locked: SessionRow,
  now: Date,
  access?: AppAccess,
): Promise<SessionRow | undefined> {
  if (isEnded(locked.state) || locked.state === 'cancelling') return undefined;
  const to = locked.state === 'queued' ? 'cancelled' : 'cancelling';
  return moveSession(db, deps, { locked, move: { to } }, now, access);
}

async function cancelEach(db: Db, deps: SessionDeps, sessions: readonly SessionKey[], now: Date): Promise<void> {
  for (const session of sessions) {
    const locked = await lockSession(db, session);
    if (locked !== undefined) await requestCancel(db, deps, locked, now);
  }
}

/** Called by other features in their own transactions, to stop sessions when an app, workspace or member is removed. */
export const createSessionStops = (deps: SessionDeps) => ({
  async stopApp(db: Db, { app }: AppAccess, now: Date): Promise<void> {
    await cancelEach(db, deps, await listCancellable(db, { workspace_id: app.workspace_id, app_id: app.id }), now);
  },
  async stopWorkspace(db: Db, { workspace_id }: { readonly workspace_id: string }, now: Date): Promise<void> {
    await cancelEach(db, deps, await listCancellable(db, { workspace_id }), now);
  },
  async stopMember(
    db: Db,
    { workspace_id, user_id }: { readonly workspace_id: string; readonly user_id: string },
    now: Date,
  ): Promise<void> {
    await cancelEach(db, deps, await listCancellable(db, { workspace_id, user_id }), now);
  },
});
