// Shares that hold over all processes, and what is fetched for a claim at once (docs/decisions/0017).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startJobs, type TestJob } from '../../../../test/support/queue-tables.ts';
import { newId } from '../../ids.ts';
import { readQueueDepth } from './queue.ts';

const { db, owners, queueOf, start, add, effects } = await startJobs();
const done = async () => {
  const { due, running } = await readQueueDepth({ name: 'jobs' }, db);
  return due + running;
};

/** Counts what runs at once, by some key, over all queues that are given its `run`. */
function meter(keyOf: (job: TestJob) => string, ms = 15) {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  const run = async (job: TestJob) => {
    const key = keyOf(job);
    now.set(key, (now.get(key) ?? 0) + 1);
    most.set(key, Math.max(most.get(key) ?? 0, now.get(key) ?? 0));
    await new Promise((resolve) => setTimeout(resolve, ms));
    now.set(key, (now.get(key) ?? 0) - 1);
    return {};
  };
  return { most, run };
}

describe('global limits', () => {
  it('two processes together run no more rows of an owner than perOwner', async () => {
    for (let n = 0; n < 60; n += 1) await add(String(n), { owner: owners[n % 2] as string });
    const { most, run } = meter(({ owner_id }) => owner_id);
    const queue = {
      concurrency: 10,
      perOwner: 3,
      globalLimits: { concurrencyKey: 'concurrency_key', perKey: 100 },
      run,
    };
    start(queueOf(queue), 0);
    start(queueOf(queue), 1);
    await expect.poll(done).toBe(0);
    expect([...most.values()]).toEqual([3, 3]);
  });

  it('without global limits, perOwner applies to each process', async () => {
    for (let n = 0; n < 60; n += 1) await add(String(n));
    const { most, run } = meter(({ owner_id }) => owner_id);
    start(queueOf({ perOwner: 3, run }), 0);
    start(queueOf({ perOwner: 3, run }), 1);
    await expect.poll(done).toBe(0);
    expect(most.get(owners[0])).toBeGreaterThan(3);
    expect(most.get(owners[0])).toBeLessThanOrEqual(6);
  });

  it('two processes together run no more of a concurrency key than its limit, whoever owns the rows; other keys are not delayed', async () => {
    for (let n = 0; n < 80; n += 1) await add(`busy ${n}`, { owner: newId(), concurrency_key: 'busy' });
    await add('free', { concurrency_key: 'free' });
    const { most, run } = meter(({ concurrency_key }) => concurrency_key);
    const seen: string[] = [];
    const queue = {
      globalLimits: { concurrencyKey: 'concurrency_key', perKey: 4 },
      run: async (job: TestJob) => {
        const outcome = await run(job);
        seen.push(job.what);
        return outcome;
      },
    };
    start(queueOf(queue), 0);
    start(queueOf(queue), 1);
    await expect.poll(done).toBe(0);
    expect(most.get('busy')).toBe(4);
    expect(new Set(seen).size).toBe(81);
    expect(seen.indexOf('free')).toBeLessThan(60);
  });

  it('a row claimed by another process counts towards its concurrency key until the claim is released', async () => {
    for (let n = 0; n < 5; n += 1) await add(String(n), { concurrency_key: 'concurrency_key' });
    await sql`update jobs set claimed_slot = 1, claimed_epoch = 1 where what in ('0', '1')`.execute(db);
    start(queueOf({ globalLimits: { concurrencyKey: 'concurrency_key', perKey: 2 } }), 0);
    await add('other', { concurrency_key: 'another', owner: owners[1] });
    await expect.poll(effects).toEqual(['other']);
    await sql`update jobs set claimed_slot = null, claimed_epoch = null`.execute(db);
    await expect.poll(async () => (await effects()).length).toBe(6);
  });
});

describe('load', () => {
  it('fetches for all rows of a claim at once, and the runs get what it gives', async () => {
    for (let n = 0; n < 12; n += 1) await add(String(n), { owner: owners[n % 3] as string });
    const loads: number[] = [];
    const notes: (string | null)[] = [];
    start(
      queueOf({
        load: async (_db, rows) => {
          loads.push(rows.length);
          return rows.map((row) => ({ ...row, note: `for ${row.what}` }));
        },
        run: async ({ note }) => {
          notes.push(note);
          return {};
        },
      }),
    );
    await expect.poll(done).toBe(0);
    expect(loads.length).toBeLessThan(12);
    expect(loads.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect(notes.sort()).toEqual(Array.from({ length: 12 }, (_, n) => `for ${n}`).sort());
  });

  it('that fails gives the rows back: they are claimed again, and nothing has failed', async () => {
    await add('patient');
    let failures = 0;
    start(
      queueOf({
        load: async (_db, rows) => {
          failures += 1;
          if (failures < 3) throw new Error('not now');
          return rows;
        },
      }),
    );
    await expect.poll(effects).toEqual(['patient']);
    const { rows } = await sql`select failures, crash_count, failed_at from jobs`.execute(db);
    expect(rows).toEqual([{ failures: 0, crash_count: 0, failed_at: null }]);
  });
});
