// Lists and ends a person's browser sessions (docs/api/accounts.md#sessions).
import { auditSelf } from '../../core/audit/audit.ts';
import type { SelfAccess } from '../../core/auth/proofs.ts';
import { endSession, endSessions, getCallingUser, type SessionDeps } from '../../core/identity/accounts.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged, withNotes } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { presentSession, type SessionRow } from './contract.ts';
import { signOut } from './sign-in.ts';
import { listSessions } from './store.ts';

const maxListed = 100;

/** Lists the caller's sessions, newest first. */
export async function describeSessions(db: Db, access: SelfAccess, now: Date) {
  const rows = await listSessions(db, access, maxListed + 1, now);
  const sessions = rows.slice(0, maxListed).map((row) => presentSession(row, access.caller.credential_id));
  return rows.length > maxListed ? withNotes(sessions, { truncated: true }) : sessions;
}

/** Ending the caller's current session is the same as signing out. */
export async function endOneSession(
  db: Db,
  deps: Pick<SessionDeps, 'secureCookie'>,
  access: SelfAccess & { readonly session: SessionRow },
  now: Date,
) {
  const { session, caller } = access;
  if (session.id === caller.credential_id) return signOut(db, deps, access, now);
  return transaction(db, async (db) => {
    await endSession(db, getCallingUser(access).id, session.id);
    await auditEnded(db, access, [session.id], now);
    return { success: true } as const;
  });
}

export function endOtherSessions(db: Db, access: SelfAccess, now: Date) {
  return transaction(db, async (db) => {
    const ended = await endSessions(db, getCallingUser(access).id, access.caller.credential_id);
    if (ended.length === 0) return unchanged({ ended: 0 });
    await auditEnded(db, access, ended, now);
    return { ended: ended.length };
  });
}

const auditEnded = (db: Db, access: SelfAccess, sessions: readonly string[], now: Date): Promise<void> => {
  const target = { kind: 'user', id: getCallingUser(access).id };
  return auditSelf(db, access, { type: 'auth.session_ended', target, after: { sessions } }, now);
};
