// Tests that prepared statements request their columns once per connection, using a proxy that counts the requests.
// Also tests the internal pg fields that the code relies on.
import { readFileSync } from 'node:fs';
import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type AnyDb, copyRows, openDatabase, prepared, transaction } from './database.ts';
import { sendTogether } from './send.ts';

const cloned = await cloneTemplate();
const owner = openDatabase<never>({ url: cloned.ownerUrl, poolSize: 1 });
const ownDb = owner.db as AnyDb;
await sql`create table things (id int unique, name text)`.execute(ownDb);
const proxy = await startDatabaseProxy(cloned.ownerUrl);
const open = (poolSize = 1) => openDatabase<never>({ url: proxy.url, poolSize });
let database = open();
let db = database.db as AnyDb;
async function reopen(poolSize = 1): Promise<void> {
  await database.close();
  database = open(poolSize);
  db = database.db as AnyDb;
}
afterAll(async () => {
  await database.close();
  await owner.close();
  proxy.close();
});

async function countDescribes(work: () => Promise<unknown>): Promise<number> {
  const before = proxy.describes;
  await work();
  return proxy.describes - before;
}

const runAsOwner = (text: string) => ownDb.executeQuery(CompiledQuery.raw(text));

beforeEach(async () => {
  await runAsOwner('truncate things');
  await reopen();
  await transaction(db, (db) => sql`select 0`.execute(db)); // the first transaction prepares `begin`
});

const insert = prepared<{ id: number }, [id: number, name: string | null]>(
  'insert thing',
  'insert into things (id, name) values ($1, $2) returning id',
);
const insertSilently = prepared<never, [id: number]>('insert thing silently', 'insert into things (id) values ($1)');
const list = prepared<{ id: number; name: string | null }, []>(
  'list things',
  'select id, name from things order by id',
);

describe('the columns of a prepared statement', () => {
  const every = prepared<object, [count: number]>(
    'select every type',
    `select i, i + 0.5 as number, 'a' || i as text, i > 1 as flag, null::text as nothing, '{"a": [1]}'::json as json,
       '2026-01-02T03:04:05Z'::timestamptz as at, '\\x0102'::bytea as bytes, array[i, 2] as list
     from generate_series(1, $1::int) as i`,
  );
  const expected = (i: number) => ({
    i,
    number: i + 0.5,
    text: `a${i}`,
    flag: i > 1,
    nothing: null,
    json: { a: [1] },
    at: new Date('2026-01-02T03:04:05Z'),
    bytes: Buffer.from([1, 2]),
    list: [i, 2],
  });

  it('are asked for once, and its rows are the same then as before', async () => {
    const rows: object[][] = [];
    const count = await countDescribes(async () => {
      for (const count of [2, 3, 0, 1]) rows.push(await every(db, count));
    });
    expect(rows).toEqual([[expected(1), expected(2)], [expected(1), expected(2), expected(3)], [], [expected(1)]]);
    expect(count).toBe(1);
  });

  it('are asked for by each connection', async () => {
    await reopen(2);
    const inBoth = () => {
      const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      return Promise.all(
        arrivals.map((arrival, i) =>
          transaction(db, async (db) => {
            await list(db);
            arrival.resolve();
            await Promise.all(arrivals.map(({ promise }) => promise)); // each transaction gets its own connection
            return every(db, i);
          }),
        ),
      );
    };
    const connections = proxy.connections;
    const counts: number[] = [];
    for (let i = 0; i < 2; i += 1)
      counts.push(await countDescribes(async () => expect(await inBoth()).toEqual([[], [expected(1)]])));
    expect(proxy.connections - connections).toBe(2);
    expect(counts).toEqual([6, 0]); // `begin` and two statements on each connection
  });

  it('are asked for by all statements that are sent before the first answer', async () => {
    const send = () => sendTogether(db, every.query(1), every.query(2), every.query(1));
    const rows = [[expected(1)], [expected(1), expected(2)], [expected(1)]];
    const counts = [];
    for (let i = 0; i < 2; i += 1) counts.push(await countDescribes(async () => expect(await send()).toEqual(rows)));
    expect(counts).toEqual([3, 0]);
  });

  it('are asked for once if there are none', async () => {
    const results: unknown[] = [];
    const count = await countDescribes(async () => {
      for (const id of [1, 2]) results.push(await db.executeQuery(insertSilently.query(id)));
    });
    expect(results).toMatchObject([
      { numAffectedRows: 1n, rows: [] },
      { numAffectedRows: 1n, rows: [] },
    ]);
    expect([count, await list(ownDb)]).toEqual([
      1,
      [
        { id: 1, name: null },
        { id: 2, name: null },
      ],
    ]);
  });

  it('are asked for each time if it has no name', async () => {
    const count = await countDescribes(async () => {
      for (const i of [1, 2])
        expect((await sql`select ${i}::int as i, null as nothing`.execute(db)).rows).toEqual([{ i, nothing: null }]);
      expect((await sql`select 3 as i`.execute(db)).rows).toEqual([{ i: 3 }]); // no values: a simple query
    });
    expect(count).toBe(2);
  });
});

describe('a prepared statement', () => {
  it('may be the first of a transaction, before and after its columns are known', async () => {
    const counts = [];
    for (const id of [1, 2, 3]) {
      counts.push(
        await countDescribes(() =>
          transaction(db, async (db) => {
            expect(await insert(db, id, 'a')).toEqual([{ id }]);
            expect(await insert(db, -id, null)).toEqual([{ id: -id }]);
          }),
        ),
      );
    }
    expect(counts).toEqual([1, 0, 0]);
    expect((await list(ownDb)).map(({ id }) => id)).toEqual([-3, -2, -1, 1, 2, 3]);
  });

  it('takes no effect behind a begin that fails, even if its columns are known', async () => {
    await insert(db, 1, 'a');
    await sql`deallocate "begin"`.execute(db);
    await expect(transaction(db, (db) => insert(db, 2, 'b'))).rejects.toMatchObject({ code: '26000' });
    expect(await list(ownDb)).toEqual([{ id: 1, name: 'a' }]);
  });

  it('works after it could not be parsed', async () => {
    const late = prepared<object, []>('list late things', 'select * from late_things');
    for (let i = 0; i < 2; i += 1) await expect(late(db)).rejects.toMatchObject({ code: '42P01' });
    await expect(transaction(db, (db) => late(db))).rejects.toMatchObject({ code: '42P01' });
    await runAsOwner("create table late_things as select 7 as id, 'seven' as name");
    for (let i = 0; i < 2; i += 1) expect(await late(db)).toEqual([{ id: 7, name: 'seven' }]);
  });

  it('works after it failed the first time it ran, and after it failed later', async () => {
    const divide = prepared<{ n: number; by: number }, [by: number]>(
      'divide by',
      'select 6 / i as n, i as by from generate_series(3, $1::int, -1) as i',
    );
    const good = [
      { n: 2, by: 3 },
      { n: 3, by: 2 },
    ];
    const failure = { code: '22012' };
    await expect(divide(db, 0)).rejects.toMatchObject(failure);
    for (let i = 0; i < 2; i += 1) expect(await divide(db, 2)).toEqual(good);
    await expect(divide(db, 0)).rejects.toMatchObject(failure);
    await expect(transaction(db, (db) => divide(db, 0))).rejects.toMatchObject(failure);
    expect(await transaction(db, (db) => divide(db, 2))).toEqual(good);
    const [, second] = await Promise.allSettled([divide(db, 0), divide(db, 2)]);
    expect(second).toEqual({ status: 'fulfilled', value: good });
  });

  it('works in a transaction that follows one which was rolled back', async () => {
    await insert(db, 1, 'a');
    const failed = transaction(db, (db) => sendTogether(db, insert.query(2, 'b'), insert.query(1, 'c'), list.query()));
    await expect(failed).rejects.toMatchObject({ code: '23505' });
    expect(await transaction(db, (db) => list(db))).toEqual([{ id: 1, name: 'a' }]);
    expect(await list(db)).toEqual([{ id: 1, name: 'a' }]);
  });

  it('works beside rows that are copied', async () => {
    const copy = (db: AnyDb, id: number) => copyRows(db, 'copy things (id, name) from stdin', `${id}\tcopied\n`);
    const copied = (id: number) => ({ id, name: 'copied' });
    expect(await list(db)).toEqual([]);
    await copy(db, 1);
    expect(await list(db)).toEqual([copied(1)]);
    await transaction(db, async (db) => {
      await copy(db, 2);
      expect(await list(db)).toEqual([copied(1), copied(2)]);
    });
    expect(await list(db)).toEqual([copied(1), copied(2)]);
  });
});

describe('a prepared statement whose result type has changed', () => {
  const changing = prepared<object, []>('list changing things', 'select * from changing_things');
  const refused = { code: '0A000', message: 'cached plan must not change result type' };
  const changes = [
    ['has another column', 'alter table changing_things add column more int default 5', { id: 1, name: '2', more: 5 }],
    ['has a column less', 'alter table changing_things drop column name', { id: 1 }],
    ['has a column of another type', 'alter table changing_things alter name type int using 2', { id: 1, name: 2 }],
    ['has a column of another name', 'alter table changing_things rename name to title', { id: 1, title: '2' }],
  ] as const;

  beforeEach(async () => {
    await runAsOwner('drop table if exists changing_things');
    await runAsOwner("create table changing_things as select 1 as id, '2' as name");
    for (let i = 0; i < 2; i += 1) expect(await changing(db)).toEqual([{ id: 1, name: '2' }]);
  });

  it.each(changes)('is refused by PostgreSQL if it %s, and works on a new connection', async (_, change, row) => {
    await runAsOwner(change);
    for (let i = 0; i < 2; i += 1) await expect(changing(db)).rejects.toMatchObject(refused);
    await expect(transaction(db, (db) => changing(db))).rejects.toMatchObject(refused);
    await reopen();
    for (let i = 0; i < 2; i += 1) expect(await changing(db)).toEqual([row]);
  });

  it('is refused if the change was sent right before it', async () => {
    const change = sql`alter table changing_things add column more int`.compile(db);
    await expect(transaction(db, (db) => sendTogether(db, change, changing.query()))).rejects.toMatchObject(refused);
    expect(await changing(db)).toEqual([{ id: 1, name: '2' }]); // the change was rolled back
  });

  it('works when it is prepared again', async () => {
    await runAsOwner('alter table changing_things add column more int default 5');
    await sql`deallocate "list changing things"`.execute(db);
    await expect(changing(db)).rejects.toMatchObject({ code: '26000' }); // pg still considers it prepared
    const client = await database.pool.connect();
    Object.assign(client.connection, { parsedStatements: {} });
    client.release();
    for (let i = 0; i < 2; i += 1) expect(await changing(db)).toEqual([{ id: 1, name: '2', more: 5 }]);
  });
});

describe('a row', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '0', 'plain'];
  const columns = names.map((name, i) => `'{"isPolluted": ${i}}'::json as "${name}"`).join(', ');
  const odd = prepared<Record<string, unknown>, []>('select odd names', `select ${columns}`);

  it.each(['with a name', 'without a name'])('has ordinary keys, whatever they are called, %s', async (kind) => {
    for (let i = 0; i < 3; i += 1) {
      const rows =
        kind === 'with a name'
          ? await odd(db)
          : (await sql<Record<string, unknown>>`select ${sql.raw(columns)}, ${i}::int as i`.execute(db)).rows;
      const row = rows[0] as Record<string, unknown>;
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
      expect(Object.keys(row).filter((name) => name !== 'i').sort()).toEqual([...names].sort()); // biome-ignore format: one line
      names.forEach((name, i) => void expect(Object.entries(row)).toContainEqual([name, { isPolluted: i }]));
      expect([row.isPolluted, Reflect.get({}, 'isPolluted')]).toEqual([undefined, undefined]);
    }
  });

  it('keeps null in a column that is called __proto__', async () => {
    const none = prepared<object, []>('select no prototype', 'select null as "__proto__", 1 as one');
    for (let i = 0; i < 2; i += 1) {
      const [row = {}] = await none(db);
      expect(Object.entries(row)).toEqual([['__proto__', null], ['one', 1]]); // biome-ignore format: one line
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    }
  });

  it('has the last of columns with the same name', async () => {
    const twice = prepared<object, []>('select a name twice', 'select 1 as n, 2 as m, 3 as n');
    for (let i = 0; i < 2; i += 1) expect(await twice(db)).toEqual([{ n: 3, m: 2 }]);
  });

  it('shares nothing with the rows that follow', async () => {
    await insert(db, 1, 'a');
    for (let i = 0; i < 3; i += 1) {
      const rows = await list(db);
      expect(rows).toEqual([{ id: 1, name: 'a' }]);
      Object.assign(rows[0] ?? {}, { id: 9, added: true });
    }
  });
});

describe('pg', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
  const noValues: unknown[] = [];
  const newQuery = () => new pg.Query('select 1', noValues, () => {}) as unknown as Inner;
  interface Inner {
    readonly _result: object;
    name: string;
    prepare(connection: object): void;
    hasBeenParsed(connection: object): unknown;
    handleRowDescription(message: object): void;
  }
  /** Returns the names of the fields whose values have changed. */
  const changedBy = (object: object, change: () => void): string[] => {
    const before = new Map(Object.entries(object));
    change();
    return Object.entries(object).flatMap(([name, value]) => (before.get(name) === value ? [] : [name]));
  };
  const description = { fields: [{ name: 'a', dataTypeID: 23, format: 'text' }] };

  it('has the version that statement.ts was written for', () => {
    const { version } = read('../../../../node_modules/pg/package.json');
    for (const path of ['../../../../package.json', '../../../package.json'])
      expect(read(path).dependencies?.pg ?? read(path).devDependencies?.pg).toBe(version);
  });

  it('keeps of the columns of a result what a statement keeps, and no more', () => {
    const query = newQuery();
    const inResult = changedBy(query._result, () => query.handleRowDescription(description));
    expect(inResult.sort()).toEqual(['_parsers', '_prebuiltEmptyResultObject', 'fields']);
    const other = newQuery();
    expect(changedBy(other, () => other.handleRowDescription(description))).toEqual(['_accumulateRows']);
  });

  it('sends a statement that it has prepared as a statement does, and asks for its columns', () => {
    const sent: unknown[] = [];
    const record = (type: string) => (message?: object) => sent.push([type, { ...message, valueMapper: undefined }]);
    const messages = ['parse', 'bind', 'describe', 'execute', 'sync', 'flush'].map((type) => [type, record(type)]);
    const connection = {
      parsedStatements: { known: 'select 1' },
      submittedNamedStatements: {},
      ...Object.fromEntries(messages),
    };
    const query = newQuery();
    expect(query.hasBeenParsed(connection)).toBeFalsy();
    query.name = 'known';
    expect(query.hasBeenParsed(connection)).toBe(true);
    query.prepare(connection);
    expect(sent).toEqual([
      ['bind', { portal: '', statement: 'known', values: noValues }],
      ['describe', { type: 'P', name: '' }],
      ['execute', { portal: '' }],
      ['sync', {}],
    ]);
  });
});
