// Tests migrations that lose their connection, and those that run without a transaction.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type Migration, MigrationError, migrate, readMigrations } from './migrate.ts';
import { reportWaits } from './migrate-alone.ts';

const database = await cloneTemplate();
const client = new pg.Client({ connectionString: database.ownerUrl });
const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

const header = '-- module: tests\n-- transaction: none\n';
async function readOne(name: string, text: string): Promise<Migration> {
  await writeFile(join(folder, name), text);
  const found = (await readMigrations(folder)).find((migration) => migration.name === name);
  await rm(join(folder, name));
  return found as Migration;
}
const isValid = async (index: string) =>
  (await client.query('select indisvalid from pg_index where indexrelid = to_regclass($1)', [index])).rows[0]
    ?.indisvalid;
const isApplied = async (name: string) =>
  (await client.query('select from migrations where name = $1', [name])).rowCount === 1;

describe('a migration whose connection is lost', () => {
  /** Ends the session that runs a statement with this text. */
  async function terminate(text: string): Promise<void> {
    const isTerminated = async () =>
      (
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and state = 'active' and query like $1 and pid <> pg_backend_pid()`,
          [`%${text}%`],
        )
      ).rowCount;
    await expect.poll(isTerminated).toBe(1);
  }

  it.each([
    ['9011_lost.sql', '-- module: tests\nlock table lost;\n'],
    ['9012_lost_alone.sql', `${header}create index concurrently lost_n on lost (n);\n`],
  ])('%s says so, and is applied when it is run again', async (name, text) => {
    const migration = await readOne(name, text);
    await client.query('create table if not exists lost (n integer)');
    const other = new pg.Client({ connectionString: database.ownerUrl });
    await other.connect();
    await other.query('begin; insert into lost values (1)');
    const failed = expect(migrate(database.ownerUrl, [migration])).rejects.toThrow(
      `The connection to PostgreSQL was lost during migration ${name}. Run plinth migrate again`,
    );
    await terminate(migration.alone === undefined ? 'lock table lost' : 'create index concurrently lost_n');
    await failed;
    await other.end();
    expect(await isApplied(name)).toBe(false);
    expect(await migrate(database.ownerUrl, [migration])).toEqual([name]);
  });
});

describe('a migration without a transaction', () => {
  it('builds an index while a transaction that has written to the table is open, and lets others write meanwhile', async () => {
    await client.query('create table busy (n integer)');
    const migration = await readOne(
      '9001_busy.sql',
      `${header}-- why\ncreate index concurrently busy_n on busy (n);\n`,
    );
    const other = new pg.Client({ connectionString: database.ownerUrl });
    await other.connect();
    await other.query('begin; insert into busy values (1)');
    const migrated = migrate(database.ownerUrl, [migration]);
    await expect.poll(() => isValid('busy_n')).toBe(false);
    await client.query("set lock_timeout = '1s'");
    await client.query('insert into busy values (2)');
    expect(await isApplied('9001_busy.sql')).toBe(false);
    await other.query('commit');
    await other.end();
    expect(await migrated).toEqual(['9001_busy.sql']);
    expect(await isValid('busy_n')).toBe(true);
    expect(await isApplied('9001_busy.sql')).toBe(true);
  });

  it('starts over after a build that failed, and does not build twice what only was not recorded', async () => {
    await client.query('create table twice (n integer); insert into twice values (1), (1)');
    const migration = await readOne(
      '9002_twice.sql',
      `${header}create unique index concurrently twice_n\n  on twice (n);\n`,
    );
    await expect(migrate(database.ownerUrl, [migration])).rejects.toThrow(MigrationError);
    expect(await isValid('twice_n')).toBe(false);
    expect(await isApplied('9002_twice.sql')).toBe(false);
    await client.query('delete from twice');
    await migrate(database.ownerUrl, [migration]);
    expect(await isValid('twice_n')).toBe(true);
    const { rows: built } = await client.query("select 'twice_n'::regclass::oid as oid");
    await client.query("delete from migrations where name = '9002_twice.sql'"); // as if it had crashed before
    await migrate(database.ownerUrl, [migration]);
    expect((await client.query("select 'twice_n'::regclass::oid as oid")).rows).toEqual(built);
    expect(await isApplied('9002_twice.sql')).toBe(true);
  });

  it('is applied once by two processes that migrate at the same time', async () => {
    await client.query('create table shared (n integer)');
    const migration = await readOne('9004_shared.sql', `${header}create index concurrently shared_n on shared (n);\n`);
    const both = [1, 2].map(() => migrate(database.ownerUrl, [migration]));
    expect((await Promise.all(both)).flat()).toEqual(['9004_shared.sql']);
    expect(await isValid('shared_n')).toBe(true);
  });

  it.each([
    ['two statements', 'create index concurrently a on b (c);\ncreate index concurrently d on b (e);'],
    ['a statement that cannot be repeated', 'alter table b add column c integer;'],
    ['an index that would stop writes', 'create index a on b (c);'],
    ['a block', 'begin; create index concurrently a on b (c);'],
  ])('is refused when it is read if it has %s', async (_, statement) => {
    await expect(readOne('9003_refused.sql', `${header}${statement}\n`)).rejects.toThrow(
      /migration 9003_refused.sql: without/,
    );
    await rm(join(folder, '9003_refused.sql'));
  });

  it('says which session it waits for', async () => {
    await client.query('begin; lock table migrations in access exclusive mode');
    const waiter = new pg.Client({ connectionString: database.ownerUrl });
    await waiter.connect();
    const connect = async () => {
      const connected = new pg.Client({ connectionString: database.ownerUrl });
      await connected.connect();
      return connected;
    };
    const reports: string[] = [];
    const stop = await reportWaits(waiter, connect, (holders) => reports.push(holders), 20);
    const waiting = waiter.query('select from migrations');
    await expect
      .poll(() => reports[0])
      .toMatch(/^process \d+ \(no name, idle in transaction, transaction open for \d+ s\)$/);
    await client.query('rollback');
    await waiting;
    await stop();
    await waiter.end();
  });
});
