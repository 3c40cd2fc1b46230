// Owns `plinth migrate`: applies pending migrations and grants the run role its rights. Safe to run repeatedly and from several
// machines at once.
import { migrationsFolder } from '../app.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { migrateWorkflows } from '../kit/background/workflows/engine.ts';
import { migrate, readMigrations } from '../kit/db/migrate.ts';
import { grantRunRole } from './run-role.ts';

export async function migrateDatabase(): Promise<void> {
  const config = readConfig();
  const applied = await migrateAll(migrateUrl(config), config.DATABASE_URL).catch((error: Error) => {
    throw isPermissionDenied(error) ? new ConfigError(`${error.message}. ${howToMigrate}`) : error;
  });
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'no pending migrations');
}

/** The database as the role that owns its tables. */
export const migrateUrl = ({ MIGRATE_DATABASE_URL, DATABASE_URL }: Config): string =>
  MIGRATE_DATABASE_URL ?? DATABASE_URL;

/**
 * Migrates Plinth's own tables and those of the workflow engine, and grants the role of `runUrl` what it needs on them. Returns
 * the names of the migrations it applied.
 */
export async function migrateAll(url: string, runUrl = url): Promise<string[]> {
  const applied = await migrate(url, await readMigrations(migrationsFolder));
  await migrateWorkflows(url);
  await grantRunRole(url, runUrl);
  return applied;
}

const isPermissionDenied = (error: Error) => (error as { code?: string }).code === '42501';
const howToMigrate =
  'Set MIGRATE_DATABASE_URL to a URL with the role that owns the database: docs/operate/install.md#two-database-roles.';
