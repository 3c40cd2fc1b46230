// `plinth user reset`, which prints a password reset link for installations without mail, `plinth user deactivate`
// and `plinth user reactivate`.
import { type Config, ConfigError } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import type { AuditType } from '../core/audit/types.ts';
import { createResetLink } from '../core/identity/accounts.ts';
import { deactivateUser, reactivateUser, revocationEntry } from '../core/identity/deactivation.ts';
import { hasOtherOperator, lockOperators } from '../core/identity/operators.ts';
import type { Db } from '../tables.ts';
import { requireActive, runForUser } from './run-for-user.ts';

/** The audit entry for a password link that is printed instead of mailed. */
const resetPrinted = 'auth.password_reset_printed' satisfies AuditType;

/** Returns a link that sets a password, and notes it in the audit log. */
export async function createPrintedLink(db: Db, config: Config, userId: string, now: Date): Promise<string> {
  await auditService(db, null, { type: resetPrinted, target: { kind: 'user', id: userId } }, now);
  return createResetLink(db, config.TOKEN_PEPPERS[0], userId, config.BASE_URL, now);
}

export const user = (args: string[]) =>
  runForUser(args, {
    reset: {
      usage: 'user reset --user EMAIL',
      auditType: resetPrinted,
      async run(db, config, user, now) {
        requireActive(user);
        return createResetLink(db, config.TOKEN_PEPPERS[0], user.id, config.BASE_URL, now);
      },
    },
    deactivate: {
      usage: 'user deactivate --user EMAIL',
      auditType: 'user.deactivated',
      async run(db, _config, user, now) {
        requireActive(user);
        await lockOperators(db);
        if (user.is_operator && !(await hasOtherOperator(db, user.id)))
          throw new ConfigError(
            `${user.email} is the last operator. Add another one first: npm run plinth -- operator add --user EMAIL`,
          );
        for (const revoked of await deactivateUser(db, user.id, now))
          await auditService(db, revoked.workspace_id, revocationEntry(user, revoked), now);
        return `${user.email} is deactivated`;
      },
    },
    reactivate: {
      usage: 'user reactivate --user EMAIL',
      auditType: 'user.reactivated',
      async run(db, _config, user, now) {
        if (user.deactivated_at === null) throw new ConfigError(`${user.email} is not deactivated.`);
        await reactivateUser(db, user.id, now);
        return `${user.email} can sign in again; tokens and keys must be created again`;
      },
    },
  });
