// Decides what commands for a single user have in common: finding the user by e-mail address, the transaction, the
// audit entry and the output.
import type { Selectable } from 'kysely';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import type { AuditType } from '../core/audit/types.ts';
import { findUserByEmail } from '../core/identity/accounts.ts';
import { openDatabase, transaction } from '../kit/db/database.ts';
import type { Db, Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { requireKnownKeys } from './known-keys.ts';

interface UserCommand {
  readonly usage: string;
  readonly auditType: AuditType;
  /** Returns the text that the command prints. If it throws, nothing is changed. */
  run(db: Db, config: Config, user: UserRow, now: Date, flags: Flags): Promise<string>;
}

type UserRow = Selectable<Tables['users']>;

interface Flags {
  readonly readOnly: boolean;
  readonly force: boolean;
}

const options = { user: { type: 'string' }, 'read-only': { type: 'boolean' }, force: { type: 'boolean' } } as const;

/**
 * Runs `plinth COMMAND VERB --user EMAIL`. `verbs` are the words after the command, such as `reset` in `plinth user
 * reset`. The audit entry is added to the installation's chain.
 */
export async function runForUser(args: string[], verbs: Readonly<Record<string, UserCommand>>): Promise<void> {
  const usage = Object.values(verbs)
    .map((each) => each.usage)
    .join('\n       plinth ');
  const { values, words } = parseArguments(args, { usage, options, maxWords: 1 });
  const verb = words[0] ?? '';
  const command = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  const email = values.user?.trim().toLowerCase();
  if (command === undefined || email === undefined) throw new UsageError(usage);
  const config = readConfig();
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    await requireKnownKeys(db, config);
    const output = await transaction(db, async (db) => {
      const user = await findUserByEmail(db, email);
      if (user === undefined) throw new ConfigError(`There is no user with the e-mail address ${email}.`);
      const now = new Date();
      const target = { kind: 'user', id: user.id };
      await auditService(db, null, { type: command.auditType, target, after: { email: user.email } }, now);
      const flags = { readOnly: values['read-only'] ?? false, force: values.force ?? false };
      return command.run(db, config, user, now, flags);
    });
    console.log(output);
  } finally {
    await close();
  }
}

export function requireActive({ email, deactivated_at }: UserRow): void {
  if (deactivated_at !== null)
    throw new ConfigError(
      `${email} is deactivated. Reactivate the account first: npm run plinth -- user reactivate --user ${email}`,
    );
}
