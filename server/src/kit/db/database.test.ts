// Tests connections and transactions, using a proxy that counts round trips and simulates network failures.
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts';
import { cloneTemplate } from '../../../test/support/template.ts';
import { createProcessTime } from '../process-time.ts';
import {
  type AnyDb,
  afterCommit,
  copyRows,
  openDatabase,
  prepared,
  takeAdvisoryLock,
  transaction,
  transactionOf,
  withTimeLimit,
} from './database.ts';
import { classifyFailure } from './failures.ts';
import { sendTogether, sendWithCommit, sendWithCommitForRows } from './send.ts';

const cloned = await cloneTemplate();
const owner = openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1 });
const ownDb = owner.db as AnyDb;
await sql`create table notes (id int unique deferrable initially immediate, text text not null)`.execute(ownDb);
const proxy = await startDatabaseProxy(cloned.ownerUrl);
const open = () => openDatabase<never>({ url: proxy.url, poolSize: 1 });
let database = open();
let db = database.db as AnyDb;
async function reopen(): Promise<void> {
  await database.close();
  database = open();
  db = database.db as AnyDb;
}
afterAll(async () => {
  await database.close();
  await owner.close();
  proxy.close();
});

const insert = prepared<{ id: number }, [id: unknown, text: string | null]>(
  'insert note',
  'insert into notes (id, text) values ($1, $2) returning id',
);
const listIds = async () =>
  (await sql<{ id: number }>`select id from notes order by id`.execute(ownDb)).rows.map(({ id }) => id);

async function countRoundTrips(work: () => Promise<unknown>): Promise<number> {
  const before = proxy.roundTrips;
  await work();
  return proxy.roundTrips - before;
}

const catchError = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('nothing was thrown'),
    (error: unknown) => error,
  );

beforeEach(async () => {
  await sql`delete from notes`.execute(ownDb);
  await transaction(db, (db) => sql`select 0`.execute(db)); // the first transaction prepares `begin`
});

describe('a silent server', () => {
  const impatient = openDatabase<never>({ url: proxy.url, poolSize: 1, silenceTimeoutMs: 1_000 });
  afterAll(() => impatient.close());

  it('is not assumed while a connection is idle', async () => {
    await sql`select 1`.execute(impatient.db);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const before = proxy.connections;
    await sql`select 2`.execute(impatient.db);
    expect(proxy.connections).toBe(before);
  });

  it('makes its connection fail with an unknown outcome, and another one is opened', async () => {
    proxy.silence();
    const failure = await catchError(sql`select 3`.execute(impatient.db));
    expect(classifyFailure(failure)).toBe('connection_lost');
    expect((await sql`select 4 as four`.execute(impatient.db)).rows).toEqual([{ four: 4 }]);
    await reopen();
  });

  it('is waited for if there is no limit', async () => {
    const slow = sql`select pg_sleep(0.5)`;
    const openWith = (silenceTimeoutMs: number) =>
      openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1, silenceTimeoutMs });
    const [limited, patient] = [openWith(100), openWith(0)];
    expect(classifyFailure(await catchError(slow.execute(limited.db)))).toBe('connection_lost');
    expect((await slow.execute(patient.db)).rows).toHaveLength(1);
    await limited.close();
    await patient.close();
  });
});

describe('a large answer', () => {
  afterEach(() => void vi.useRealTimers());
  const selectMany = sql`select i, i::text as text, now() as at from generate_series(1, 200000) as i`;

  it('lets others run between its chunks', async () => {
    const client = await owner.pool.connect();
    let [chunks, mostInOneTurn] = [0, 0];
    client.connection.stream.on('data', () => {
      if (chunks === 0) setImmediate(() => (chunks = 0));
      chunks += 1;
      mostInOneTurn = Math.max(mostInOneTurn, chunks);
    });
    const answer = client.query(selectMany.compile(owner.db).sql, []);
    await new Promise((resolve) => setImmediate(resolve)); // the query has been sent
    for (const end = performance.now() + 300; performance.now() < end; ); // much of the result has arrived
    await answer;
    client.release();
    expect(mostInOneTurn).toBeLessThan(16); // otherwise, a socket is read up to 32 times in one turn
  });

  it('counts for the request that asked for it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] }); // prevents owners from earning time back
    const time = createProcessTime();
    time.run('another workspace', () => {});
    const selectTimes = sql`select ${sql.raw(Array(10).fill('now()').join(', '))} from generate_series(1, 80000)`;
    await time.run('a workspace', () => selectTimes.execute(owner.db));
    expect([time.mayRun('a workspace'), time.mayRun('another workspace')]).toEqual([false, true]);
  });
});

describe('a transaction', () => {
  it('sends begin with its first statement, and what waits for the commit with the commit', async () => {
    const trips = await countRoundTrips(() =>
      transaction(db, async (db) => {
        await sendWithCommit(db, insert.query(2, 'b'));
        await insert(db, 1, 'a');
        await sendWithCommit(db, insert.query(3, 'c'));
      }),
    );
    expect([await listIds(), trips]).toEqual([[1, 2, 3], 2]);
  });

  it('sends nothing if it contains no statement', async () => {
    expect(await countRoundTrips(() => transaction(db, async () => {}))).toBe(0);
    const failed = transaction(db, () => Promise.reject(new Error('refused')));
    await expect(failed).rejects.toThrow('refused');
  });

  it('sends statements together, and returns the rows of each', async () => {
    let rows: unknown;
    const trips = await countRoundTrips(() =>
      transaction(db, async (db) => {
        rows = await sendTogether(
          db,
          insert.query(1, 'a'),
          sql<{ n: number }>`select count(*) as n from notes`.compile(db),
        );
      }),
    );
    expect([rows, trips]).toEqual([[[{ id: 1 }], [{ n: 1 }]], 2]);
  });

  it('of statements that are known in advance takes one round trip', async () => {
    let rows: unknown;
    const count = sql<{ n: number }>`select count(*) as n from notes`.compile(db);
    const trips = await countRoundTrips(async () => {
      rows = await transactionOf(db, insert.query(1, 'a'), insert.query(2, 'b'), count);
    });
    expect([rows, trips]).toEqual([[[{ id: 1 }], [{ id: 2 }], [{ n: 2 }]], 1]);
    expect(await catchError(transactionOf(db, insert.query(3, 'c'), insert.query(3, 'again'), count))).toMatchObject({
      code: '23505',
    });
    expect(await listIds()).toEqual([1, 2]);
  });

  it('returns the rows of a statement that was sent with the commit after it, not before', async () => {
    let hasRows = false;
    const sent = await transaction(db, async (db) => {
      const sent = await sendWithCommitForRows(db, insert.query(1, 'a'));
      expect(() => sent.rows).toThrow('committed');
      afterCommit(db, () => (hasRows = sent.rows.length === 1));
      return sent;
    });
    expect([sent.rows, hasRows]).toEqual([[{ id: 1 }], true]);
  });

  it('keeps nothing of statements sent together if one of them fails', async () => {
    const failed = transaction(db, (db) =>
      sendTogether(db, insert.query(1, 'a'), insert.query(2, null), insert.query(3, 'c')),
    );
    expect(await catchError(failed)).toMatchObject({ code: '23502' });
    expect(await listIds()).toEqual([]);
  });

  it.each([2, 3, 4, 8])('keeps nothing of %i statements that were started at once if one fails', async (n) => {
    for (let round = 0; round < 10; round++) {
      for (let failing = 0; failing < n; failing++) {
        const ids = Array.from({ length: n }, (_, id) => id);
        const failed = transaction(db, (db) =>
          Promise.all(ids.map((id) => insert(db, id, id === failing ? null : 'a'))),
        );
        expect(await catchError(failed)).toMatchObject({ code: expect.stringMatching(/^(23502|25P02)$/) });
      }
    }
    expect(await listIds()).toEqual([]);
  });

  it('keeps nothing of what continues after another part of it has failed', async () => {
    const started: Promise<unknown>[] = [];
    const writeThree = async (db: AnyDb) => {
      for (const id of [1, 2, 3]) await insert(db, id, 'a');
    };
    const failed = transaction(db, async (db) => {
      started.push(writeThree(db));
      await insert(db, 4, 'a');
      throw new Error('refused');
    });
    await expect(failed).rejects.toThrow('refused');
    expect((await Promise.allSettled(started)).map(({ status }) => status)).toEqual(['rejected']);
    expect(await listIds()).toEqual([]);
    await insert(db, 5, 'the connection is still good');
  });

  it('fails with the error of a statement that was sent with the commit', async () => {
    let isCommitted = false;
    const failed = transaction(db, async (db) => {
      afterCommit(db, () => (isCommitted = true));
      await insert(db, 1, 'a');
      await sendWithCommit(db, insert.query(2, 'b'));
      await sendWithCommit(db, insert.query(1, 'again'));
      await sendWithCommit(db, insert.query(3, 'c'));
    });
    expect(await catchError(failed)).toMatchObject({ code: '23505' });
    expect([await listIds(), isCommitted]).toEqual([[], false]);
    await insert(db, 4, 'the connection is still good');
  });

  it('keeps nothing if a value of a statement sent with the commit cannot be converted', async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const failed = transaction(db, async (db) => {
      await insert(db, 1, 'a');
      await sendWithCommit(db, insert.query(circular, 'b'));
    });
    expect(String(await catchError(failed))).toContain('circular');
    expect(await listIds()).toEqual([]);
  });

  it('fails if an error was ignored, because PostgreSQL has rolled it back', async () => {
    const failed = transaction(db, async (db) => {
      await insert(db, 1, 'a');
      await insert(db, 2, null).catch(() => {});
    });
    await expect(failed).rejects.toThrow();
    expect(await listIds()).toEqual([]);
  });

  it('fails if a deferred constraint fails at the commit', async () => {
    let isCommitted = false;
    const failed = transaction(db, async (db) => {
      afterCommit(db, () => (isCommitted = true));
      await sql`set constraints all deferred`.execute(db);
      await sendTogether(db, insert.query(1, 'a'), insert.query(1, 'again'));
      await sendWithCommit(db, insert.query(2, 'b'));
    });
    expect(await catchError(failed)).toMatchObject({ code: '23505' });
    expect([await listIds(), isCommitted]).toEqual([[], false]);
  });

  it('reports an unknown outcome if the connection is lost before the commit is answered', async () => {
    let isCommitted = false;
    proxy.cutAfter('sent with the commit');
    const failed = transaction(db, async (db) => {
      afterCommit(db, () => (isCommitted = true));
      await insert(db, 1, 'a');
      await sendWithCommit(db, insert.query(2, 'sent with the commit'));
    });
    expect(classifyFailure(await catchError(failed))).toBe('connection_lost');
    expect(isCommitted).toBe(false);
    // The server has received everything, so both rows exist or soon will.
    await expect.poll(listIds).toEqual([1, 2]);
    await insert(db, 3, 'on another connection');
  });

  it('keeps nothing if the connection is lost before the commit was sent', async () => {
    proxy.cutAfter('the last');
    const failed = transaction(db, async (db) => {
      await insert(db, 1, 'a');
      await insert(db, 2, 'the last');
      await sendWithCommit(db, insert.query(3, 'c'));
    });
    expect(classifyFailure(await catchError(failed))).toBe('connection_lost');
    expect(await listIds()).toEqual([]);
  });

  it('does not run its first statement if begin fails', async () => {
    await sql`deallocate "begin"`.execute(db);
    const failed = transaction(db, (db) => insert(db, 1, 'a'));
    expect(await catchError(failed)).toMatchObject({ code: '26000' });
    expect(await listIds()).toEqual([]);
    await reopen();
  });

  it('may begin with a copy, and copies nothing if it fails', async () => {
    const copy = (db: AnyDb) => copyRows(db, 'copy notes (id, text) from stdin', '1\ta\n2\tb\n');
    const failed = transaction(db, async (db) => {
      await copy(db);
      await insert(db, 1, 'again');
    });
    expect(await catchError(failed)).toMatchObject({ code: '23505' });
    expect(await listIds()).toEqual([]);
    await transaction(db, copy);
    expect(await listIds()).toEqual([1, 2]);
  });

  it('takes a lock without a round trip for it, and fails with the reason if it does not get it', async () => {
    const insertUnderLock = () =>
      transaction(db, async (db) => {
        await takeAdvisoryLock(db, 'notes');
        await insert(db, 1, 'a');
      });
    expect(await countRoundTrips(insertUnderLock)).toBe(2);
    await transaction(ownDb, async (other) => {
      await takeAdvisoryLock(other, 'notes');
      await sql`delete from notes`.execute(other);
      expect(await catchError(insertUnderLock())).toMatchObject({ code: '55P03' });
    });
    expect(await listIds()).toEqual([]);
  });

  it('limits the time of its statements without a round trip for the limit', async () => {
    const trips = await countRoundTrips(() => withTimeLimit(db, 5_000, (db) => insert(db, 1, 'a')));
    expect(trips).toBe(2);
    const failed = withTimeLimit(db, 50, (db) => sql`select pg_sleep(5)`.execute(db));
    expect(await catchError(failed)).toMatchObject({ code: '57014' });
    await transaction(db, async (db) => {
      await withTimeLimit(db, 50, (db) => sql`select 1`.execute(db));
      await sql`select pg_sleep(0.2)`.execute(db); // the limit no longer applies
    });
  });
});
