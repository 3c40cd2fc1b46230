// Queue tables: each row is run once, fairly between owners; what fails, hangs or ends its process stands in nobody's way.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startJobs } from '../../../../test/support/queue-tables.ts';
import { systemClock } from '../../clock.ts';
import { newId } from '../../ids.ts';
import { openWakeUps } from '../workers/wake.ts';
import { releaseClaims } from './complete.ts';
import { readQueueDepth } from './queue.ts';
import { runQueue } from './run.ts';

const { db, owners, queueOf, start, stopAll, add, effects, row } = await startJobs();

describe('rows', () => {
  it('are run once each by two processes at once, and closed with their effect', async () => {
    for (let n = 0; n < 300; n += 1) await add(String(n), { owner: owners[n % 3] as string });
    start(queueOf(), 0);
    start(queueOf(), 1);
    await expect.poll(effects).toHaveLength(300);
    expect(new Set(await effects()).size).toBe(300);
    await expect
      .poll(async () => readQueueDepth({ name: 'jobs' }, db))
      .toEqual({ due: 0, running: 0, failed: 0, oldestSeconds: 0 });
  });

  it('are not run before their time', async () => {
    start(queueOf());
    await add('later', { inMs: 700 });
    await add('now');
    await expect.poll(effects).toEqual(['now']);
    await expect.poll(effects, { timeout: 3_000 }).toEqual(['now', 'later']);
  });

  it('leave no effect when the claim was lost meanwhile', async () => {
    const held = Promise.withResolvers<void>();
    start(
      queueOf({
        run: async () =>
          held.promise.then(() => ({
            record: async (db) => void (await sql`insert into effects (what) values ('late')`.execute(db)),
          })),
      }),
    );
    await add('slow');
    await expect.poll(async () => (await row('slow')).claimed_slot).toBe(0);
    await sql`update jobs set claims = claims + 1, claimed_slot = 1`.execute(db); // somebody else has it now
    held.resolve();
    await stopAll(5_000);
    expect(await effects()).toEqual([]);
    expect(await row('slow')).toMatchObject({ claimed_slot: 1 });
  });
});

it('a stop waits a while for what runs, then gives it back uncounted, for another to begin', async () => {
  const stopped: unknown[] = [];
  const hangs = queueOf({
    timeoutMs: 60_000,
    run: async (_row, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped.push(signal.reason);
      throw signal.reason;
    },
  });
  const hanging = start(hangs, 0);
  await add('long');
  await expect.poll(async () => (await row('long')).claimed_slot).toBe(0);
  await hanging.stop(50);
  expect(stopped).toMatchObject([{ message: 'the worker stops' }]);
  expect(await row('long')).toMatchObject({ claimed_slot: null, failures: 0, crash_count: 0, failed_at: null });
  start(queueOf(), 1);
  await expect.poll(effects).toEqual(['long']);
});

describe('fairness', () => {
  it('runs at most so many of one owner, and of all, at once', async () => {
    let [now, most] = [0, 0];
    const perOwner = new Map<string, number>();
    let mostOfOne = 0;
    start(
      queueOf({
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
    for (let n = 0; n < 60; n += 1) await add(String(n), { owner: owners[n % 3] as string });
    await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).due, { timeout: 5_000 }).toBe(0);
    expect(mostOfOne).toBe(2);
    expect(most).toBe(6);
  });

  it('nobody waits behind another’s backlog, however old and long', async () => {
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), ${owners[0]}, 'backlog', now() - interval '1 hour' from generate_series(1, 20000)`.execute(
      db,
    );
    // And many owners have rows that are not due at all.
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), gen_random_uuid(), 'future', now() + interval '1 hour' from generate_series(1, 300)`.execute(
      db,
    );
    await add('mine', { owner: owners[1] });
    let seen = 0;
    start(
      queueOf({
        run: async ({ what }) => {
          if (what === 'backlog') await new Promise((resolve) => setTimeout(resolve, 30));
          if (what === 'backlog') seen += 1;
          return what === 'mine'
            ? { record: async (db) => void (await sql`insert into effects (what) values ('mine')`.execute(db)) }
            : {};
        },
      }),
    );
    await expect.poll(effects, { timeout: 5_000 }).toEqual(['mine']);
    expect(seen).toBeLessThan(1_000);
  });
});

it('two backlogs that fill every place leave some for others', async () => {
  for (const owner of owners.slice(0, 2))
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), ${owner}, 'backlog', now() - interval '1 hour' from generate_series(1, 4000)`.execute(
      db,
    );
  await add('mine', { owner: owners[2] });
  let before = 0;
  start(
    queueOf({
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

describe('poison', () => {
  it('what throws is run again by its schedule, then given up with its reason; neighbours are not held up', async () => {
    const given: string[] = [];
    start(
      queueOf({
        run: async ({ what }) => {
          if (what === 'bad') throw new Error('cannot be done');
          return { record: async (db) => void (await sql`insert into effects (what) values (${what})`.execute(db)) };
        },
        onDeadLetter: async (_db, _row, error) => void given.push(error),
      }),
    );
    await add('bad');
    await add('good');
    await expect.poll(effects).toEqual(['good']);
    await expect.poll(async () => (await row('bad')).failed_at, { timeout: 5_000 }).not.toBeNull();
    expect(await row('bad')).toMatchObject({ failures: 3, last_error: 'cannot be done', due_at: null });
    expect(given).toEqual(['cannot be done']);
    expect(await readQueueDepth({ name: 'jobs' }, db)).toMatchObject({ failed: 1, due: 0 });
  });

  it('what hangs for ever has failed when its time is up', async () => {
    start(
      queueOf({
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
    for (let n = 0; n < 12; n += 1) await add('hangs', { owner: owners[n % 3] as string });
    await add('good');
    await expect.poll(effects).toEqual(['good']);
    await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).failed).toBe(12);
    expect((await row('hangs')).last_error).toBe('took longer than 100 ms');
  });

  it('what its process died under comes back, later each time, and is given up at last', async () => {
    const given: string[] = [];
    const queue = queueOf({ onDeadLetter: async (_db, _row, error) => void given.push(error) });
    await add('deadly');
    const claimAndDie = () => sql`update jobs set claimed_slot = 1, claimed_epoch = 0, claims = claims + 1`.execute(db);
    const waits: number[] = [];
    for (let n = 1; n <= 20; n += 1) {
      await claimAndDie();
      await releaseClaims(queue, db);
      waits.push((await row('deadly')).due_at?.getTime() ?? Number.NaN);
    }
    expect(await row('deadly')).toMatchObject({
      due_at: null,
      crash_count: 20,
      last_error: 'its process ended while it ran, 20 times',
    });
    expect(given).toEqual(['its process ended while it ran, 20 times']);
    expect((waits[10] ?? 0) - Date.now()).toBeGreaterThan(30_000);
    expect(waits[0]).toBeLessThanOrEqual(Date.now());
  });

  it('what cannot be written down has failed too, whatever its reason holds', async () => {
    start(
      queueOf({
        retryMs: () => undefined,
        run: async ({ what }) => {
          if (what === 'zero') throw new Error('a \0 byte of somebody else');
          return { record: () => Promise.reject(new Error('no such column')) };
        },
      }),
    );
    await add('zero');
    await add('unrecorded');
    await expect.poll(async () => (await row('zero')).last_error).toBe('a  byte of somebody else');
    await expect.poll(async () => (await row('unrecorded')).last_error).toBe('no such column');
    expect(await readQueueDepth({ name: 'jobs' }, db)).toMatchObject({ running: 0, failed: 2 });
  });

  it('a row that ran well is no suspect any more', async () => {
    await add('cleared');
    await sql`update jobs set crash_count = 5`.execute(db);
    start(queueOf({ run: async () => ({ runAgainInMs: 60_000 }) }));
    await expect.poll(async () => (await row('cleared')).crash_count).toBe(0);
  });

  it('suspects run one at a time; the innocent among them are cleared', async () => {
    for (let n = 0; n < 12; n += 1) await add(String(n), { owner: newId() });
    await sql`update jobs set crash_count = 2`.execute(db);
    let [now, most] = [0, 0];
    start(
      queueOf({
        run: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise((resolve) => setTimeout(resolve, 10));
          now -= 1;
          return {};
        },
      }),
    );
    await expect.poll(async () => (await readQueueDepth({ name: 'jobs' }, db)).due).toBe(0);
    expect(most).toBe(1);
  });

  it('a row that this worker claimed and does not run is given back by itself', async () => {
    await add('stray');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1, claims = 1`.execute(db);
    start(queueOf());
    await add('fails to close');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1 where what = 'stray'`.execute(db);
    await stopAll(1_000);
    expect(await row('stray')).toMatchObject({ claimed_slot: null, crash_count: 0 });
  });

  it('only claims of epochs that are over are given back', async () => {
    await add('running');
    await sql`update jobs set claimed_slot = 0, claimed_epoch = 1`.execute(db);
    expect(await releaseClaims(queueOf(), db)).toBe(0);
  });
});

it('without Redis the poll finds what there is, within half a second', async () => {
  const deaf = openWakeUps('redis://127.0.0.1:1', 'none:');
  const deps = { db, clock: systemClock, claim: { slot: 0, epoch: 1 }, onError: () => {} };
  const running = runQueue(queueOf(), { ...deps, wake: deaf });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const waited: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    const at = performance.now();
    await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owners[0]}, ${String(n)}, now())`.execute(
      db,
    );
    await expect.poll(effects, { interval: 10, timeout: 5_000 }).toHaveLength(n + 1);
    waited.push(performance.now() - at);
  }
  await running.stop(1_000);
  deaf.close();
  expect(Math.min(...waited)).toBeLessThan(600);
});
