// Tests who is named as the holder of an old snapshot, and that a worker's sessions are terminated whatever they do.
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type AnyDb, openDatabase } from '../db/database.ts';
import { countDeadRows, listSnapshotHolders, maySeeAllSnapshots, nameTransaction } from './snapshots.ts';
import { acquireSlot } from './workers/slots.ts';

const cloned = await cloneTemplate();
const watching = openDatabase<never>({ url: cloned.url, poolSize: 1 });
const db = watching.db as AnyDb;
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close();
});
afterAll(async () => {
  await watching.close();
  await cloned.drop();
});

/** Begins a transaction that stays open until the test ends, in a session with this name. */
async function beginTransaction(applicationName: string, work: (db: AnyDb) => Promise<unknown>): Promise<void> {
  const database = openDatabase<never>({ url: cloned.url, poolSize: 1, applicationName });
  const ended = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const transaction = (database.db as AnyDb)
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      await work(db);
      began.resolve();
      await ended.promise;
    })
    .catch(began.reject);
  opened.push({
    async close() {
      ended.resolve();
      await transaction;
      await database.close();
    },
  });
  await began.promise;
}
const read = (db: AnyDb) => sql`select count(*) from events`.execute(db);
const listNames = async () => (await listSnapshotHolders(db)).map(({ holder }) => holder);

describe('the holders of snapshots', () => {
  it('are named after what the session does', async () => {
    expect(await listSnapshotHolders(db)).toEqual([]);
    await beginTransaction('psql', read);
    await beginTransaction('plinth', read);
    await beginTransaction('plinth worker 3.17', read);
    await beginTransaction('plinth worker 4.17', async (db) => {
      await nameTransaction(db, 'export');
      await read(db);
    });
    await beginTransaction('', read);
    expect((await listNames()).sort()).toEqual(['api', 'export', 'psql', 'unnamed', 'worker']);
  });

  it('have the age of their oldest transaction, and how many transactions began since', async () => {
    await beginTransaction('psql', read);
    await sql`select pg_sleep(0.3)`.execute(db);
    await beginTransaction('psql', read);
    const before = (await listSnapshotHolders(db))[0]?.transactions ?? Number.NaN;
    for (let n = 0; n < 5; n += 1) await sql`select pg_current_xact_id()`.execute(db);
    const [holder] = await listSnapshotHolders(db);
    expect(holder?.holder).toBe('psql');
    expect(holder?.transactions).toBeGreaterThanOrEqual(before + 5); // others use the server, too
    expect(holder?.seconds).toBeGreaterThan(0.3);
  });

  it('include a session that has changed something and is idle in its transaction', async () => {
    await beginTransaction('forgotten', (db) => sql`select pg_current_xact_id()`.execute(db));
    expect(await listNames()).toEqual(['forgotten']);
  });
});

it('whether the snapshots of other roles are visible depends on pg_read_all_stats', async () => {
  expect(await maySeeAllSnapshots(db)).toBe(false);
  const owner = openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1 });
  opened.push(owner);
  expect(await maySeeAllSnapshots(owner.db as AnyDb)).toBe(true);
});

it('dead rows are counted for the tables that are named', async () => {
  expect(await countDeadRows(db, ['events', 'reset_mails', 'no_such_table'])).toEqual({ events: 0, reset_mails: 0 });
});

it('the next holder of a slot terminates the session of a transaction with a name', async () => {
  const options = { url: cloned.url, slots: 1, leaseMs: 500 };
  const { signal } = new AbortController();
  const first = await acquireSlot(options, signal);
  if (first === undefined) throw new Error('the slot was not acquired');
  const left = openDatabase<never>({ url: cloned.url, poolSize: 1, applicationName: first.sessionName });
  opened.push(left);
  const transaction = (left.db as AnyDb).transaction().execute(async (db: AnyDb) => {
    await nameTransaction(db, 'export');
    await sql`select pg_sleep(20)`.execute(db);
  });
  const failed = transaction.then(
    () => 'it continued',
    () => 'it was terminated',
  );
  await expect.poll(listNames).toEqual(['export']);
  await first.release();
  const second = await acquireSlot(options, signal);
  expect(await failed).toBe('it was terminated');
  await second?.release();
});
