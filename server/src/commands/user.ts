// Owns `plinth user reset`: prints a password reset link, for installations without mail.
import { createResetLink } from '../core/identity/accounts.ts';
import { runForUser } from './run-for-user.ts';

export const user = (args: string[]) =>
  runForUser(args, {
    reset: {
      usage: 'plinth user reset --user EMAIL',
      auditType: 'auth.password_reset_printed',
      run: (db, config, user, now) => createResetLink(db, user.id, config.TOKEN_PEPPERS[0], config.BASE_URL, now),
    },
  });
