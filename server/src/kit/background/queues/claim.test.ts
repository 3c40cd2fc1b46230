// Claiming: the limits that apply to all processes together (docs/decisions/0017), the worked example, and `load`.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { createClaimer } from './claim.ts';
import { readQueueDepth } from './queue.ts';

const { db, runAsOwner, owners, buildQueue, start, enqueue, effects } = await createTestQueue();
const countUnfinished = async () => {
  const { due, running } = await readQueueDepth({ name: 'jobs' }, db);
  return due + running;
};

/** Counts how many rows run at once by key, in all queues that use its `run`. */
function createMeter(keyOf: (job: TestJob) => string, ms = 15) {
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

describe('claimedColumns', () => {
  it('are all that a claim reads', async () => {
    await enqueue('small');
    const seen: object[] = [];
    const run = async (job: TestJob) => {
      seen.push(job);
      return {};
    };
    start(buildQueue({ claimedColumns: ['id', 'owner_id', 'claims', 'failures', 'crash_count'], run }), 0);
    await expect.poll(countUnfinished).toBe(0);
    expect(seen.map((job) => Object.keys(job))).toEqual([['id', 'owner_id', 'claims', 'failures', 'crash_count']]);
  });
});

describe('global limits', () => {
  it('two processes together run no more rows of an owner than perOwner', async () => {
    for (let n = 0; n < 60; n += 1) await enqueue(String(n), { owner: owners[n % 2] as string });
    const { most, run } = createMeter(({ owner_id }) => owner_id);
    const queue = {
      concurrency: 10,
      perOwner: 3,
      globalLimits: { concurrencyKey: 'concurrency_key', perKey: 100 },
      run,
    };
    start(buildQueue(queue), 0);
    start(buildQueue(queue), 1);
    await expect.poll(countUnfinished).toBe(0);
    expect([...most.values()]).toEqual([3, 3]);
  });

  it('without global limits, perOwner applies to each process', async () => {
    for (let n = 0; n < 60; n += 1) await enqueue(String(n));
    const { most, run } = createMeter(({ owner_id }) => owner_id);
    start(buildQueue({ perOwner: 3, run }), 0);
    start(buildQueue({ perOwner: 3, run }), 1);
    await expect.poll(countUnfinished).toBe(0);
    expect(most.get(owners[0])).toBeGreaterThan(3);
    expect(most.get(owners[0])).toBeLessThanOrEqual(6);
  });

  it('two processes together run no more of a concurrency key than its limit, whoever owns the rows; other keys are not delayed', async () => {
    for (let n = 0; n < 80; n += 1) await enqueue(`busy ${n}`, { owner: newId(), concurrency_key: 'busy' });
    await enqueue('free', { concurrency_key: 'free' });
    const { most, run } = createMeter(({ concurrency_key }) => concurrency_key);
    const seen: string[] = [];
    const queue = {
      globalLimits: { concurrencyKey: 'concurrency_key', perKey: 4 },
      run: async (job: TestJob) => {
        const outcome = await run(job);
        seen.push(job.what);
        return outcome;
      },
    };
    start(buildQueue(queue), 0);
    start(buildQueue(queue), 1);
    await expect.poll(countUnfinished).toBe(0);
    expect(most.get('busy')).toBe(4);
    expect(new Set(seen).size).toBe(81);
    expect(seen.indexOf('free')).toBeLessThan(60);
  });

  it('a row claimed by another process counts towards its concurrency key until the claim is released', async () => {
    for (let n = 0; n < 5; n += 1) await enqueue(String(n), { concurrency_key: 'x' });
    await sql`update jobs set claimed_slot = 1, claimed_epoch = 1 where what in ('0', '1')`.execute(db);
    start(buildQueue({ globalLimits: { concurrencyKey: 'concurrency_key', perKey: 2 } }), 0);
    await enqueue('other', { concurrency_key: 'another', owner: owners[1] });
    await expect.poll(effects).toEqual(['other']);
    await sql`update jobs set claimed_slot = null, claimed_epoch = null`.execute(db);
    await expect.poll(async () => (await effects()).length).toBe(6);
  });
});

describe('the worked example in claim.ts', () => {
  const [a, b, c] = owners;
  const keys = new Map<string, string>([
    [a, 'x'],
    [b, 'x'],
    [c, 'y'],
  ]);
  const limits = { perOwner: 2, globalLimits: { concurrencyKey: 'concurrency_key', perKey: 3 }, timeoutMs: 60_000 };

  beforeEach(async () => {
    await enqueue('running', { owner: c, concurrency_key: 'y', inMs: -10_000 });
    await sql`update jobs set claimed_slot = 1, claimed_epoch = 1`.execute(db);
    for (const [n, owner] of [a, a, a, b, b, b, c, c].entries())
      await enqueue(String(n + 1), { owner, concurrency_key: keys.get(owner) as string, inMs: n * 10 - 5_000 });
  });

  it('claims 1, 2, 4 and 7, and nothing more while they run', async () => {
    const claimed: string[] = [];
    const stopped = Promise.withResolvers<object>();
    const run = ({ what }: TestJob) => {
      claimed.push(what);
      return stopped.promise;
    };
    start(buildQueue({ ...limits, run }));
    await expect.poll(() => claimed.toSorted()).toEqual(['1', '2', '4', '7']);
    await new Promise((resolve) => setTimeout(resolve, 300)); // later claims find nothing more
    expect(claimed).toHaveLength(4);
    stopped.resolve({});
  });

  it('claims 1, 4 and 2 with a limit of 3', async () => {
    const claimer = createClaimer(buildQueue(limits), { db, slot: { slot: 0, epoch: 1 } });
    await claimer.claim(3, { claimedRows: [], finishedRows: new Set() });
    const { rows } = await sql<TestJob>`select * from jobs where claimed_slot = 0`.execute(db);
    expect(rows.map((row) => row.what).toSorted()).toEqual(['1', '2', '4']);
  });
});

describe('a long backlog', () => {
  it.each([
    ['with global limits', { concurrencyKey: 'concurrency_key', perKey: 16 }],
    ['without', undefined],
  ])('is not read by a claim %s, with statistics from when nothing was waiting', async (_, globalLimits) => {
    const insertJobs = (due: string) =>
      runAsOwner(`insert into jobs (id, owner_id, what, due_at)
        select gen_random_uuid(), ('{${owners.join()}}'::uuid[])[1 + i % 3], 'one of many', ${due}
        from generate_series(1, 20000) as i`);
    await insertJobs('null');
    await runAsOwner('analyze jobs');
    await insertJobs('now()');
    await transaction(db, async (db) => {
      const queue = buildQueue({ ...(globalLimits && { globalLimits }) });
      const claimer = createClaimer(queue, { db, slot: { slot: 0, epoch: 1 } });
      const read = await countRowsRead(db, 'jobs', async () => {
        const { rows } = await claimer.claim(10, { claimedRows: [], finishedRows: new Set() });
        expect(rows).toHaveLength(10);
      });
      expect(read).toBeLessThan(500);
    });
  });
});

describe('load', () => {
  it('is called once for all rows of a claim, and the runs get the rows it returns', async () => {
    for (let n = 0; n < 12; n += 1) await enqueue(String(n), { owner: owners[n % 3] as string });
    const loads: number[] = [];
    const notes: (string | null)[] = [];
    start(
      buildQueue({
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
    await expect.poll(countUnfinished).toBe(0);
    expect(loads.length).toBeLessThan(12);
    expect(loads.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect(notes.sort()).toEqual(Array.from({ length: 12 }, (_, n) => `for ${n}`).sort());
  });

  it('releases the claimed rows when it throws; no run counts as failed', async () => {
    await enqueue('patient');
    let failures = 0;
    start(
      buildQueue({
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
