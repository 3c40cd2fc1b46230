// Claims that end together are closed together: with the row's own columns, and all that came of them (docs/decisions/0017).
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startJobs } from '../../../../test/support/queue-tables.ts';
import type { AnyDb } from '../../db/database.ts';
import { type Outcome, readQueueDepth } from './queue.ts';

const { db, owners, queueOf, start, add, effects, row } = await startJobs();
const sets = { note: 'text', tries: 'integer' };
const done = async () => {
  const { due, running } = await readQueueDepth({ name: 'jobs' }, db);
  return due + running;
};
/** Runs that all end at the same moment. */
function together(count: number, outcomeOf: (what: string) => Outcome) {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  return async ({ what }: { what: string }) => {
    begun += 1;
    if (begun === count) all.resolve();
    await all.promise;
    return outcomeOf(what);
  };
}
const transactionIds = async () =>
  (await sql<{ xmin: string }>`select distinct xmin::text from jobs`.execute(db)).rows.length;

it('an outcome sets columns of its row, and others stay as they are', async () => {
  await add('set');
  await add('left');
  await sql`update jobs set note = 'before', tries = 7`.execute(db);
  start(
    queueOf({
      outcomeColumns: sets,
      run: async ({ what }) => (what === 'set' ? { columns: { note: 'after', tries: 8 } } : {}),
    }),
  );
  await expect.poll(done).toBe(0);
  expect(await row('set')).toMatchObject({ note: 'after', tries: 8 });
  expect(await row('left')).toMatchObject({ note: 'before', tries: 7 });
});

it('a failed run sets nothing', async () => {
  await add('bad');
  await sql`update jobs set note = 'before'`.execute(db);
  start(
    queueOf({ outcomeColumns: sets, retryMs: () => undefined, run: () => Promise.reject(new Error('cannot be done')) }),
  );
  await expect.poll(async () => (await row('bad')).failed_at).not.toBeNull();
  expect(await row('bad')).toMatchObject({ note: 'before', last_error: 'cannot be done' });
});

it('runs that end together are closed with few commits, each with its own outcome, and told of together', async () => {
  const told: string[][] = [];
  const run = together(9, (what) => ({
    columns: { note: `note of ${what}`, tries: Number(what) },
    result: what,
    ...(what === '8' && { runAgainInMs: 3_600_000 }),
  }));
  for (let n = 0; n < 9; n += 1) await add(String(n), { owner: owners[n % 3] as string });
  start(
    queueOf({
      outcomeColumns: sets,
      run,
      recordAll: async (_db: AnyDb, results: readonly string[]) => void told.push([...results]),
    }),
  );
  await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).running).toBe(0);
  await expect.poll(() => told.flat().length).toBe(9);
  for (let n = 0; n < 9; n += 1) expect(await row(String(n))).toMatchObject({ note: `note of ${n}`, tries: n });
  expect((await row('8')).due_at).not.toBeNull();
  expect((await row('7')).due_at).toBeNull();
  expect(told.flat().sort()).toEqual(Array.from({ length: 9 }, (_, n) => String(n)));
  expect(told.length).toBeLessThan(9);
  expect(await transactionIds()).toBe(told.length);
});

it('one that cannot be written has failed alone: the others of its batch are closed, and told of once', async () => {
  const run = together(9, (what) => ({ columns: { note: what, tries: what === '4' ? 'no number' : 1 }, result: what }));
  for (let n = 0; n < 9; n += 1) await add(String(n), { owner: owners[n % 3] as string });
  const recordAll = async (db: AnyDb, results: readonly string[]) => {
    for (const what of results) await sql`insert into effects (what) values (${what})`.execute(db);
  };
  start(queueOf({ outcomeColumns: sets, run, recordAll, retryMs: () => undefined }));
  await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).failed).toBe(1);
  await expect.poll(done).toBe(0);
  expect(await row('4')).toMatchObject({ note: null, last_error: expect.stringContaining('integer'), due_at: null });
  expect((await effects()).sort()).toEqual(['0', '1', '2', '3', '5', '6', '7', '8']);
});

it('what recordAll cannot write fails alone too, and undoes nothing of the others', async () => {
  const run = together(6, (what) => ({ columns: { note: what, tries: 1 }, result: what }));
  for (let n = 0; n < 6; n += 1) await add(String(n), { owner: owners[n % 3] as string });
  const recordAll = async (db: AnyDb, results: readonly string[]) => {
    for (const what of results) await sql`insert into effects (what) values (${what})`.execute(db);
    if (results.includes('2')) throw new Error('not the second');
  };
  start(queueOf({ outcomeColumns: sets, run, recordAll, retryMs: () => undefined }));
  await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).failed).toBe(1);
  await expect.poll(done).toBe(0);
  expect(await row('2')).toMatchObject({ note: null, last_error: 'not the second' });
  expect((await effects()).sort()).toEqual(['0', '1', '3', '4', '5']);
});

it('a claim lost meanwhile writes nothing, and its neighbours in the batch do', async () => {
  const all = Promise.withResolvers<void>();
  const told: string[] = [];
  const run = async ({ what }: { what: string }) => {
    await all.promise;
    return { set: { note: 'mine', tries: 1 }, result: what };
  };
  for (const what of ['lost', 'kept']) await add(what);
  start(
    queueOf({
      outcomeColumns: sets,
      run,
      recordAll: async (_db: AnyDb, results: readonly string[]) => void told.push(...results),
    }),
  );
  await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).running).toBe(2);
  await sql`update jobs set claims = claims + 1, claimed_slot = 1 where what = 'lost'`.execute(db);
  all.resolve();
  await expect.poll(async () => (await row('kept')).note).toBe('mine');
  expect(await row('lost')).toMatchObject({ note: null, claimed_slot: 1 });
  expect(told).toEqual(['kept']);
});
