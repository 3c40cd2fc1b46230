// Owns `plinth user reset`, which prints a password reset link for installations without mail, and `plinth user
// deactivate` and `reactivate`.
import { ConfigError } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import { createResetLink } from '../core/identity/accounts.ts';
import { deactivateUser, reactivateUser, revocationEntry } from '../core/identity/deactivation.ts';
import { hasOtherOperator, lockOperators } from '../core/identity/operators.ts';
import { requireActive, runForUser } from './run-for-user.ts';

export const user = (args: string[]) =>
  runForUser(args, {
    reset: {
      usage: 'user reset --user EMAIL',
      auditType: 'auth.password_reset_printed',
      async run(db, config, user, now) {
        requireActive(user);
        return createResetLink(db, user.id, config.TOKEN_PEPPERS[0], config.BASE_URL, now);
      },
    },
    deactivate: {
      usage: 'user deactivate --user EMAIL',
      auditType: 'user.deactivated',
      async run(db, _config, user, now) {
        requireActive(user);
        await lockOperators(db);
        if (user.is_operator && !(await hasOtherOperator(db, user.id)))
          throw new ConfigError(`${user.email} is the last operator. Add another one first.`);
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
        return `${user.email} can sign in again; tokens and keys must be created anew`;
      },
    },
  });
