// Tests what an operator sees of a queue and does with its rows: why a row does not run, retry, cancel and pause.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { createClaimer } from './claim.ts';
import {
  cancelQueueRows,
  explainQueueRow,
  listQueueRows,
  listQueueStates,
  NotByHand,
  retryQueueRows,
} from './operate.ts';
import { pauseQueue, resumeQueue } from './pauses.ts';
import type { Queue } from './queue.ts';

const { db, runAsOwner, owners, buildQueue, start, enqueue, effects, findRow } = await createTestQueue();
const build = (options: Partial<Queue<TestJob>> = {}) =>
  buildQueue({ byHand: { retry: true, cancel: true }, ...options }) as Queue;
const queue = build();
const ignore = async () => {};

async function change(what: string, columns: Partial<Record<keyof TestJob, unknown>>): Promise<void> {
  for (const [name, value] of Object.entries(columns))
    await sql`update jobs set ${sql.ref(name)} = ${value} where what = ${what}`.execute(db);
}
const claimedBy = (slot: number) => ({ claimed_slot: slot, claimed_epoch: 1 });
const failedNow = () => ({ due_at: null, failed_at: new Date(), last_error: 'it broke', failures: 3 });
const explain = async (what: string, of = queue) => (await explainQueueRow(db, of, (await findRow(what)).id))?.why;
const setHeartbeats = (ago: string) =>
  sql`update worker_slots set heartbeat_at = clock_timestamp() - ${ago}::interval`.execute(db);

beforeEach(async () => {
  await sql`delete from queue_pauses`.execute(db);
  await setHeartbeats('1 second');
});

describe('why a row does not run', () => {
  it('names what is claimed, delayed, done or failed', async () => {
    for (const what of ['running', 'crashed', 'delayed', 'retried', 'done', 'failed']) await enqueue(what);
    await change('running', claimedBy(0));
    await change('crashed', { claimed_slot: 0, claimed_epoch: 0 });
    const later = new Date(Date.now() + 60_000);
    await change('delayed', { due_at: later });
    await change('retried', { due_at: later, failures: 1, last_error: 'no answer' });
    await change('done', { due_at: null });
    await change('failed', failedNow());
    expect(await explain('running')).toEqual(['It is running in slot 0, whose worker sent a heartbeat 1 s ago.']);
    expect(await explain('crashed')).toEqual([
      'The worker in slot 0 crashed while running it. The next holder of the slot releases the row.',
    ]);
    expect(await explain('delayed')).toEqual([`It is due at ${later.toISOString()}.`]);
    expect(await explain('retried')).toEqual([`It is due at ${later.toISOString()}. Its last run failed: no answer.`]);
    expect(await explain('done')).toEqual(['It has run and will not run again.']);
    expect(await explain('failed')).toEqual([
      'It has failed for good: it broke. To run it again: npm run plinth -- queues retry jobs ID',
    ]);
    expect(await explain('failed', build({ byHand: { retry: 'Ask again.', cancel: true } }))).toEqual([
      'It has failed for good: it broke. Ask again.',
    ]);
  });

  it('names a worker that sends no heartbeat, and that none is running', async () => {
    await enqueue('claimed');
    await change('claimed', claimedBy(0));
    await enqueue('waiting', { owner: owners[1] });
    await setHeartbeats('30 seconds');
    expect(await explain('claimed')).toEqual([
      'It is claimed by slot 0, whose worker sent a heartbeat 30 s ago. Another worker takes the slot over; if none is running, start one.',
    ]);
    expect(await explain('waiting')).toEqual(['No worker is running. Start one: npm run plinth -- worker']);
  });

  it('names the limits of the owner and of the key', async () => {
    const limited = build({ perOwner: 2, globalLimits: { concurrencyKey: 'concurrency_key', perKey: 3 } });
    for (const what of ['a', 'b', 'c', 'd', 'e']) await enqueue(what, { concurrency_key: 'host' });
    for (const what of ['d', 'e']) await change(what, { owner_id: owners[1] });
    for (const what of ['a', 'b', 'd']) await change(what, claimedBy(0));
    expect(await explain('c', limited)).toEqual([
      'Its owner is at its limit: 2 of 2 rows are running.',
      'Its concurrency key is at its limit: 3 of 3 rows are running.',
    ]);
    expect(await explain('e', limited)).toEqual(['Its concurrency key is at its limit: 3 of 3 rows are running.']);
  });

  it('counts a limit without global limits for each worker', async () => {
    const limited = build({ perOwner: 1 });
    for (const what of ['a', 'b']) await enqueue(what);
    await change('a', claimedBy(0));
    expect(await explain('b', limited)).toEqual([
      'Nothing prevents it: a worker will claim it when it has a free place.',
    ]);
    await enqueue('c');
    await change('b', claimedBy(1));
    expect(await explain('c', limited)).toEqual(['Its owner is at its limit: 2 of 2 rows are running.']);
  });

  it('names quarantine, pauses and earlier rows', async () => {
    await enqueue('early', { inMs: -60_000 });
    await enqueue('bad');
    await change('bad', { crash_count: 2 });
    expect(await explain('bad')).toEqual([
      'It is quarantined, because workers crashed while running it. A worker runs one such row at a time. Crashes: 2, such rows that are running: 0.',
      'Rows of its owner that are due earlier: 1.',
    ]);
    const { until } = await pauseQueue(db, queue, owners[0], 60);
    await pauseQueue(db, queue, owners[1], 60);
    expect(await explain('early')).toEqual([`Its owner is paused until ${until.toISOString()}.`]);
    const all = await pauseQueue(db, queue, null, 60);
    expect(await explain('early')).toEqual([
      `The queue is paused until ${all.until.toISOString()}.`,
      `Its owner is paused until ${until.toISOString()}.`,
    ]);
  });

  it('is not known for a row that does not exist', async () => {
    expect(await explainQueueRow(db, queue, newId())).toBeUndefined();
  });
});

describe('the lists', () => {
  it('count rows by state', async () => {
    for (const what of ['due', 'running', 'delayed', 'failed', 'done']) await enqueue(what);
    await change('running', claimedBy(0));
    await change('delayed', { due_at: new Date(Date.now() + 60_000) });
    await change('failed', failedNow());
    await change('done', { due_at: null });
    await pauseQueue(db, queue, owners[1], 60);
    expect(await listQueueStates(db, [queue])).toMatchObject([
      { queue: 'jobs', due: 1, running: 1, delayed: 1, failed: 1, paused_until: null, paused_owners: 1 },
    ]);
    const states = async (filter: object) =>
      (await listQueueRows(db, queue, { limit: 10, ...filter })).map(({ state }) => state);
    expect(await states({})).toEqual(['due', 'running', 'delayed', 'failed']);
    expect(await states({ limit: 2 })).toEqual(['due', 'running']);
    expect(await states({ state: 'failed' })).toEqual(['failed']);
    expect(await states({ owner: owners[1] })).toEqual([]);
  });

  it('have null for the rows of a queue that cannot be read in time, and list the others', async () => {
    await enqueue('due');
    await runAsOwner('create table other_jobs (like jobs)');
    await transaction(db, async (locking) => {
      await sql`lock table other_jobs in access exclusive mode`.execute(locking);
      const unknown = { due: null, running: null, delayed: null, failed: null, oldest_seconds: null };
      expect(await listQueueStates(db, [{ ...queue, name: 'other_jobs' }, queue])).toMatchObject([
        { queue: 'other_jobs', ...unknown, paused_until: null, dead_rows: 0, last_vacuum: null },
        { queue: 'jobs', due: 1, running: 0, delayed: 0, failed: 0 },
      ]);
    });
    await runAsOwner('drop table other_jobs');
  });

  it('show the columns of queues only', async () => {
    await enqueue('secret');
    const [row] = await listQueueRows(db, queue, { limit: 1 });
    expect(JSON.stringify(row)).not.toContain('secret');
  });
});

describe('retry', () => {
  it('runs failed rows again, each once', async () => {
    for (const what of ['a', 'b', 'c']) await enqueue(what);
    for (const what of ['a', 'b']) await change(what, failedNow());
    await change('c', { due_at: null });
    const batches: number[] = [];
    const count = await retryQueueRows(db, queue, {}, async (_db, count) => batches.push(count));
    expect({ count, batches }).toEqual({ count: 2, batches: [2] });
    expect(await findRow('a')).toMatchObject({ failed_at: null, failures: 0 });
    start(build() as unknown as Queue<TestJob>);
    await expect.poll(async () => (await effects()).sort()).toEqual(['a', 'b']);
    expect(await retryQueueRows(db, queue, {}, ignore)).toBe(0);
  });

  it('selects by id, by owner and by time', async () => {
    for (const [n, what] of ['a', 'b', 'c'].entries()) {
      await enqueue(what, { owner: owners[n] as string });
      await change(what, failedNow());
    }
    const old = new Date(Date.now() - 60_000);
    await change('c', { failed_at: old });
    expect(await retryQueueRows(db, queue, { ids: [(await findRow('a')).id, newId()] }, ignore)).toBe(1);
    expect(await retryQueueRows(db, queue, { owner: owners[0] }, ignore)).toBe(0);
    expect(await retryQueueRows(db, queue, { since: new Date(old.getTime() + 1) }, ignore)).toBe(1);
    expect((await findRow('b')).due_at).not.toBeNull();
    expect((await findRow('c')).due_at).toBeNull();
  });

  it('refuses a queue whose end is final, and says what to do', async () => {
    await enqueue('a');
    await change('a', failedNow());
    const other = build({ byHand: { retry: 'Send it again.', cancel: true } });
    await expect(retryQueueRows(db, other, {}, ignore)).rejects.toThrow(new NotByHand('Send it again.'));
    const { byHand: _, ...silent } = queue;
    await expect(retryQueueRows(db, silent, {}, ignore)).rejects.toThrow(NotByHand);
    expect((await findRow('a')).due_at).toBeNull();
  });
});

describe('cancel', () => {
  it('ends waiting rows as dead-lettered, and names those that are running', async () => {
    const dead: string[] = [];
    const counted = build({
      async onDeadLetter(_db, { what }, error) {
        dead.push(`${what}: ${error}`);
      },
    });
    for (const what of ['due', 'delayed', 'running', 'done']) await enqueue(what);
    await enqueue('other', { owner: owners[1] });
    await change('delayed', { due_at: new Date(Date.now() + 60_000) });
    await change('running', claimedBy(0));
    await change('done', { due_at: null });
    const got = await cancelQueueRows(db, counted, { owner: owners[0] }, 'wrong address', ignore);
    expect(got).toEqual({ cancelled: 2, hasMore: false, running: [(await findRow('running')).id] });
    const error = 'cancelled by an operator: wrong address';
    expect(dead).toEqual([`due: ${error}`, `delayed: ${error}`]);
    expect(await findRow('due')).toMatchObject({ due_at: null, last_error: error });
    expect((await findRow('due')).failed_at).not.toBeNull();
    expect((await findRow('other')).due_at).not.toBeNull();
  });

  it('of at most some rows does not read the whole backlog', async () => {
    await runAsOwner(`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), '${owners[0]}', 'one of many', now() from generate_series(1, 20000)`);
    await runAsOwner('analyze jobs');
    await transaction(db, async (db) => {
      const read = await countRowsRead(db, 'jobs', async () => {
        expect(await cancelQueueRows(db, queue, { owner: owners[0], max: 20 }, 'x', ignore)).toMatchObject({
          cancelled: 20,
          hasMore: true,
        });
      });
      expect(read).toBeLessThan(500);
    });
  });

  it('cancels more rows than one batch has', async () => {
    await sql`insert into jobs (id, owner_id, what, due_at)
      select gen_random_uuid(), ${owners[0]}::uuid, 'many', now() from generate_series(1, 230)`.execute(db);
    const batches: number[] = [];
    const { cancelled } = await cancelQueueRows(db, queue, { owner: owners[0] }, 'x', async (_db, count) =>
      batches.push(count),
    );
    expect({ cancelled, batches }).toEqual({ cancelled: 230, batches: [100, 100, 30] });
  });

  it('changes nothing if the end of a row fails', async () => {
    await enqueue('a');
    const failing = build({ onDeadLetter: () => Promise.reject(new Error('no')) });
    await expect(cancelQueueRows(db, failing, { owner: owners[0] }, 'x', ignore)).rejects.toThrow('no');
    expect((await findRow('a')).due_at).not.toBeNull();
  });

  it('refuses a queue with a cancel of its own', async () => {
    const other = build({ byHand: { retry: true, cancel: 'Stop it.' } });
    await expect(cancelQueueRows(db, other, { owner: owners[0] }, 'x', ignore)).rejects.toThrow(
      new NotByHand('Stop it.'),
    );
  });
});

describe('a pause', () => {
  const claim = async () => {
    const { claim } = createClaimer(queue, { db, slot: { slot: 0, epoch: 1 } });
    const { rows } = await claim(10, { claimedRows: [], finishedRows: new Set() });
    return rows.map((row) => (row as TestJob).what).sort();
  };

  it('of an owner leaves the rows of others', async () => {
    for (const [n, what] of ['a', 'b'].entries()) await enqueue(what, { owner: owners[n] as string });
    await pauseQueue(db, queue, owners[0], 60);
    expect(await claim()).toEqual(['b']);
    expect(await resumeQueue(db, queue, owners[0])).toBe(true);
    expect(await resumeQueue(db, queue, owners[0])).toBe(false);
    expect(await claim()).toEqual(['a']);
  });

  it('of the queue stops all claims of it, and of no other queue', async () => {
    await enqueue('a');
    await pauseQueue(db, { name: 'other' }, null, 60);
    await pauseQueue(db, queue, null, 60);
    expect(await claim()).toEqual([]);
    expect(await resumeQueue(db, queue, owners[0])).toBe(false);
    expect(await resumeQueue(db, queue, null)).toBe(true);
    expect(await claim()).toEqual(['a']);
  });

  it('ends by itself, and the next one removes it', async () => {
    await enqueue('a');
    await pauseQueue(db, queue, null, 60);
    await sql`update queue_pauses set until = now() - interval '1 second'`.execute(db);
    expect(await claim()).toEqual(['a']);
    await pauseQueue(db, { name: 'other' }, null, 60);
    const { rows } = await sql<{ queue: string }>`select queue from queue_pauses`.execute(db);
    expect(rows).toEqual([{ queue: 'other' }]);
  });

  it('is changed by another one', async () => {
    await pauseQueue(db, queue, null, 60);
    const { until } = await pauseQueue(db, queue, null, 3_600);
    expect(until.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
    expect(await listQueueStates(db, [queue])).toMatchObject([{ paused_until: until.toISOString() }]);
  });
});
