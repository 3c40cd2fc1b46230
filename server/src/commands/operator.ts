// Owns `plinth operator add`: makes a user an operator of the installation.
import { runForUser } from './run-for-user.ts';

export const operator = (args: string[]) =>
  runForUser(args, {
    usage: 'plinth operator add --user EMAIL',
    verb: 'add',
    auditType: 'operator.added',
    async run(db, _config, user, now) {
      await db.updateTable('users').set({ is_operator: true, updated_date: now }).where('id', '=', user.id).execute();
      return `${user.email} is an operator`;
    },
  });
