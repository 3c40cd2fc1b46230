// `plinth bootstrap`, which creates the first user (an operator), their workspace and a full-access token. Prints the
// token, and apart from it, where scripts don't read it, a link with which the user sets a password.
import pg from 'pg';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { isInitialised } from '../core/identity/accounts.ts';
import { insertCredential, insertUser, insertWorkspace } from '../core/identity/users.ts';
import { openDatabase, transaction } from '../kit/db/database.ts';
import { classifyFailure, isRefusal } from '../kit/db/failures.ts';
import { listPendingMigrations, readMigrations } from '../kit/db/migrate.ts';
import { migrationsFolder } from '../release.ts';
import type { Db, Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { refuseFaults } from './failures.ts';
import { recognizeKeys } from './known-keys.ts';
import { toWaitMs, untilPossible } from './patience.ts';
import { bootstrapUsage } from './usages.ts';
import { createPrintedLink } from './user.ts';

export interface FirstUser {
  readonly email: string;
  readonly name: string;
  readonly workspace: string;
  readonly tokenName?: string;
}

export async function bootstrap(args: string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const options = { email: text, name: text, workspace: text, wait: { ...text, default: '0' } } as const;
  const { email, name, workspace, wait } = parseArguments(args, { usage: bootstrapUsage, options }).values;
  if (!email || !name || !workspace) throw new UsageError(bootstrapUsage);
  const waitMs = toWaitMs(wait, bootstrapUsage);
  const config = readConfig();
  await untilPossible(waitMs, isNotYetMigrated, () => requireMigrated(config.DATABASE_URL));
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    if (await isInitialised(db))
      throw new ConfigError(
        'This installation already has users. `bootstrap` creates only the first user: invite others to a workspace. If nobody can sign in, print a link for an existing user: npm run plinth -- user reset --user EMAIL',
      );
    refuseFaults(await recognizeKeys(db, config, new Date()));
    const { token, userId } = await createFirstUser(db, config, { email, name, workspace });
    const link = await transaction(db, (db) => createPrintedLink(db, config, userId, new Date()));
    console.error(`To sign in, open this link and set a password: ${link}`);
    console.log(token);
  } finally {
    await close();
  }
}

class NotMigrated extends ConfigError {
  constructor(pending: number) {
    super(
      `The database doesn't have this release's tables (${pending} migrations are pending). Run: npm run plinth -- migrate`,
    );
  }
}

/** While PostgreSQL starts for the first time, the role and the database do not exist yet either. */
const isNotYetMigrated = (error: unknown): boolean =>
  error instanceof NotMigrated || classifyFailure(error) !== undefined || isRefusal(error);

async function requireMigrated(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const pending = await listPendingMigrations(client, await readMigrations(migrationsFolder));
    if (pending.length > 0) throw new NotMigrated(pending.length);
  } finally {
    await client.end();
  }
}

/** The token's text is not stored and can't be shown again. */
export function createFirstUser(
  db: Db,
  config: Config,
  first: FirstUser,
): Promise<{ readonly token: string; readonly userId: string }> {
  const now = new Date();
  return transaction(db, async (db) => {
    const operator = { email: first.email, full_name: first.name, is_operator: true, email_verified: true };
    const user_id = await insertUser(db, operator, now);
    const plan = config.DEFAULT_PLAN;
    const workspace_id = await insertWorkspace(db, { name: first.workspace, plan, owner_id: user_id }, now);
    const name = first.tokenName ?? 'first token';
    const { token } = await issueToken(db, config, { user_id, workspace_id, name }, now);
    return { token, userId: user_id };
  });
}

export const issueToken = (
  db: Db,
  config: Config,
  token: { user_id: string; workspace_id: string; name: string },
  now: Date,
) =>
  insertCredential(
    db,
    { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE },
    { kind: 'personal_token', ...token, permission: 'full_access' },
    now,
  );
