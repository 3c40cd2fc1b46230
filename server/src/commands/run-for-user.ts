// Owns what the commands for one user share: finding the user by e-mail, one transaction, the audit entry, the output.
import { parseArgs } from 'node:util';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import { findUserByEmail } from '../core/identity/accounts.ts';
import { openDatabase, transaction } from '../kit/db/database.ts';
import type { Db, Tables } from '../tables.ts';

interface UserCommand {
  readonly usage: string;
  /** The word after the command, such as `reset` in `plinth user reset`. */
  readonly verb: string;
  readonly auditType: string;
  /** Returns what the command prints. */
  run(db: Db, config: Config, user: CommandUser, now: Date, flags: { readOnly: boolean }): Promise<string>;
}

interface CommandUser {
  readonly id: string;
  readonly email: string;
}

/** Runs `plinth COMMAND VERB --user EMAIL`. The audit entry goes to the installation's own chain. */
export async function runForUser(args: string[], command: UserCommand): Promise<void> {
  const options = { user: { type: 'string' }, 'read-only': { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const email = values.user?.trim().toLowerCase();
  if (positionals[0] !== command.verb || email === undefined) throw new ConfigError(`usage: ${command.usage}`);
  const config = readConfig();
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    const output = await transaction(db, async (db) => {
      const user = await findUserByEmail(db, email);
      if (user === undefined) throw new ConfigError(`There is no user with the e-mail address ${email}.`);
      const now = new Date();
      const target = { kind: 'user', id: user.id };
      await auditService(db, null, { type: command.auditType, target, after: { email: user.email } }, now);
      return command.run(db, config, user, now, { readOnly: values['read-only'] ?? false });
    });
    console.log(output);
  } finally {
    await close();
  }
}
