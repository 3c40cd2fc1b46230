// plinth user, api-key, operator and workspace: what only whoever runs the installation may do to its people.
import { parseArgs } from 'node:util';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import type { Pepper } from '../core/auth/tokens.ts';
import { createResetLink, findUserByEmail } from '../core/identity/accounts.ts';
import { insertCredential } from '../core/identity/users.ts';
import { saveWorkspace } from '../core/identity/workspaces.ts';
import { openDatabase, transaction } from '../kit/db/database.ts';
import type { Db, Tables } from '../tables.ts';

interface Person {
  readonly id: string;
  readonly email: string;
}

const usage = `usage: plinth user reset --user EMAIL
       plinth api-key issue --user EMAIL [--read-only]
       plinth operator add --user EMAIL
       plinth workspace restore --id ID`;

/** Prints a link that sets a new password: for installations without mail. */
export const user = (args: string[]) =>
  forPerson('reset', args, async (db, config, person, now) => {
    const pepper = config.TOKEN_PEPPERS[0] as Pepper;
    await record(db, 'auth.password_reset_printed', person, now);
    return createResetLink(db, person.id, pepper, config.BASE_URL, now);
  });

/** Issues a personal API key, for integrations that cannot yet use tokens. */
export const apiKey = (args: string[]) =>
  forPerson('issue', args, async (db, config, person, now, { readOnly }) => {
    const tokenKeys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
    const permission = readOnly ? ('read_only' as const) : ('full_access' as const);
    const key = {
      kind: 'personal_key' as const,
      name: 'issued by the operator',
      user_id: person.id,
      workspace_id: null,
      permission,
    };
    const { token } = await insertCredential(db, tokenKeys, key, now);
    await record(db, 'api_key.issued', person, now);
    return token;
  });

export const operator = (args: string[]) =>
  forPerson('add', args, async (db, _config, person, now) => {
    await db.updateTable('users').set({ is_operator: true, updated_date: now }).where('id', '=', person.id).execute();
    await record(db, 'operator.added', person, now);
    return `${person.email} is an operator`;
  });

/** Brings back a workspace that its owner deleted, within its 30 days. */
export async function workspace(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, options: { id: { type: 'string' } }, allowPositionals: true });
  if (positionals[0] !== 'restore' || values.id === undefined) throw new ConfigError(usage);
  const { DATABASE_URL } = readConfig();
  const { db, close } = openDatabase<Tables>({ url: DATABASE_URL, poolSize: 1 });
  try {
    const { id, name } = await saveWorkspace(db, values.id, { deleted_date: null, updated_date: new Date() });
    await auditService(db, id, { type: 'workspace.restored', target: { kind: 'workspace', id } }, new Date());
    console.log(`${name} is back`);
  } finally {
    await close();
  }
}

const record = (db: Db, type: string, person: Person, now: Date) =>
  auditService(db, null, { type, target: { kind: 'user', id: person.id }, after: { email: person.email } }, now);

type Deed = (db: Db, config: Config, person: Person, now: Date, flags: { readOnly: boolean }) => Promise<string>;

async function forPerson(verb: string, args: string[], deed: Deed): Promise<void> {
  const options = { user: { type: 'string' }, 'read-only': { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const email = values.user?.trim().toLowerCase();
  if (positionals[0] !== verb || email === undefined) throw new ConfigError(usage);
  const config = readConfig();
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    const said = await transaction(db, async (db) => {
      const person = await findUserByEmail(db, email);
      if (person === undefined) throw new ConfigError(`nobody here has the address ${email}`);
      return deed(db, config, person, new Date(), { readOnly: values['read-only'] ?? false });
    });
    console.log(said);
  } finally {
    await close();
  }
}
