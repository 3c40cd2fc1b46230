// The template database. It is migrated once per run, and every test file clones it in about 40 ms. The product
// connects to the clones with the run role, so every test shows that this role's privileges are sufficient. Also clears
// the record of observed responses (observed.ts).
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import pg from 'pg';
import { migrateAll } from '../../src/commands/migrate.ts';
import { readMigrations } from '../../src/kit/db/migrate.ts';
import { migrationsFolder } from '../../src/release.ts';
import { observedFolder } from './observed.ts';

export const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432';
const runPrefix = 'plinth_run_';
const runRole = 'plinth_test';

export default async function prepare(): Promise<void> {
  // A rerun of failed tests adds to the first run's responses.
  if (process.env.TEST_RUN !== 'repeated') rmSync(observedFolder, { recursive: true, force: true });
  mkdirSync(observedFolder, { recursive: true });
  const migrations = await readMigrations(migrationsFolder);
  const name = templateName(migrations.map((migration) => migration.checksum));
  await asAdmin(async (client) => {
    await dropAbandoned(client, name);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${name}`);
    await createRole(client, runRole); // the role stays on the server, like the template
  });
  await migrateAll(`${serverUrl}/${name}`, withRole(`${serverUrl}/${name}`, runRole));
}

/** Creates a login role if it does not exist, with the same password as the tests' own role. */
export async function createRole(client: pg.Client, role: string): Promise<void> {
  const { password } = new URL(serverUrl);
  await client.query(`do $$ begin create role ${role};
    exception when duplicate_object or unique_violation then null; end $$`);
  await client.query(
    `alter role ${role} login password ${password ? pg.escapeLiteral(decodeURIComponent(password)) : 'null'}`,
  );
}

/** Returns the same database's URL for a different role. */
export function withRole(url: string, role: string): string {
  const changed = new URL(url);
  changed.username = role;
  return changed.href;
}

const templateName = (checksums: readonly string[]): string =>
  `plinth_template_${createHash('sha256').update(checksums.join()).digest('hex').slice(0, 12)}`;

/** Drops the databases of interrupted runs and the templates of older migrations. */
async function dropAbandoned(client: pg.Client, current: string): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    `select d.datname from pg_database d
     where (d.datname like 'plinth\\_run\\_%' or d.datname like 'plinth\\_template\\_%') and d.datname <> $1
       and not exists (select 1 from pg_stat_activity s where s.datname = d.datname)`,
    [current],
  );
  for (const { datname } of rows) {
    const pid = /^plinth_run_(\d+)_/.exec(datname)?.[1];
    if (pid !== undefined && isRunning(Number(pid))) continue;
    await client.query(`drop database if exists ${datname}`);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

let cloneCount = 0;

export interface TestDatabase {
  /** The URL for the product, which connects with the run role. */
  readonly url: string;
  /** The URL for the tests' own statements, with the role that owns the tables. */
  readonly ownerUrl: string;
  /** Runs statements as the owner, for example to create tables for a test. */
  runAsOwner(statements: string): Promise<void>;
  drop(): Promise<void>;
}

/** Creates a migrated database for one test file. */
export async function cloneTemplate(): Promise<TestDatabase> {
  const migrations = await readMigrations(migrationsFolder);
  return createTestDatabase(templateName(migrations.map((migration) => migration.checksum)));
}

/** Creates a database without tables. */
export const createEmptyDatabase = (): Promise<TestDatabase> => createTestDatabase('template1');

async function createTestDatabase(template: string): Promise<TestDatabase> {
  cloneCount += 1;
  const name = `${runPrefix}${process.pid}_${cloneCount}`;
  await asAdmin(async (client) => {
    await client.query(`create database ${name} template ${template} strategy file_copy`);
    // Tests never crash this PostgreSQL server, so commits need not wait for the disk. Drills use their own server.
    await client.query(`alter database ${name} set synchronous_commit = off`);
  });
  const ownerUrl = `${serverUrl}/${name}`;
  return {
    url: withRole(ownerUrl, runRole),
    ownerUrl,
    runAsOwner: (statements) => asAdmin(async (client) => void (await client.query(statements)), name),
    drop: () => asAdmin(async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  };
}

/** Runs `work` on a connection with the tests' own role, which is a superuser. */
export async function asAdmin<Result>(
  work: (client: pg.Client) => Promise<Result>,
  database = 'postgres',
): Promise<Result> {
  const client = new pg.Client(`${serverUrl}/${database}`);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
