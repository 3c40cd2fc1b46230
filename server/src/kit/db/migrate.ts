// Migrations: plain SQL files, forward only. Each runs once, in one transaction, and is never edited afterwards. Those
// marked with `-- transaction: none` are a single statement that runs without one (migrate-alone.ts).
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { classifyFailure } from './failures.ts';
import { type LoneStatement, parseLoneStatement, reportWaits, runLoneStatement } from './migrate-alone.ts';

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /** Set if the migration runs without a transaction. */
  readonly alone?: LoneStatement | undefined;
}

/** Thrown when migrations can't be applied. The message gives the reason. */
export class MigrationError extends Error {}

/**
 * A migration that would destroy data may begin with a check, which raises an exception if the migration must not run.
 * All checks run before the first pending migration is applied, so a failed check changes nothing. Each check runs
 * again with its migration.
 */
const endOfCheck = '-- end of check';
const fileName = /^\d{4}_[a-z0-9_]+\.sql$/;
const lockPollMs = 200;
const lockId = 7_310_114_101; // an arbitrary number for the lock that serialises `plinth migrate` runs

export async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      if (!fileName.test(name)) throw new MigrationError(`migration ${name}: the name must be NNNN_words.sql`);
      // Migrations before 0019 use the word `room`. They can't be edited, because their checksums are stored.
      if (!/^-- (module|room): /.test(text))
        throw new MigrationError(`migration ${name}: the first line must be "-- module: …"`);
      return { name, text, checksum: createHash('sha256').update(text).digest('hex'), alone: readAlone(name, text) };
    }),
  );
}

function readAlone(name: string, text: string): LoneStatement | undefined {
  try {
    return parseLoneStatement(text);
  } catch (cause) {
    throw new MigrationError(`migration ${name}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Applies pending migrations and returns their names. Throws if an applied migration has been edited. `report` is told
 * which sessions a migration without a transaction waits for.
 */
export function migrate(
  url: string,
  migrations: readonly Migration[],
  report: (message: string) => void = () => {},
): Promise<string[]> {
  return withMigrationLock(url, async (client) => {
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    );
    const pending = await listPendingMigrations(client, migrations);
    await checkMigrations(client, pending);
    for (const migration of pending) {
      if (migration.alone === undefined) await apply(client, migration);
      else await applyAlone(client, migration, migration.alone, { connect: () => connect(url), report });
    }
    return pending.map((migration) => migration.name);
  });
}

/** Runs `work` on a separate connection, while no other process is migrating. */
export async function withMigrationLock<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(url);
  try {
    await takeMigrationLock(client);
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * A statement that waited for the lock would hold a snapshot, which building an index concurrently waits for: a
 * deadlock. So this asks again and again.
 */
async function takeMigrationLock(client: pg.Client): Promise<void> {
  const tryLock = () => client.query<{ is_locked: boolean }>('select pg_try_advisory_lock($1) as is_locked', [lockId]);
  while (!(await tryLock()).rows[0]?.is_locked) await sleep(lockPollMs);
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // the statement that lost the connection fails, too
  await client.connect();
  return client;
}

/** Throws if an applied migration has been edited. */
export async function listPendingMigrations(
  client: pg.ClientBase | pg.Pool,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const applied = await readApplied(client);
  return migrations.filter((migration) => {
    const found = applied.get(migration.name);
    if (found !== undefined && found.checksum !== migration.checksum)
      throw new MigrationError(
        `migration ${migration.name} was edited after it was applied. Restore the file from the release that applied it.`,
      );
    return found === undefined;
  });
}

/** Runs the migrations' checks and throws if one fails. Changes nothing. */
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
// While a schema change waits for its lock, all reads of the table wait behind it.
const limitLockWaits = "set local lock_timeout = '5s'";

/** Maps names to applied migrations. Empty for an empty database, where the table does not yet exist. */
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
    await recordApplied(client, migration);
    await client.query('commit');
  } catch (cause) {
    await client.query('rollback').catch(() => {}); // the connection may be lost
    throw toFailure(migration, cause);
  }
}

const recordApplied = (client: pg.Client, { name, checksum }: Migration) =>
  client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum]);

interface Waiting {
  connect(): Promise<pg.Client>;
  report(message: string): void;
}

async function applyAlone(
  client: pg.Client,
  migration: Migration,
  alone: LoneStatement,
  { connect, report }: Waiting,
): Promise<void> {
  const stop = await reportWaits(client, connect, (holders) => report(`${migration.name} waits for ${holders}`));
  try {
    await runLoneStatement(client, alone);
    await recordApplied(client, migration);
  } catch (cause) {
    if (isConnectionLost(cause)) throw toFailure(migration, cause);
    const { message } = cause as Error;
    throw new MigrationError(
      `migration ${migration.name} failed: ${message}. Remove the cause and run it again: it starts over.`,
      { cause },
    );
  } finally {
    await stop();
  }
}

const isConnectionLost = (error: unknown): boolean => classifyFailure(error) === 'connection_lost';

/** If the connection is lost, nobody knows whether the commit happened. */
const toFailure = ({ name }: Migration, cause: unknown): MigrationError =>
  new MigrationError(
    isConnectionLost(cause)
      ? `The connection to PostgreSQL was lost during migration ${name}. Run plinth migrate again: it continues there.`
      : `migration ${name} failed: ${(cause as Error).message}. None of it was applied.`,
    { cause },
  );
