// Deactivates and reactivates accounts, which only operators may do (docs/api/accounts.md#deactivated-accounts).
import { auditOperator } from '../../core/audit/audit.ts';
import type { AuditType } from '../../core/audit/types.ts';
import type { SelfAccess } from '../../core/auth/proofs.ts';
import { getUser } from '../../core/identity/accounts.ts';
import { deactivateUser, reactivateUser, revocationEntry } from '../../core/identity/deactivation.ts';
import { hasOtherOperator, lockOperators } from '../../core/identity/operators.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { presentOperatorUser, type UserRow } from './contract.ts';

/** An operator's proof, and the user in the path. */
export type UserAccess = SelfAccess & { readonly user: UserRow };

export function deactivate(db: Db, access: UserAccess, now: Date) {
  return transaction(db, async (db) => {
    await lockOperators(db);
    const user = await getUser(db, access.user.id);
    if (user.deactivated_at !== null) return unchanged(presentOperatorUser(user));
    if (user.is_operator && !(await hasOtherOperator(db, user.id))) throw lastOperator();
    const revoked = await deactivateUser(db, user.id, now);
    await auditAccount(db, access, 'user.deactivated', now);
    for (const each of revoked) await auditOperator(db, access, each.workspace_id, revocationEntry(user, each), now);
    return presentOperatorUser(await getUser(db, user.id));
  });
}

export function reactivate(db: Db, access: UserAccess, now: Date) {
  return transaction(db, async (db) => {
    await lockOperators(db);
    const user = await getUser(db, access.user.id);
    if (user.deactivated_at === null) return unchanged(presentOperatorUser(user));
    await reactivateUser(db, user.id, now);
    await auditAccount(db, access, 'user.reactivated', now);
    return presentOperatorUser(await getUser(db, user.id));
  });
}

const auditAccount = (db: Db, access: UserAccess, type: AuditType, now: Date): Promise<void> => {
  const { id, email } = access.user;
  return auditOperator(db, access, null, { type, target: { kind: 'user', id }, after: { email } }, now);
};

const lastOperator = () =>
  new Problem(
    'conflict',
    'last_operator',
    "This is the installation's last operator. Make someone else an operator first.",
    { retrySafe: false },
  );
