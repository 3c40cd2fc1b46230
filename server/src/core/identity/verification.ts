// Owns proven e-mail addresses (docs/api/accounts.md#e-mail-addresses). An address is proven when somebody uses a link that
// was sent to it: a password reset or an invitation. Until then the account may be that of a stranger who only knows the
// address, so nothing that is granted by address is granted to it.
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
 * Gives an account to the person who proved its address and sets a new password. If the address was not proven before,
 * somebody else may have created the account, so their sessions, tokens and keys end.
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
      visitor,
      account,
      { type: 'token.revoked', target, after: { revoked: ids } },
      now,
      workspace_id,
    );
  }
}
