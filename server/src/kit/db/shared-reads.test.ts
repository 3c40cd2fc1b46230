// Tests of the connections that lookups share, with a proxy that counts round trips and fails as a network does.
import { sql } from 'kysely';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type AnyDb, openDatabase, preparedRead, transaction } from './database.ts';

const cloned = await cloneTemplate();
const owner = openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1 });
const ownDb = owner.db as AnyDb;
await sql`create table notes (id int primary key, text text not null)`.execute(ownDb);
const proxy = await startDatabaseProxy(cloned.ownerUrl);
const database = openDatabase<never>({ url: proxy.url, poolSize: 4 });
const db = database.db as AnyDb;
afterAll(async () => {
  await database.close();
  await owner.close();
  proxy.close();
});

const readText = preparedRead<{ text: string; pid: number; read_only: 'on' | 'off' }, [id: number]>(
  'read note',
  `select text, pg_backend_pid() as pid, current_setting('transaction_read_only') as read_only from notes where id = $1`,
);
const readSlowly = preparedRead<{ done: string }, [seconds: number]>(
  'sleep',
  `select pg_sleep($1)::text || 'done' as done`,
);
const write = preparedRead<object, [id: number]>('write note', `insert into notes values ($1, 'written')`);

const readTimes = async (times: number) =>
  (await Promise.all(Array.from({ length: times }, () => readText(db, 1)))).flat();

/** Waits until both shared connections are open, and returns their process ids. */
async function waitUntilShared(): Promise<number[]> {
  let pids: number[] = [];
  const listShared = async () => {
    const shared = (await readTimes(40)).filter((row) => row.read_only === 'on');
    pids = [...new Set(shared.map(({ pid }) => pid))].sort();
    return pids;
  };
  await expect.poll(listShared, { timeout: 10_000 }).toHaveLength(2);
  return pids;
}

beforeEach(async () => {
  await sql`delete from notes`.execute(ownDb);
  await sql`insert into notes values (1, 'first')`.execute(ownDb);
  await waitUntilShared();
});

it('sends the lookups of one turn of the event loop in one round trip per connection', async () => {
  const before = proxy.roundTrips;
  await readTimes(40);
  expect(proxy.roundTrips - before).toBe(2);
});

it('sees every change that was committed before', async () => {
  for (const text of ['second', 'third', 'fourth']) {
    await sql`update notes set text = ${text}`.execute(ownDb);
    expect(await readText(db, 1)).toMatchObject([{ text }]);
  }
});

it('reads in the transaction that it is called with', async () => {
  await transaction(db, async (db) => {
    await sql`update notes set text = 'changed'`.execute(db);
    expect(await readText(db, 1)).toMatchObject([{ text: 'changed' }]);
  });
});

it('answers through the pool what takes too long, and what waited behind it', async () => {
  const slow = Array.from({ length: 4 }, () => readSlowly(db, 0.8)); // two on each connection
  const [behind] = await readText(db, 1);
  expect(behind?.read_only).toBe('off');
  expect((await Promise.all(slow)).flat()).toEqual(Array.from({ length: 4 }, () => ({ done: 'done' })));
});

it('answers through the pool what is more than its connections take', async () => {
  const rows = await readTimes(300);
  expect(rows.filter((row) => row.read_only === 'on')).toHaveLength(100);
  expect(rows.filter((row) => row.read_only === 'off')).toHaveLength(200);
});

it('answers through the pool if the connection is lost, and opens it again', async () => {
  const before = await waitUntilShared();
  proxy.cutAfter('read note');
  expect((await readTimes(10)).filter(({ text }) => text === 'first')).toHaveLength(10);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await waitUntilShared()).not.toEqual(before);
});

it('never writes', async () => {
  await expect(write(db, 2)).rejects.toMatchObject({ code: '25006' });
  expect(await readText(db, 2)).toEqual([]);
});
