// Owns `plinth migrate`: applies pending migrations, grants the run role its rights and loads the bundled locations. Safe
// to run repeatedly and from several machines at once. With `--status` or `--dry-run` it changes nothing.
import pg from 'pg';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { checkMigrations, listPendingMigrations, migrate, readApplied, readMigrations } from '../kit/db/migrate.ts';
import { migrationsFolder } from '../release.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { grantRunRole } from './run-role.ts';
import { migrateUsage } from './usages.ts';

const flag = { type: 'boolean' } as const;
const options = { status: flag, 'dry-run': flag, 'skip-locations': flag };

export async function migrateDatabase(args: string[]): Promise<void> {
  const { values } = parseArguments(args, { usage: migrateUsage, options });
  if (Object.keys(values).length > 1) throw new UsageError(migrateUsage);
  const config = readConfig();
  try {
    if (values.status) await printStatus(migrateUrl(config));
    else if (values['dry-run']) await printPending(migrateUrl(config));
    else {
      printNames('applied', await migrateAll(migrateUrl(config), config.DATABASE_URL));
      if (!values['skip-locations']) await printLocations(migrateUrl(config));
    }
  } catch (error) {
    throw isPermissionDenied(error as Error) ? new ConfigError(`${(error as Error).message}. ${howToMigrate}`) : error;
  }
}

const printNames = (what: string, names: readonly string[]): void =>
  console.log(names.length > 0 ? `${what} ${names.join(', ')}` : 'no pending migrations');

/** Loads the bundled locations if the database does not have them yet. */
async function printLocations(url: string): Promise<void> {
  // Loaded here, because the whole product takes a second to load.
  const { loadLocations } = await import('./locations.ts');
  const count = await loadLocations(url);
  if (count !== undefined) console.log(`loaded ${count} locations`);
}

/** One line per migration: when it was applied, `pending`, or that this release does not have it. */
async function printStatus(url: string): Promise<void> {
  const applied = await withClient(url, readApplied);
  const known = new Set((await readMigrations(migrationsFolder)).map(({ name }) => name));
  for (const name of [...new Set([...applied.keys(), ...known])].sort()) {
    const state = applied.get(name)?.applied_at.toISOString() ?? 'pending';
    console.log(`${state.padEnd(24)}  ${name}${known.has(name) ? '' : '  (of a newer release)'}`);
  }
}

/** What `plinth migrate` would apply. Refuses what it would refuse. */
async function printPending(url: string): Promise<void> {
  const migrations = await readMigrations(migrationsFolder);
  const pending = await withClient(url, async (client) => {
    const pending = await listPendingMigrations(client, migrations);
    await checkMigrations(client, pending);
    return pending;
  });
  printNames(
    'would apply',
    pending.map(({ name }) => name),
  );
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

/** The database as the role that owns its tables. */
export const migrateUrl = ({ MIGRATE_DATABASE_URL, DATABASE_URL }: Config): string =>
  MIGRATE_DATABASE_URL ?? DATABASE_URL;

/** Applies pending migrations, and grants the role of `runUrl` what it needs on all tables. Returns the names of those it applied. */
export async function migrateAll(url: string, runUrl = url): Promise<string[]> {
  const applied = await migrate(url, await readMigrations(migrationsFolder));
  await grantRunRole(url, runUrl);
  return applied;
}

const isPermissionDenied = (error: Error) => (error as { code?: string }).code === '42501';
const howToMigrate =
  'Set MIGRATE_DATABASE_URL to a URL with the role that owns the database: docs/operate/install.md#two-database-roles.';
