// Tests completing: runs that end together are completed together, including their rows' columns and all results
// (docs/decisions/0017).
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { type AnyDb, transaction } from '../../db/database.ts';
import { createClaimer } from './claim.ts';
import { createCompleter, prepareComplete, setUpCompletion } from './complete.ts';
import { type Outcome, readQueueDepth } from './queue.ts';

const { db, runAsOwner, owners, buildQueue, start, enqueue, effects, findRow } = await createTestQueue();
const outcomeColumns = { note: 'text', tries: 'integer' };
const countUnfinished = async () => {
  const { due, running } = await readQueueDepth(db, { name: 'jobs' });
  return due + running;
};
/** A `run` whose first `count` calls end at the same time. */
function endTogether(count: number, outcomeOf: (what: string) => Outcome) {
  const all = Promise.withResolvers<void>();
  let started = 0;
  return async ({ what }: { what: string }) => {
    started += 1;
    if (started === count) all.resolve();
    await all.promise;
    return outcomeOf(what);
  };
}
const countTransactions = async () =>
  (await sql<{ xmin: string }>`select distinct xmin::text from jobs`.execute(db)).rows.length;

it('an outcome sets the columns of its row; rows without such an outcome keep theirs', async () => {
  await enqueue('set');
  await enqueue('left');
  await sql`update jobs set note = 'before', tries = 7`.execute(db);
  start(
    buildQueue({
      outcomeColumns,
      run: async ({ what }) => (what === 'set' ? { columns: { note: 'after', tries: 8 } } : {}),
    }),
  );
  await expect.poll(countUnfinished).toBe(0);
  expect(await findRow('set')).toMatchObject({ note: 'after', tries: 8 });
  expect(await findRow('left')).toMatchObject({ note: 'before', tries: 7 });
});

it('a failed run sets no columns', async () => {
  await enqueue('bad');
  await sql`update jobs set note = 'before'`.execute(db);
  start(
    buildQueue({ outcomeColumns, retryMs: () => undefined, run: () => Promise.reject(new Error('cannot be done')) }),
  );
  await expect.poll(async () => (await findRow('bad')).failed_at).not.toBeNull();
  expect(await findRow('bad')).toMatchObject({ note: 'before', last_error: 'cannot be done' });
});

it('runs that end together are completed by few commits, each with its own outcome, and recordAll gets them together', async () => {
  const recorded: string[][] = [];
  const run = endTogether(9, (what) => ({
    columns: { note: `note of ${what}`, tries: Number(what) },
    result: what,
    ...(what === '8' && { runAgainInMs: 3_600_000 }),
  }));
  for (let n = 0; n < 9; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
  start(
    buildQueue({
      outcomeColumns,
      run,
      recordAll: async (_db: AnyDb, results: readonly string[]) => void recorded.push([...results]),
    }),
  );
  await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).running).toBe(0);
  await expect.poll(() => recorded.flat().length).toBe(9);
  for (let n = 0; n < 9; n += 1) expect(await findRow(String(n))).toMatchObject({ note: `note of ${n}`, tries: n });
  expect((await findRow('8')).due_at).not.toBeNull();
  expect((await findRow('7')).due_at).toBeNull();
  expect(recorded.flat().sort()).toEqual(Array.from({ length: 9 }, (_, n) => String(n)));
  expect(recorded.length).toBeLessThan(9);
  expect(await countTransactions()).toBe(recorded.length);
});

it('an outcome that cannot be written fails alone: the rest of its batch is completed and recorded once', async () => {
  const run = endTogether(9, (what) => ({
    columns: { note: what, tries: what === '4' ? 'no number' : 1 },
    result: what,
  }));
  for (let n = 0; n < 9; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
  const recordAll = async (db: AnyDb, results: readonly string[]) => {
    for (const what of results) await sql`insert into effects (what) values (${what})`.execute(db);
  };
  start(buildQueue({ outcomeColumns, run, recordAll, retryMs: () => undefined }));
  await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).failed).toBe(1);
  await expect.poll(countUnfinished).toBe(0);
  expect(await findRow('4')).toMatchObject({
    note: null,
    last_error: expect.stringContaining('integer'),
    due_at: null,
  });
  expect((await effects()).sort()).toEqual(['0', '1', '2', '3', '5', '6', '7', '8']);
});

it('a result that recordAll cannot write fails alone too, and the others are kept', async () => {
  const run = endTogether(6, (what) => ({ columns: { note: what, tries: 1 }, result: what }));
  for (let n = 0; n < 6; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
  const recordAll = async (db: AnyDb, results: readonly string[]) => {
    for (const what of results) await sql`insert into effects (what) values (${what})`.execute(db);
    if (results.includes('2')) throw new Error('not the second');
  };
  start(buildQueue({ outcomeColumns, run, recordAll, retryMs: () => undefined }));
  await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).failed).toBe(1);
  await expect.poll(countUnfinished).toBe(0);
  expect(await findRow('2')).toMatchObject({ note: null, last_error: 'not the second' });
  expect((await effects()).sort()).toEqual(['0', '1', '3', '4', '5']);
});

it('a row whose claim was lost writes nothing; the rest of its batch is completed', async () => {
  const all = Promise.withResolvers<void>();
  const recorded: string[] = [];
  const run = async ({ what }: { what: string }) => {
    await all.promise;
    return { columns: { note: 'mine', tries: 1 }, result: what };
  };
  for (const what of ['lost', 'kept']) await enqueue(what);
  start(
    buildQueue({
      outcomeColumns,
      run,
      recordAll: async (_db: AnyDb, results: readonly string[]) => void recorded.push(...results),
    }),
  );
  await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).running).toBe(2);
  await sql`update jobs set claims = claims + 1, claimed_slot = 1 where what = 'lost'`.execute(db);
  all.resolve();
  await expect.poll(async () => (await findRow('kept')).note).toBe('mine');
  expect(await findRow('lost')).toMatchObject({ note: null, claimed_slot: 1 });
  expect(recorded).toEqual(['kept']);
});

/**
 * Claims in a separate transaction, because a claim uses the same plan settings as a completion and sets the commit
 * mode.
 */
async function claimOne(queue: ReturnType<typeof buildQueue>) {
  await enqueue('one');
  const claimer = createClaimer(queue, { db, slot: { slot: 0, epoch: 1 } });
  const { rows } = await claimer.claim(1, { claimedRows: [], finishedRows: new Set() });
  expect(rows).toHaveLength(1);
  return rows;
}

it('completing rows reads no others, even if it was planned when the table was small', async () => {
  const queue = buildQueue({ outcomeColumns });
  await enqueue('first');
  await runAsOwner('analyze jobs');
  await transaction(db, async (db) => {
    const complete = createCompleter(db, queue);
    // PostgreSQL may reuse the plan from the sixth execution on.
    for (let n = 0; n < 8; n += 1) for (const row of await claimOne(queue)) await complete(row, {});
    await runAsOwner(`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), '${owners[0]}', 'one of many', null from generate_series(1, 20000)`);
    const claimed = await claimOne(queue);
    const read = await countRowsRead(db, 'jobs', async () => {
      for (const row of claimed) expect(await complete(row, {})).toBe('done');
    });
    expect(read).toBeLessThan(20);
  });
});

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }];
}

/** Counts the rows that a plan's nodes have returned or rejected. */
const countRowsHandled = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Join Filter'] ?? 0)) * node['Actual Loops'] +
  (node.Plans ?? []).reduce((sum, child) => sum + countRowsHandled(child), 0);

it('the work of a completion grows with its rows and not with their square, even if it was planned when the table was empty', async () => {
  const count = 500;
  const complete = prepareComplete(buildQueue({ outcomeColumns }));
  await runAsOwner('analyze jobs');
  await transaction(db, async (db) => {
    const explain = async (ids: string, outcomes: string) => {
      await setUpCompletion(db, null);
      const { rows } = await sql
        .raw<Explained>(`explain (analyze, format json) execute completion ('${ids}', '${outcomes}')`)
        .execute(db);
      return rows.map((row) => countRowsHandled(row['QUERY PLAN'][0].Plan))[0];
    };
    await sql`set local plan_cache_mode = 'force_generic_plan'`.execute(db); // the usual case from the sixth time on
    await sql.raw(`prepare completion as ${complete.query([], '').sql}`).execute(db);
    await explain('{}', '[]');
    const { rows } =
      await sql<TestJob>`insert into jobs (id, owner_id, what, due_at, claimed_slot, claimed_epoch, claims)
      select gen_random_uuid(), ${owners[0]}, 'many', now(), 0, 1, 1 from generate_series(1, ${count}) returning *`.execute(
        db,
      );
    const outcomes = rows.map(({ id, claims }) => ({ id, claims, has_columns: true, note: 'done', tries: 1 }));
    const handled = await explain(`{${rows.map(({ id }) => id).join()}}`, JSON.stringify(outcomes));
    expect(handled).toBeLessThan(10 * count);
    await sql`deallocate completion`.execute(db);
    const { rows: settings } = await sql`select current_setting('enable_nestloop') as nested`.execute(db);
    expect(settings).toEqual([{ nested: 'on' }]);
  });
  const left = await sql`select from jobs where note is distinct from 'done' or claimed_slot is not null`.execute(db);
  expect(left.rows).toEqual([]);
});

it.each([
  ['is off in a queue with asyncCommit', { asyncCommit: true }, 'off'],
  ['stays as the operator has set it in others', {}, 'local'],
] as const)('the commit mode of a completion %s', async (_, options, expected) => {
  const queue = buildQueue({ outcomeColumns, ...options });
  const claimed = await claimOne(queue);
  await transaction(db, async (db) => {
    await sql`set local synchronous_commit = 'local'`.execute(db);
    for (const row of claimed) await createCompleter(db, queue)(row, {});
    const { rows } = await sql<{ mode: string }>`select current_setting('synchronous_commit') as mode`.execute(db);
    expect(rows).toEqual([{ mode: expected }]);
  });
});
