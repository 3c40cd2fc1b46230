// `plinth operator add` and `plinth operator remove`, which grant and revoke operator rights.
import { ConfigError } from '../config.ts';
import { hasOtherOperator, lockOperators, saveOperator } from '../core/identity/operators.ts';
import { requireActive, runForUser } from './run-for-user.ts';

export const operator = (args: string[]) =>
  runForUser(args, {
    add: {
      usage: 'operator add --user EMAIL',
      auditType: 'operator.added',
      async run(db, _config, user, now) {
        requireActive(user);
        if (user.email_verified_at === null)
          throw new ConfigError(
            `The e-mail address ${user.email} is not verified, so the account may belong to someone else. Send them the link that "npm run plinth -- user reset --user ${user.email}" prints. Once they have set a password with it, repeat the command.`,
          );
        await saveOperator(db, user.id, true, now);
        return `${user.email} is an operator`;
      },
    },
    remove: {
      usage: 'operator remove --user EMAIL [--force]',
      auditType: 'operator.removed',
      async run(db, _config, user, now, { force }) {
        if (!user.is_operator) throw new ConfigError(`${user.email} is not an operator.`);
        await lockOperators(db);
        if (!force && !(await hasOtherOperator(db, user.id)))
          throw new ConfigError(
            `${user.email} is the last operator. Add another one first (npm run plinth -- operator add --user EMAIL), or repeat the command with --force.`,
          );
        await saveOperator(db, user.id, false, now);
        return `${user.email} is no longer an operator`;
      },
    },
  });
