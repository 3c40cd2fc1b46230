// Deactivated accounts (docs/api/accounts.md#deactivated-accounts). The lookup in core/auth does not find their
// credentials, and `findPassword` does not find their passwords.
import type { Db } from '../../tables.ts';
import type { AuditedChange } from '../audit/audit.ts';
import { endCredentials, type RevokedInWorkspace } from './accounts.ts';

/**
 * Ends the person's sessions, tokens, personal keys and reset links, and the workspace keys created with those tokens.
 * Reactivating the account does not restore them.
 */
export async function deactivateUser(db: Db, user_id: string, now: Date): Promise<RevokedInWorkspace[]> {
  await saveDeactivation(db, user_id, now, now);
  await db.deleteFrom('password_resets').where('user_id', '=', user_id).execute();
  return endCredentials(db, user_id, now);
}

export const reactivateUser = (db: Db, user_id: string, now: Date): Promise<void> =>
  saveDeactivation(db, user_id, null, now);

async function saveDeactivation(db: Db, user_id: string, deactivated_at: Date | null, now: Date): Promise<void> {
  await db.updateTable('users').set({ deactivated_at, updated_date: now }).where('id', '=', user_id).execute();
}

/**
 * The audit entry for a workspace in which tokens or keys were revoked. It tells the workspace's admins why they ended.
 */
export const revocationEntry = (user: { id: string; email: string }, { ids }: RevokedInWorkspace): AuditedChange => ({
  type: 'user.deactivated',
  target: { kind: 'user', id: user.id },
  after: { email: user.email, revoked: ids },
});
