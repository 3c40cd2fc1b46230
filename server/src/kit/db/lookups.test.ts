// Tests combined lookups, using a proxy that counts round trips and simulates network failures.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts';
import { cloneTemplate } from '../../../test/support/template.ts';
import { collectHolds } from '../process-time.ts';
import { createClientClass } from './client.ts';
import { type AnyDb, openDatabase, preparedLookup, transaction } from './database.ts';
import { type LookupTexts, openLookups, writeLookup } from './lookups.ts';
import { openSharedReads, WrongAnswer } from './shared-reads.ts';

const cloned = await cloneTemplate();
const owner = openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1 });
const ownDb = owner.db as AnyDb;
await sql`create table notes (name text primary key, text text not null)`.execute(ownDb);
const proxy = await startDatabaseProxy(cloned.ownerUrl);
let sent: number[] = [];
const database = openDatabase<never>({
  url: proxy.url,
  poolSize: 4,
  acquireTimeoutMs: 60_000,
  lookups: { onSent: (lookups) => sent.push(lookups) },
});
const db = database.db as AnyDb;
afterAll(async () => {
  await database.close();
  await owner.close();
  proxy.close();
});

interface Note {
  readonly name: string;
  readonly text: string;
  readonly pid: number;
  readonly read_only: 'on' | 'off';
}
const noteColumns = `name, text, pg_backend_pid() as pid, current_setting('transaction_read_only') as read_only`;
const lookUp = preparedLookup<Note, [name: string]>(
  'test: look up note',
  `select to_json(x) as found from (select ${noteColumns} from notes where name = $1) x`,
  ['text'],
);
/** The second value is the number of seconds to wait. If it is not a number, the lookup fails. */
const lookUpSlowly = preparedLookup<Note, [name: string, seconds: string]>(
  'test: look up note slowly',
  `select to_json(x) as found from (
    select ${noteColumns} from notes where name = $1 and pg_sleep($2::float)::text = '') x`,
  ['text', 'text'],
);
const write = preparedLookup<string, [name: string]>(
  'test: write note',
  `select to_json(nextval($1::regclass)) as found`,
  ['text'],
);

const names = (count: number) => Array.from({ length: count }, (_, index) => `note ${index}`);
const lookUpAll = (count: number) => Promise.all(names(count).map((name) => lookUp(db, name)));

/** Waits until both shared connections are open and returns their process ids. */
async function waitUntilShared(): Promise<number[]> {
  let pids: number[] = [];
  const listShared = async () => {
    const shared = (await lookUpAll(40)).filter((note) => note?.read_only === 'on');
    pids = [...new Set(shared.map((note) => note?.pid ?? 0))].sort();
    return pids;
  };
  await expect.poll(listShared).toHaveLength(2);
  return pids;
}

beforeEach(async () => {
  await sql`delete from notes`.execute(ownDb);
  await sql`insert into notes select 'note ' || n, 'text ' || n from generate_series(0, 299) n`.execute(ownDb);
  await waitUntilShared();
  sent = [];
});

it('sends the lookups of one turn of the event loop as statements of at most 16, in one round trip per connection', async () => {
  const before = proxy.roundTrips;
  await lookUpAll(40);
  expect(proxy.roundTrips - before).toBe(2);
  expect(sent).toEqual([16, 16, 8]);
});

it('answers each with its own row, and undefined where there is none', async () => {
  const asked = ['note 7', 'nobody', 'note 3', 'note 7', ''];
  const found = await Promise.all(asked.map((name) => lookUp(db, name)));
  expect(found.map((note) => note?.text)).toEqual(['text 7', undefined, 'text 3', 'text 7', undefined]);
  expect(await lookUp(db, 'nobody')).toBeUndefined();
});

it('sees every change that was committed before', async () => {
  for (const text of ['second', 'third', 'fourth']) {
    await sql`update notes set text = ${text}`.execute(ownDb);
    expect((await lookUpAll(5)).map((note) => note?.text)).toEqual(Array(5).fill(text));
  }
});

it('reads in the transaction that it is called with', async () => {
  await transaction(db, async (db) => {
    await sql`update notes set text = 'changed'`.execute(db);
    expect(await lookUp(db, 'note 1')).toMatchObject({ text: 'changed' });
  });
});

it('never writes', async () => {
  await sql`create sequence if not exists numbers`.execute(ownDb);
  await expect(write(db, 'numbers')).rejects.toMatchObject({ code: '25006' });
});

it('sends lookups of known callers and of strangers in different statements', async () => {
  const { strangersDb } = database;
  const found = await Promise.all(names(6).map((name, index) => lookUp(index % 2 ? db : strangersDb, name)));
  expect(found.map((note) => note?.name)).toEqual(names(6));
  expect(sent).toEqual([3, 3]);
});

describe('a lookup with others in its statement', () => {
  it('is answered through the pool if another one takes too long', async () => {
    const found = await Promise.all([
      lookUpSlowly(db, 'note 1', '0.8'),
      lookUpSlowly(db, 'note 2', '0'),
      lookUpSlowly(db, 'note 3', '0'),
    ]);
    expect(sent).toEqual([3]);
    expect(found).toMatchObject([1, 2, 3].map((n) => ({ name: `note ${n}`, read_only: 'off' })));
  });

  it('is answered if another one fails, which gets its own error', async () => {
    const [good, bad, alsoGood] = await Promise.allSettled([
      lookUpSlowly(db, 'note 1', '0'),
      lookUpSlowly(db, 'note 2', 'soon'),
      lookUpSlowly(db, 'note 3', '0'),
    ]);
    expect(sent).toEqual([3]);
    expect(good).toMatchObject({ value: { name: 'note 1' } });
    expect(bad).toMatchObject({ reason: { code: '22P02' } });
    expect(alsoGood).toMatchObject({ value: { name: 'note 3' } });
  });

  it('is answered through the pool if its table is locked for longer than a statement may take', async () => {
    const locked = Promise.withResolvers<void>();
    const locking = transaction(ownDb, async (tx) => {
      await sql`lock table notes in access exclusive mode`.execute(tx);
      locked.resolve();
      await new Promise((resolve) => setTimeout(resolve, 2_000)); // lookup statements time out after 500 ms
    });
    await locked.promise;
    const found = await lookUpAll(4);
    await locking;
    expect(found.map((note) => [note?.name, note?.read_only])).toEqual(names(4).map((name) => [name, 'off']));
  });

  it('is answered through the pool if the connection is lost, which is opened again', async () => {
    const before = await waitUntilShared();
    proxy.cutAfter('test: look up note, many');
    expect((await lookUpAll(10)).map((note) => note?.name)).toEqual(names(10));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await waitUntilShared()).not.toEqual(before);
  });

  it('is answered through the pool if it waits behind one that takes too long', async () => {
    const slow = Array.from({ length: 4 }, () => lookUpSlowly(db, 'note 1', '0.8'));
    await new Promise((resolve) => setImmediate(resolve));
    // Note 2 uses the other connection, and note 3 waits behind one of the slow lookups.
    const more = [lookUpSlowly(db, 'note 2', '0.8'), lookUp(db, 'note 3')];
    expect((await Promise.all([...slow, ...more])).map((note) => note?.name)).toEqual([
      ...Array(4).fill('note 1'),
      'note 2',
      'note 3',
    ]);
  });
});

it('answers through the pool what is more than its connections take', async () => {
  const found = await lookUpAll(300);
  expect(found.map((note) => note?.name)).toEqual(names(300));
  // Each connection takes three statements with 16 lookups each: 48 of at most 50.
  expect(found.filter((note) => note?.read_only === 'on')).toHaveLength(96);
});

it('sends large answers in small statements, and small ones together again later', async () => {
  await sql`update notes set text = repeat('x', 30000) where name = 'note 0'`.execute(ownDb);
  await lookUp(db, 'note 0');
  sent = [];
  await lookUpAll(8);
  expect(sent).toEqual([2, 2, 2, 2]);
  await sql`update notes set text = repeat('x', 300000) where name = 'note 0'`.execute(ownDb);
  await lookUp(db, 'note 0');
  sent = [];
  await lookUpAll(4);
  expect(sent).toEqual([1, 1, 1, 1]);
  for (let n = 0; n < 500; n += 1) await lookUp(db, 'note 1');
  sent = [];
  await lookUpAll(16);
  expect(sent).toEqual([16]);
});

it('counts the parsing of a large answer for the request that asked for it', async () => {
  await sql`update notes set text = repeat('x', 1000000) where name = 'note 0'`.execute(ownDb);
  const held = { large: 0, small: 0 };
  const lookUpBoth = () =>
    Promise.all([
      collectHolds(
        (ms) => (held.large += ms),
        () => lookUp(db, 'note 0'),
      ),
      collectHolds(
        (ms) => (held.small += ms),
        () => lookUp(db, 'note 1'),
      ),
    ]);
  // The kernel may measure thread time in steps of several milliseconds, while parsing takes only one or two.
  for (let n = 0; n < 100 && held.large === 0; n += 1) await lookUpBoth();
  expect(held.large).toBeGreaterThan(0);
  expect(held.large).toBeGreaterThan(held.small);
});

describe('an answer that is that of another lookup', () => {
  const text = `select to_json(x) as found from (select ${noteColumns} from notes where name = $1) x`;
  const right = writeLookup(text, ['text']);
  const rotate = (many: string) =>
    `select found, key, (n % count(*) over () + 1)::integer as n from (${many}) shifted order by 3`;
  const withoutLast = (many: string) =>
    `select * from (${many}) cut where n < (select count(*) from (${many}) counted)`;

  async function openPlanted(texts: LookupTexts) {
    let opened = 0;
    const Client = createClientClass(undefined);
    const shared = openSharedReads(() => {
      opened += 1;
      return new Client({ connectionString: cloned.ownerUrl, pipeline: true });
    });
    let wrongAnswers = 0;
    const lookups = openLookups(shared, { onWrongAnswer: () => (wrongAnswers += 1) });
    const ask = (...asked: string[]) => Promise.allSettled(asked.map((name) => lookups.lookUp(texts, [name])));
    await expect.poll(async () => (await ask('note 1'))[0]).toMatchObject({ value: { name: 'note 1' } });
    return { ask, shared, count: () => ({ opened, wrongAnswers }) };
  }

  it.each([
    ['shifted by one', rotate],
    ['one too few', withoutLast],
  ])('fails each of its lookups, and closes the connection: %s', async (_what, plant) => {
    const { ask, shared, count } = await openPlanted({ ...right, many: plant(right.many) });
    const answers = await ask('note 1', 'note 2', 'note 3');
    expect(answers.every((answer) => answer.status === 'rejected' && answer.reason instanceof WrongAnswer)).toBe(true);
    expect(count()).toEqual({ opened: 2, wrongAnswers: 1 });
    // The connection is reopened after a pause.
    const askAgain = async () => {
      await ask('note 1');
      return count().opened;
    };
    await expect.poll(askAgain).toBe(3);
    await shared.close();
  });
});
