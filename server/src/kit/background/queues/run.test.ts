// Tests running queues: each row runs once, fairly between owners. Rows that fail, hang or crash workers do not delay
// other rows.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { systemClock } from '../../clock.ts';
import { transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { openWakeUps } from '../workers/wake.ts';
import { listAbandonedQueues, releaseClaims } from './complete.ts';
import { type QueueRow, readQueueDepth } from './queue.ts';
import { type RunningQueue, runQueue } from './run.ts';

const { db, owners, errors, buildQueue, start, stopAll, enqueue, effects, findRow } = await createTestQueue();

describe('rows', () => {
  it('are run once each by two processes at once, and completed with their effect', async () => {
    for (let n = 0; n < 300; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
    start(buildQueue(), 0);
    start(buildQueue(), 1);
    await expect.poll(effects).toHaveLength(300);
    expect(new Set(await effects()).size).toBe(300);
    await expect
      .poll(async () => readQueueDepth(db, { name: 'jobs' }))
      .toEqual({ due: 0, running: 0, failed: 0, oldestSeconds: 0 });
  });

  it('are not run before their time', async () => {
    start(buildQueue());
    await enqueue('later', { inMs: 700 });
    await enqueue('now');
    await expect.poll(effects).toEqual(['now']);
    await expect.poll(effects).toEqual(['now', 'later']);
  });

  it('leave no effect when the claim was lost while they ran', async () => {
    const released = Promise.withResolvers<void>();
    start(
      buildQueue({
        run: async () =>
          released.promise.then(() => ({
            record: async (db) => void (await sql`insert into effects (what) values ('late')`.execute(db)),
          })),
      }),
    );
    await enqueue('slow');
    await expect.poll(async () => (await findRow('slow')).claimed_slot).toBe(0);
    await sql`update jobs set claims = claims + 1, claimed_slot = 1`.execute(db); // another worker claimed it
    released.resolve();
    await stopAll(5_000);
    expect(await effects()).toEqual([]);
    expect(await findRow('slow')).toMatchObject({ claimed_slot: 1 });
  });
});

it('a stop waits for running rows, then releases their claims without counting a failure; another worker runs them', async () => {
  const stopped: unknown[] = [];
  const hangs = buildQueue({
    timeoutMs: 60_000,
    run: async (_row, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped.push(signal.reason);
      throw signal.reason;
    },
  });
  const hanging = start(hangs, 0);
  await enqueue('long');
  await expect.poll(async () => (await findRow('long')).claimed_slot).toBe(0);
  await hanging.stop(50);
  expect(stopped).toMatchObject([{ message: 'the worker is stopping' }]);
  expect(await findRow('long')).toMatchObject({ claimed_slot: null, failures: 0, crash_count: 0, failed_at: null });
  start(buildQueue(), 1);
  await expect.poll(effects).toEqual(['long']);
});

describe('fairness', () => {
  it('runs at most `perOwner` rows of one owner and `concurrency` rows in all at once', async () => {
    let [now, most] = [0, 0];
    const perOwner = new Map<string, number>();
    let mostOfOne = 0;
    start(
      buildQueue({
        concurrency: 6,
        perOwner: 2,
        run: async ({ owner_id }) => {
          now += 1;
          most = Math.max(most, now);
          perOwner.set(owner_id, (perOwner.get(owner_id) ?? 0) + 1);
          mostOfOne = Math.max(mostOfOne, perOwner.get(owner_id) ?? 0);
          await new Promise((resolve) => setTimeout(resolve, 20));
          now -= 1;
          perOwner.set(owner_id, (perOwner.get(owner_id) ?? 0) - 1);
          return {};
        },
      }),
    );
    for (let n = 0; n < 60; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
    await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).due).toBe(0);
    expect(mostOfOne).toBe(2);
    expect(most).toBe(6);
  });

  it("no owner waits behind another owner's backlog, however old and long", async () => {
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), ${owners[0]}, 'backlog', now() - interval '1 hour' from generate_series(1, 20000)`.execute(
      db,
    );
    // Many owners have rows that are not yet due.
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), gen_random_uuid(), 'future', now() + interval '1 hour' from generate_series(1, 300)`.execute(
      db,
    );
    await enqueue('mine', { owner: owners[1] });
    let seen = 0;
    start(
      buildQueue({
        run: async ({ what }) => {
          if (what === 'backlog') await new Promise((resolve) => setTimeout(resolve, 30));
          if (what === 'backlog') seen += 1;
          return what === 'mine'
            ? { record: async (db) => void (await sql`insert into effects (what) values ('mine')`.execute(db)) }
            : {};
        },
      }),
    );
    await expect.poll(effects).toEqual(['mine']);
    expect(seen).toBeLessThan(1_000);
  });
});

it('two backlogs that could use all the concurrency do not delay a third owner', async () => {
  for (const owner of owners.slice(0, 2))
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), ${owner}, 'backlog', now() - interval '1 hour' from generate_series(1, 4000)`.execute(
      db,
    );
  await enqueue('mine', { owner: owners[2] });
  let before = 0;
  start(
    buildQueue({
      run: async ({ what }) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (what === 'backlog') before += 1;
        return what === 'mine'
          ? { record: async (db) => void (await sql`insert into effects (what) values ('mine')`.execute(db)) }
          : {};
      },
    }),
  );
  await expect.poll(effects).toEqual(['mine']);
  expect(before).toBeLessThan(500);
});

describe('failures', () => {
  it('a row whose runs throw is retried by the schedule, then dead-lettered with its error; other rows are not delayed', async () => {
    const errors: string[] = [];
    start(
      buildQueue({
        run: async ({ what }) => {
          if (what === 'bad') throw new Error('cannot be done');
          return { record: async (db) => void (await sql`insert into effects (what) values (${what})`.execute(db)) };
        },
        onDeadLetter: async (_db, _row, error) => void errors.push(error),
      }),
    );
    await enqueue('bad');
    await enqueue('good');
    await expect.poll(effects).toEqual(['good']);
    await expect.poll(async () => (await findRow('bad')).failed_at).not.toBeNull();
    expect(await findRow('bad')).toMatchObject({ failures: 3, last_error: 'cannot be done', due_at: null });
    expect(errors).toEqual(['cannot be done']);
    expect(await readQueueDepth(db, { name: 'jobs' })).toMatchObject({ failed: 1, due: 0 });
  });

  it('a run that hangs has failed when its timeout is over', async () => {
    start(
      buildQueue({
        timeoutMs: 100,
        retryMs: () => undefined,
        run: ({ what }) =>
          what === 'hangs'
            ? new Promise(() => {})
            : Promise.resolve({
                record: async (db) => void (await sql`insert into effects (what) values (${what})`.execute(db)),
              }),
      }),
    );
    for (let n = 0; n < 12; n += 1) await enqueue('hangs', { owner: owners[n % 3] as string });
    await enqueue('good');
    await expect.poll(effects).toEqual(['good']);
    await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).failed).toBe(12);
    expect((await findRow('hangs')).last_error).toBe('took longer than 100 ms');
  });

  it('a row that crashes its worker is retried with growing delays, then dead-lettered', async () => {
    const errors: string[] = [];
    const queue = buildQueue({ onDeadLetter: async (_db, _row, error) => void errors.push(error) });
    await enqueue('crashing');
    const claimAndCrash = () =>
      sql`update jobs set claimed_slot = 1, claimed_epoch = 0, claims = claims + 1`.execute(db);
    const waits: number[] = [];
    for (let n = 1; n <= 20; n += 1) {
      await claimAndCrash();
      await releaseClaims(db, queue);
      waits.push((await findRow('crashing')).due_at?.getTime() ?? Number.NaN);
    }
    expect(await findRow('crashing')).toMatchObject({
      due_at: null,
      crash_count: 20,
      last_error: 'the worker crashed while running it, 20 times',
    });
    expect(errors).toEqual(['the worker crashed while running it, 20 times']);
    expect((waits[10] ?? 0) - Date.now()).toBeGreaterThan(30_000);
    expect(waits[0]).toBeLessThanOrEqual(Date.now());
  });

  it('an outcome that cannot be written counts as a failure, whatever characters its error contains', async () => {
    start(
      buildQueue({
        retryMs: () => undefined,
        run: async ({ what }) => {
          if (what === 'zero') throw new Error('a \0 byte of somebody else');
          return { record: () => Promise.reject(new Error('no such column')) };
        },
      }),
    );
    await enqueue('zero');
    await enqueue('unrecorded');
    await expect.poll(async () => (await findRow('zero')).last_error).toBe('a  byte of somebody else');
    await expect.poll(async () => (await findRow('unrecorded')).last_error).toBe('no such column');
    expect(await readQueueDepth(db, { name: 'jobs' })).toMatchObject({ running: 0, failed: 2 });
  });

  it('a completed run takes a row out of quarantine', async () => {
    await enqueue('cleared');
    await sql`update jobs set crash_count = 5`.execute(db);
    start(buildQueue({ run: async () => ({ runAgainInMs: 60_000 }) }));
    await expect.poll(async () => (await findRow('cleared')).crash_count).toBe(0);
  });

  it('a process runs quarantined rows one at a time', async () => {
    for (let n = 0; n < 12; n += 1) await enqueue(String(n), { owner: newId() });
    await sql`update jobs set crash_count = 2`.execute(db);
    let [now, most] = [0, 0];
    start(
      buildQueue({
        run: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise((resolve) => setTimeout(resolve, 10));
          now -= 1;
          return {};
        },
      }),
    );
    await expect.poll(async () => (await readQueueDepth(db, { name: 'jobs' })).due).toBe(0);
    expect(most).toBe(1);
  });

  it('a stop releases rows that this worker claimed but does not run', async () => {
    await enqueue('stray');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1, claims = 1`.execute(db);
    start(buildQueue());
    await enqueue('other');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1 where what = 'stray'`.execute(db);
    await stopAll(1_000);
    expect(await findRow('stray')).toMatchObject({ claimed_slot: null, crash_count: 0 });
  });

  it('releaseClaims leaves the claims of current epochs alone', async () => {
    await enqueue('running');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1`.execute(db);
    expect(await releaseClaims(db, buildQueue())).toBe(0);
  });

  it('only queues with claims of earlier epochs are listed as abandoned', async () => {
    const queue = buildQueue();
    await enqueue('running');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1`.execute(db);
    expect(await listAbandonedQueues(db, [queue])).toEqual([]);
    await sql`update jobs set claimed_epoch = 0`.execute(db);
    expect(await listAbandonedQueues(db, [queue])).toEqual([queue]);
  });
});

it('without Redis, polling finds due rows within half a second', async () => {
  const disconnected = openWakeUps('redis://127.0.0.1:1', 'none:');
  const deps = { db, clock: systemClock, slot: { slot: 0, epoch: 1 }, onError: () => {} };
  const running = runQueue(buildQueue(), { ...deps, wake: disconnected });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const waited: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    const at = performance.now();
    await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owners[0]}, ${String(n)}, clock_timestamp())`.execute(
      db,
    );
    await expect.poll(effects, { interval: 10 }).toHaveLength(n + 1);
    waited.push(performance.now() - at);
  }
  await running.stop(1_000);
  disconnected.close();
  expect(Math.min(...waited)).toBeLessThan(600);
});

describe('claimWithCommit', () => {
  const limits = { perOwner: 2, globalLimits: { concurrencyKey: 'concurrency_key', perKey: 3 }, timeoutMs: 60_000 };
  const attach = (row: QueueRow) => row;

  /** Inserts a row for each owner and claims the rows that may run. */
  const insertAndClaim = async (running: RunningQueue, ...rowOwners: string[]) => {
    await new Promise((resolve) => setTimeout(resolve, 300)); // lets the queue's first claim finish
    await transaction<never, void>(db, async (db) => {
      for (const [n, owner] of rowOwners.entries())
        await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owner}, ${String(n)}, clock_timestamp())`.execute(
          db,
        );
      await running.claimWithCommit(db, [...new Set(rowOwners)], attach);
    });
  };

  it('runs the inserted rows after the commit, and nothing after a rollback', async () => {
    const running = start(buildQueue(limits));
    await insertAndClaim(running, ...owners);
    await expect.poll(effects).toHaveLength(3);
    const undone = transaction<never, void>(db, async (db) => {
      await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owners[0]}, 'undone', now())`.execute(
        db,
      );
      await running.claimWithCommit(db, [owners[0]], attach);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await readQueueDepth(db, { name: 'jobs' })).toMatchObject({ due: 0, running: 0 });
  });

  it('stays within the limits, together with what other processes run; the rest is claimed when there is room', async () => {
    await sql`insert into jobs (id, owner_id, what, due_at, claimed_slot, claimed_epoch, claims)
      values (${newId()}, ${owners[1]}, 'elsewhere', now(), 1, 1, 1)`.execute(db);
    const started: string[] = [];
    const ended = Promise.withResolvers<object>();
    const running = start(
      buildQueue({
        ...limits,
        run: async ({ what }) => {
          started.push(what);
          return ended.promise;
        },
      }),
    );
    await insertAndClaim(running, owners[0], owners[0], owners[0], owners[2]);
    await expect.poll(() => started.toSorted()).toEqual(['0', '3']); // the key has room for two more
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(started).toHaveLength(2);
    ended.resolve({});
    await expect.poll(() => started.length).toBe(4);
  });

  it('claims nothing while another process claims, and does not wait for it', async () => {
    const running = start(buildQueue(limits));
    const claiming = Promise.withResolvers<void>();
    const claimed = Promise.withResolvers<void>();
    const other = transaction<never, void>(db, async (db) => {
      await sql`select pg_advisory_xact_lock(hashtextextended('claim jobs', 0))`.execute(db);
      claiming.resolve();
      await claimed.promise;
    });
    await claiming.promise;
    await insertAndClaim(running, owners[0]);
    expect(await readQueueDepth(db, { name: 'jobs' })).toMatchObject({ due: 1, running: 0 });
    claimed.resolve();
    await other;
    await expect.poll(effects).toEqual(['0']);
  });

  it('leaves no claim behind if the queue is stopped before the commit', async () => {
    const running = start(buildQueue(limits));
    await new Promise((resolve) => setTimeout(resolve, 300)); // lets the queue's first claim finish
    let stopped: Promise<void> | undefined;
    const dispatchEnded = Promise.withResolvers<void>();
    await transaction<never, void>(db, async (db) => {
      await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owners[0]}, 'late', now())`.execute(
        db,
      );
      await running.claimWithCommit(db, [owners[0]], attach);
      stopped = running.stop(5_000, dispatchEnded.promise);
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    dispatchEnded.resolve();
    await stopped;
    expect(await findRow('late')).toMatchObject({ claimed_slot: null, due_at: null });
  });

  it('loads rows that were waiting before', async () => {
    const notes: (string | null)[] = [];
    const release = Promise.withResolvers<object>();
    const running = start(
      buildQueue({
        ...limits,
        perOwner: 1,
        load: async (_db, rows) => rows.map((row) => ({ ...row, note: 'loaded' })),
        run: async ({ note }) => {
          notes.push(note);
          return release.promise;
        },
      }),
    );
    await insertAndClaim(running, owners[0], owners[0]);
    await expect.poll(() => notes).toEqual([null]);
    release.resolve({});
    await expect.poll(() => notes).toEqual([null, 'loaded']);
  });
});

it('a claim whose answer was lost is released, and the row runs', async () => {
  const running = start(buildQueue({ load: () => Promise.reject(new Error('not now')) }));
  await enqueue('first');
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  await running.stop(1_000);
  await sql`update jobs set claimed_slot = 0, claimed_epoch = 1, claims = 1`.execute(db); // simulates a new claim
  let isFirst = true;
  start(
    buildQueue({
      load: async (_db, rows) => {
        if (isFirst) {
          isFirst = false;
          throw new Error('the answer was lost');
        }
        return rows;
      },
    }),
  );
  await enqueue('second');
  await expect.poll(effects).toHaveLength(2);
});

it('a check for stray claims that takes long delays no claim', async () => {
  await enqueue('stray');
  await sql`update jobs set claimed_slot = 0, claimed_epoch = 1, claims = 1`.execute(db);
  const checked = Promise.withResolvers<void>();
  const holding = transaction<never, void>(db, async (db) => {
    await sql`select from jobs where what = 'stray' for update`.execute(db);
    await checked.promise;
  });
  let loads = 0;
  const load = async (_db: unknown, rows: readonly TestJob[]) => {
    loads += 1;
    if (loads === 1) throw new Error('not now'); // has the claims checked soon
    return rows;
  };
  start(buildQueue({ load }));
  await enqueue('first');
  const countWaiting = async () =>
    (
      await sql`select from pg_locks join pg_stat_activity using (pid)
        where locktype = 'transactionid' and not granted and datname = current_database()`.execute(db)
    ).rows.length;
  await expect.poll(countWaiting).toBeGreaterThan(0);
  await enqueue('second');
  await expect.poll(effects).toEqual(['second']);
  checked.resolve();
  await holding;
  await expect.poll(effects).toHaveLength(3);
});
