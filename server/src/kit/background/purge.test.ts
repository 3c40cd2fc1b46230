// Tests that expired rows are removed in batches, in order, and beside other workers.
import { sql } from 'kysely';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type AnyDb, openDatabase, transaction } from '../db/database.ts';
import { createMetrics } from '../metrics.ts';
import { purge } from './purge.ts';

const cloned = await cloneTemplate();
await cloned.runAsOwner('create table notes (number integer primary key, expired boolean not null default true)');
const database = openDatabase<never>({ url: cloned.url, poolSize: 3 });
const db = database.db as AnyDb;
afterAll(async () => {
  await database.close();
  await cloned.drop();
});

const expired = { table: 'notes', where: sql`expired`, order: 'number' };
const listNumbers = async () =>
  (await sql<{ number: number }>`select number from notes order by number`.execute(db)).rows.map((row) => row.number);

beforeEach(async () => {
  await sql`delete from notes`.execute(db);
  await sql`insert into notes select generate_series(1, 25)`.execute(db);
  await sql`update notes set expired = false where number > 23`.execute(db);
});

it('removes what has expired, in several batches, and nothing else', async () => {
  expect(await purge(db, { ...expired, batchSize: 5 })).toBe(23);
  expect(await listNumbers()).toEqual([24, 25]);
  expect(await purge(db, expired)).toBe(0);
});

it('removes different rows than another worker, without waiting for it', async () => {
  const removed = await transaction(db, async (other) => {
    expect(await purge(other, { ...expired, where: sql`number <= 10` })).toBe(10);
    return purge(db, expired); // would fail after the lock timeout of 3 s
  });
  expect(removed).toBe(13);
  expect(await listNumbers()).toEqual([24, 25]);
});

it('stops after a second and leaves the rest for the next time', async () => {
  const slow = { table: 'notes', batchSize: 1, where: sql`expired and pg_sleep(0.3) is not null` };
  const removed = await purge(db, slow);
  expect(removed).toBeGreaterThan(0);
  expect(removed).toBeLessThan(23);
  expect(await listNumbers()).toHaveLength(25 - removed);
});

it('counts what was removed by table, but not what was rolled back', async () => {
  const { render } = createMetrics(async () => ({ queues: [], unreadable: [], slots: [] }));
  const readCount = async () =>
    Number(/^plinth_purged_rows_total\{table="notes"\} (\d+)$/m.exec(await render())?.[1] ?? 0);
  const before = await readCount();
  await transaction(db, async (db) => {
    await purge(db, expired);
    throw new Error('rolled back');
  }).catch(() => {});
  expect(await readCount()).toBe(before);
  await purge(db, { ...expired, where: sql`number <= 7` });
  expect(await readCount()).toBe(before + 7);
});
