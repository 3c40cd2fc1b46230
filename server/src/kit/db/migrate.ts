// Owns migrations: plain SQL files, forward only. Each runs once, in one transaction, and is never edited afterwards.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** Migrations can't be applied. The message says why. */
export class MigrationError extends Error {}

/**
 * A migration that would destroy something may begin with a check, which raises an exception if it must not run. All checks run
 * before the first pending migration is applied, so a refusal changes nothing, and again with their migration.
 */
const endOfCheck = '-- end of check';
const fileName = /^\d{4}_[a-z0-9_]+\.sql$/;
const lockId = 7_310_114_101; // any fixed number; makes concurrent `plinth migrate` runs wait for each other

export async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      if (!fileName.test(name)) throw new MigrationError(`migration ${name}: the name must be NNNN_words.sql`);
      // Migrations before 0019 say `room`. They are not edited, because their checksums are stored.
      if (!/^-- (module|room): /.test(text))
        throw new MigrationError(`migration ${name}: the first line must be "-- module: …"`);
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** Applies pending migrations and returns their names. Throws if an applied migration was edited. */
export function migrate(url: string, migrations: readonly Migration[]): Promise<string[]> {
  return withMigrationLock(url, async (client) => {
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    );
    const pending = await listPendingMigrations(client, migrations);
    await checkMigrations(client, pending);
    for (const migration of pending) await apply(client, migration);
    return pending.map((migration) => migration.name);
  });
}

/** Runs `work` on a connection of its own, while no other process migrates. */
export async function withMigrationLock<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [lockId]);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Throws if an applied migration was edited. */
export async function listPendingMigrations(
  client: pg.ClientBase | pg.Pool,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const applied = await readApplied(client);
  return migrations.filter((migration) => {
    const found = applied.get(migration.name);
    if (found !== undefined && found.checksum !== migration.checksum)
      throw new MigrationError(
        `migration ${migration.name} was edited after it was applied. Restore the file of the release that applied it.`,
      );
    return found === undefined;
  });
}

/** Throws if one of these migrations refuses this database. Changes nothing. */
export async function checkMigrations(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) {
    const [check = '', rest] = migration.text.split(endOfCheck);
    if (rest === undefined) continue;
    await client.query('begin');
    try {
      await client.query(limitLockWaits);
      await client.query(check);
    } catch (cause) {
      const { code, message } = cause as pg.DatabaseError;
      throw code === raisedException ? new MigrationError(message, { cause }) : toFailure(migration, cause);
    } finally {
      await client.query('rollback');
    }
  }
}

interface AppliedMigration {
  readonly checksum: string;
  readonly applied_at: Date;
}

const noSuchTable = '42P01';
const raisedException = 'P0001';
// While a schema change waits for its lock, every reader of the table waits behind it.
const limitLockWaits = "set local lock_timeout = '5s'";

/** By name. None in an empty database, which does not have the table yet. */
export async function readApplied(client: pg.ClientBase | pg.Pool): Promise<ReadonlyMap<string, AppliedMigration>> {
  const { rows } = await client
    .query<AppliedMigration & { name: string }>('select name, checksum, applied_at from migrations order by name')
    .catch((error: { code?: string }) => {
      if (error.code === noSuchTable) return { rows: [] };
      throw error;
    });
  return new Map(rows.map((row) => [row.name, row]));
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(limitLockWaits);
    await client.query(migration.text);
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [migration.name, migration.checksum]);
    await client.query('commit');
  } catch (cause) {
    await client.query('rollback');
    throw toFailure(migration, cause);
  }
}

const toFailure = ({ name }: Migration, cause: unknown): MigrationError =>
  new MigrationError(`migration ${name} failed: ${(cause as Error).message}. Nothing of it was applied.`, { cause });
