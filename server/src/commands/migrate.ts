// `plinth migrate`, which applies pending migrations, grants the run role its rights and loads the bundled
// locations. It can safely be run repeatedly, and on several machines at the same time. With `--status` or `--dry-run`
// it changes nothing.
import pg from 'pg';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { classifyFailure } from '../kit/db/failures.ts';
import {
  checkMigrations,
  listPendingMigrations,
  type Migration,
  migrate,
  readApplied,
  readMigrations,
} from '../kit/db/migrate.ts';
import { migrationsFolder } from '../release.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { explainFailure, refuseFaults } from './failures.ts';
import { toWaitMs, untilPossible } from './patience.ts';
import { grantRunRole } from './run-role.ts';
import { inspectServer } from './start-checks.ts';
import { migrateUsage } from './usages.ts';

const flag = { type: 'boolean' } as const;
const options = {
  status: flag,
  'dry-run': flag,
  'skip-locations': flag,
  wait: { type: 'string', default: '0' },
} as const;

export async function migrateDatabase(args: string[]): Promise<void> {
  const { wait, ...values } = parseArguments(args, { usage: migrateUsage, options }).values;
  if (Object.keys(values).length > 1) throw new UsageError(migrateUsage);
  const waitMs = toWaitMs(wait, migrateUsage);
  const config = readConfig();
  try {
    await requireSuitable(migrateUrl(config), waitMs);
    if (values.status) await printStatus(migrateUrl(config));
    else if (values['dry-run']) await printPending(migrateUrl(config));
    else {
      printNames('applied', await migrateAll(migrateUrl(config), config.DATABASE_URL));
      if (!values['skip-locations']) await printLocations(migrateUrl(config));
    }
  } catch (error) {
    if (isPermissionDenied(error as Error)) throw new ConfigError(`${(error as Error).message}. ${howToMigrate}`);
    throw explainForOwner(error, config);
  }
}

/** Waits until the server accepts connections, which takes a while if it was started just before. */
const requireSuitable = (url: string, waitMs: number): Promise<void> =>
  untilPossible(
    waitMs,
    (error) => classifyFailure(error) !== undefined,
    async () => refuseFaults((await withClient(url, inspectServer)).faults),
  );

const printNames = (what: string, names: readonly string[]): void =>
  console.log(names.length > 0 ? `${what} ${names.join(', ')}` : 'no pending migrations');

/** Loads the bundled locations if the database does not have them yet. */
async function printLocations(url: string): Promise<void> {
  // Imported only here, because the whole product takes a second to load.
  const { loadLocations } = await import('./locations.ts');
  const count = await loadLocations(url);
  if (count !== undefined) console.log(`loaded ${count} locations`);
}

/**
 * Prints one line per migration: when it was applied, or `pending`. Marks migrations that this release does not have.
 */
async function printStatus(url: string): Promise<void> {
  const applied = await withClient(url, readApplied);
  const known = new Set((await readMigrations(migrationsFolder)).map(({ name }) => name));
  for (const name of [...new Set([...applied.keys(), ...known])].sort()) {
    const state = applied.get(name)?.applied_at.toISOString() ?? 'pending';
    console.log(`${state.padEnd(24)}  ${name}${known.has(name) ? '' : '  (from a newer release)'}`);
  }
}

/** Prints the migrations that `plinth migrate` would apply. Fails if `plinth migrate` would fail. */
async function printPending(url: string): Promise<void> {
  const migrations = await readMigrations(migrationsFolder);
  const pending = await withClient(url, async (client) => {
    const pending = await listPendingMigrations(client, migrations);
    await checkMigrations(client, pending);
    return pending;
  });
  const describe = ({ name, alone }: Migration) => (alone ? `${name} (may take long; writes continue)` : name);
  printNames('would apply', pending.map(describe));
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The database URL for the role that owns the tables. */
export const migrateUrl = ({ MIGRATE_DATABASE_URL, DATABASE_URL }: Config): string =>
  MIGRATE_DATABASE_URL ?? DATABASE_URL;

/**
 * Applies pending migrations, and grants the role in `runUrl` the rights it needs. Returns the names of the applied
 * migrations.
 */
export async function migrateAll(url: string, runUrl = url): Promise<string[]> {
  const applied = await migrate(url, await readMigrations(migrationsFolder), console.log);
  await grantRunRole(url, runUrl);
  return applied;
}

/** Names the setting that was used, because it may not be DATABASE_URL. Unexpected errors are returned unchanged. */
export function explainForOwner(error: unknown, { MIGRATE_DATABASE_URL }: Config): unknown {
  const explained = MIGRATE_DATABASE_URL && explainFailure(error, 'MIGRATE_DATABASE_URL');
  return explained ? new ConfigError(explained) : error;
}

const isPermissionDenied = (error: Error) => (error as { code?: string }).code === '42501';
const howToMigrate =
  'Set MIGRATE_DATABASE_URL to a URL with the role that owns the database: docs/operate/install.md#two-database-roles.';
