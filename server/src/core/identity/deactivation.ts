// Owns deactivated accounts (docs/api/accounts.md#deactivated-accounts). The lookup of core/auth refuses their
// credentials, and findPassword finds no password of theirs.
import type { Db } from '../../tables.ts';
import type { AuditedChange } from '../audit/audit.ts';
import { endCredentials, type RevokedInWorkspace } from './accounts.ts';

/**
 * Ends the person's sessions, tokens, personal keys and reset links, and the workspace keys that were created with their
 * tokens. They stay ended if the account is reactivated.
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

/** The audit entry for a workspace in which tokens or keys were revoked, so that its admins see why they ended. */
export const revocationEntry = (user: { id: string; email: string }, { ids }: RevokedInWorkspace): AuditedChange => ({
  type: 'user.deactivated',
  target: { kind: 'user', id: user.id },
  after: { email: user.email, revoked: ids },
});
