// Tests claiming: the limits that apply across all processes (docs/decisions/0017), the worked example, and `load`.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { transaction, transactionOf } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { createClaimer } from './claim.ts';
import { readQueueDepth } from './queue.ts';

const { db, runAsOwner, owners, buildQueue, start, enqueue, effects } = await createTestQueue();
const countUnfinished = async () => {
  const { due, running } = await readQueueDepth(db, { name: 'jobs' });
  return due + running;
};

/** Counts how many rows run concurrently per key, across all queues that use the returned `run`. */
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

  it('the concurrency key may be a column of any type', async () => {
    for (let n = 0; n < 6; n += 1) await enqueue(String(n));
    const { most, run } = createMeter(({ owner_id }) => owner_id);
    start(buildQueue({ globalLimits: { concurrencyKey: 'owner_id', perKey: 2 }, run }), 0);
    await expect.poll(countUnfinished).toBe(0);
    expect(most.get(owners[0])).toBe(2);
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
    await new Promise((resolve) => setTimeout(resolve, 300)); // time for further claims, which must not find more rows
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

describe('transaction ids', () => {
  const nobody = { claimedRows: [], finishedRows: new Set<never>() };
  const claim = async () => {
    const claimer = createClaimer(buildQueue(), { db, slot: { slot: 0, epoch: 1 } });
    return { claimer, rows: (await claimer.claim(10, nobody)).rows as readonly TestJob[] };
  };
  const setChangedIn = (xid: string) => sql`update jobs set changed_in = ${xid}::xid8`.execute(db);

  it('from the future, as in a copy of another database, are corrected by the first look, and hide no row', async () => {
    await enqueue('copied', { inMs: 100 });
    await setChangedIn('1000000000000');
    const { claimer, rows } = await claim();
    expect(rows).toEqual([]);
    const { rows: ahead } =
      await sql`select from jobs where changed_in >= pg_snapshot_xmax(pg_current_snapshot())`.execute(db);
    expect(ahead).toEqual([]);
    await expect.poll(async () => (await claimer.claim(10, nobody)).rows.length).toBe(1);
  });

  it('a row that is copied with an old one is found by the next claim, because an insert always gets its own', async () => {
    const { claimer } = await claim();
    await sql`insert into jobs (id, owner_id, what, due_at, changed_in) values (${newId()}, ${owners[0]}, 'copied', now(), '3')`.execute(
      db,
    );
    expect((await claimer.claim(10, nobody)).rows).toHaveLength(1);
  });

  it('a claim in a transaction that has written finds what the transaction writes after it', async () => {
    const { claimer } = await claim();
    await transaction(db, async (db) => {
      const insert = (what: string) =>
        sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${owners[1]}, ${what}, now())`.execute(
          db,
        );
      const within = createClaimer(buildQueue(), { db, slot: { slot: 0, epoch: 1 } });
      await insert('before');
      expect((await within.claim(10, nobody)).rows).toHaveLength(1);
      await insert('after');
      expect((await within.claim(10, nobody)).rows).toHaveLength(1);
    });
    expect((await claimer.claim(10, nobody)).rows).toEqual([]);
  });

  it('a row that looks cannot find is found by the repeated full look, and counted', async () => {
    const missed: number[] = [];
    const claimer = createClaimer(
      buildQueue(),
      { db, slot: { slot: 0, epoch: 1 } },
      { fullLookEveryMs: 200, onMissed: (count) => missed.push(count) },
    );
    await claimer.claim(10, nobody);
    await enqueue('hidden');
    await setChangedIn('3'); // as if the trigger were missing
    expect((await claimer.claim(10, nobody)).rows).toEqual([]);
    await expect.poll(async () => (await claimer.claim(10, nobody)).rows.length).toBe(1);
    expect(missed).toEqual([1]);
  });

  it('after an error that may mean anything, nothing is remembered, so the next claim looks at all', async () => {
    const claimer = createClaimer(buildQueue(), { db, slot: { slot: 0, epoch: 1 } });
    await claimer.claim(10, nobody);
    await runAsOwner('alter table jobs rename to jobs_away');
    await expect(claimer.claim(10, nobody)).rejects.toThrow();
    expect(claimer.known.position).toBeUndefined();
    await runAsOwner('alter table jobs_away rename to jobs');
    await enqueue('hidden');
    await setChangedIn('3');
    expect((await claimer.claim(10, nobody)).rows).toHaveLength(1);
  });
});

describe('a row that is set apart', () => {
  const slot = { slot: 0, epoch: 1 };
  const globalLimits = { concurrencyKey: 'concurrency_key', perKey: 100 };
  const insertQuarantined = (what: string, owner: string) =>
    sql`insert into jobs (id, owner_id, what, due_at, crash_count)
      values (${newId()}, ${owner}, ${what}, now() - interval '1 hour', 2)`.execute(db);

  /** A claimer that has set the row `apart` of the first owner apart, because it runs another quarantined row. */
  async function setApart() {
    const claimer = createClaimer(buildQueue({ globalLimits }), { db, slot });
    await insertQuarantined('running', owners[1]);
    const { rows } = await claimer.claim(10, { claimedRows: [], finishedRows: new Set() });
    const here = { claimedRows: rows, finishedRows: new Set<never>() };
    await insertQuarantined('apart', owners[0]);
    await claimer.claim(10, here); // finds the row
    const { nextDueInMs } = await claimer.claim(10, here); // visits its owner
    expect(nextDueInMs).toBeLessThan(0);
    return { claimer, here };
  }

  it.each([
    ['completed by another worker, and retried later', '0'],
    ['released after another crash', '3'],
  ])('is due at its new time after it was %s', async (_name, crashes) => {
    const { claimer, here } = await setApart();
    await sql`update jobs set claimed_slot = 1, claimed_epoch = 1 where what = 'apart'`.execute(db);
    await sql`update jobs set claimed_slot = null, claimed_epoch = null, crash_count = ${crashes}::int,
      due_at = clock_timestamp() + interval '6 hours' where what = 'apart'`.execute(db);
    const { nextDueInMs } = await claimer.claim(10, here);
    expect(nextDueInMs).toBeGreaterThan(5 * 3_600_000);
    await sql`update jobs set due_at = clock_timestamp() where what = 'apart'`.execute(db);
    const { rows } = await claimer.claim(10, { claimedRows: [], finishedRows: new Set() });
    expect(rows).toMatchObject([{ what: 'apart' }]);
  });

  it('is still found by its id after its crashes alone were reset', async () => {
    const { claimer, here } = await setApart();
    await sql`update jobs set crash_count = 0 where what = 'apart'`.execute(db);
    expect((await claimer.claim(10, here)).rows).toMatchObject([{ what: 'apart' }]);
  });

  it('is not claimed with a commit while another process is claiming', async () => {
    const { claimer, here } = await setApart();
    await sql`update jobs set crash_count = 0 where what = 'apart'`.execute(db);
    await transaction(db, async (claiming) => {
      await sql`select pg_advisory_xact_lock(hashtextextended('claim jobs', 0))`.execute(claiming);
      const statements = claimer.listStatements(10, here, [owners[2]]) ?? expect.fail('nothing is known');
      const [, rows] = await transactionOf(db, ...statements);
      expect(rows).toEqual([]);
    });
  });
});

describe('a cancelled statement', () => {
  const nobody = { claimedRows: [], finishedRows: new Set<never>() };
  const slot = { slot: 0, epoch: 1 };

  /** Runs `work` while the table is locked, and cancels the first statement that waits for it, as a timeout would. */
  async function cancelFirst<Result>(work: () => Promise<Result>): Promise<Result> {
    const { working } = await transaction<never, { working: Promise<Result> }>(db, async (locking) => {
      await sql`lock table jobs in access exclusive mode`.execute(locking);
      const working = work();
      working.catch(() => {}); // it may fail before it is awaited below
      const cancel = async () =>
        (
          await sql`select pg_cancel_backend(pid) from pg_locks join pg_stat_activity using (pid)
            where relation = 'jobs'::regclass and not granted and datname = current_database()`.execute(db)
        ).rows.length;
      await expect.poll(cancel).toBe(1);
      return { working };
    });
    return working;
  }

  it('of a repeated full look is reported; the floors are kept, and claims continue', async () => {
    const errors: unknown[] = [];
    const options = { fullLookEveryMs: 1_000, onError: (error: unknown) => errors.push(error) };
    const claimer = createClaimer(buildQueue(), { db, slot }, options);
    await claimer.claim(10, nobody);
    await enqueue('found by the look');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { rows } = await cancelFirst(() => claimer.claim(10, nobody));
    expect(rows).toHaveLength(1);
    await claimer.claim(10, nobody);
    expect(errors).toMatchObject([{ code: '57014' }]);
  });

  it('of a claim makes it fail, and forgets nothing', async () => {
    const claimer = createClaimer(buildQueue(), { db, slot });
    await claimer.claim(10, nobody);
    await enqueue('found by the look');
    await expect(cancelFirst(() => claimer.claim(10, nobody))).rejects.toMatchObject({ code: '57014' });
    expect(claimer.known.position).toBeDefined();
    expect((await claimer.claim(10, nobody)).rows).toHaveLength(1);
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
