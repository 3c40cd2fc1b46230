// Verified e-mail addresses (docs/api/accounts.md#e-mail-addresses). An address is verified when a person uses a
// link that was sent to it, either a password reset or an invitation. Before that, the account may belong to a stranger
// who merely knows the address, so rights granted to the address do not apply to it.
import type { Db } from '../../tables.ts';
import { auditVisitor } from '../audit/audit.ts';
import type { Visitor } from '../auth/proofs.ts';
import { endCredentials, endSessions } from './accounts.ts';

interface Account {
  readonly id: string;
  readonly email: string;
  readonly email_verified_at: Date | null;
}

export async function markEmailVerified(db: Db, user_id: string, now: Date): Promise<void> {
  await db
    .updateTable('users')
    .set({ email_verified_at: now, updated_date: now })
    .where('id', '=', user_id)
    .where('email_verified_at', 'is', null)
    .execute();
}

/**
 * Hands over an account to the person who has verified its address and is setting a new password. Ends its sessions. If
 * the address was not yet verified, someone else may have created the account, so its tokens and keys end too.
 */
export async function claimAccount(db: Db, visitor: Visitor, account: Account, now: Date): Promise<void> {
  if (account.email_verified_at !== null) {
    await endSessions(db, account.id, null);
    return;
  }
  await markEmailVerified(db, account.id, now);
  for (const { workspace_id, ids } of await endCredentials(db, account.id, now)) {
    const target = { kind: 'user', id: account.id };
    await auditVisitor(
      db,
      { visitor, person: account, change: { type: 'token.revoked', target, after: { revoked: ids } }, workspace_id },
      now,
    );
  }
}
