// Tests that a queue which can't be read in time is reported as unreadable, instead of as empty.
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { createTestQueue } from '../../../test/support/queue-tables.ts';
import { openDatabase } from '../db/database.ts';
import { isStatementTimeout } from '../db/failures.ts';
import { createMetrics } from '../metrics.ts';
import { queueMetrics, readLatestHeartbeat, readQueueLag } from './metrics.ts';
import { readEach } from './queues/read-each.ts';

const { db, url, runAsOwner, enqueue } = await createTestQueue();
const others = Array.from({ length: 13 }, (_, n) => ({ name: `other_jobs_${n}` }));
const [other = { name: '' }] = others;
for (const { name } of others) await runAsOwner(`create table ${name} (like jobs)`);
const queues = [{ name: 'jobs' }, other];

const clients: pg.Client[] = [];
/** Locks tables. Whoever reads one of them waits until the statement is cancelled. */
async function lockTables(...names: readonly string[]): Promise<pg.Client> {
  const client = new pg.Client(url);
  clients.push(client);
  await client.connect();
  await client.query(`begin; lock table ${names.join(', ')} in access exclusive mode`);
  return client;
}
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

it('a queue that takes more than a second to read is unreadable; the others and the slots are not', async () => {
  await enqueue('waiting');
  const client = await lockTables('jobs');
  const metrics = await queueMetrics(db, queues);
  expect(metrics.queues.map(({ queue }) => queue)).toEqual(['events', other.name]);
  expect(metrics.unreadable).toEqual(['jobs']);
  expect(metrics.slots).toHaveLength(2);
  await client.query('rollback');
  const { queues: read, unreadable } = await queueMetrics(db, queues);
  expect(read.map(({ queue, due }) => [queue, due])).toEqual([
    ['events', 0],
    ['jobs', 1],
    [other.name, 0],
  ]);
  expect(unreadable).toEqual([]);
});

it('two queues are read at once, and none begins when four seconds have passed', async () => {
  const client = await lockTables('jobs', ...others.map(({ name }) => name));
  const startedAt = performance.now();
  let isRead = false;
  const reading = queueMetrics(db, [{ name: 'jobs' }, ...others]).finally(() => {
    isRead = true;
  });
  let mostWaiting = 0;
  while (!isRead) {
    const { rows } = await client.query(`select count(distinct pid)::int as count from pg_locks
      where not granted and database = (select oid from pg_database where datname = current_database())`);
    mostWaiting = Math.max(mostWaiting, rows[0].count);
    await wait(50);
  }
  const { unreadable } = await reading;
  expect(performance.now() - startedAt).toBeLessThan(6_000); // all would take seven seconds
  expect(unreadable).toEqual(expect.arrayContaining(['jobs', ...others.map(({ name }) => name)]));
  expect(mostWaiting).toBe(2);
}, 20_000);

it('every reading begins with another queue, and returns them in their order', async () => {
  const begun = new Set<string>();
  for (let n = 0; n < 3; n += 1) {
    const read: string[] = [];
    const values = await readEach(db, ['a', 'b', 'c'], async (_db, name) => read.push(name) && name);
    expect(values).toEqual(['a', 'b', 'c']);
    begun.add(read[0] as string);
  }
  expect(begun.size).toBe(3);
});

it('a database that cannot be reached makes all metrics fail', async () => {
  const { db: unreachable, close } = openDatabase<never>({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 2 });
  await expect(queueMetrics(unreachable, queues)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await close();
});

it('the lag cannot be read if a queue takes more than a second, the latest heartbeat can', async () => {
  await enqueue('waiting');
  const client = await lockTables('jobs');
  const failure = await readQueueLag(db, queues).catch((error: unknown) => error);
  expect(isStatementTimeout(failure)).toBe(true);
  await runAsOwner("update worker_slots set heartbeat_at = '2026-11-15T10:00:00Z' where slot = 0");
  expect(await readLatestHeartbeat(db)).toEqual(new Date('2026-11-15T10:00:00Z'));
  await client.query('rollback');
  expect(await readQueueLag(db, queues)).toBeGreaterThan(0);
});

it('the text has plinth_queue_unreadable for each queue, also for one that a gauge reads', async () => {
  let error: Error | undefined;
  let isReachable = true;
  const { addGauge, render } = createMetrics(async () => {
    if (!isReachable) throw new Error('unreachable');
    return { queues: [{ queue: 'a', due: 0, running: 0, failed: 0, oldestSeconds: 0 }], unreadable: ['b'], slots: [] };
  });
  const read = async () => {
    if (error !== undefined) throw error;
    return 1;
  };
  addGauge({ name: 'plinth_waiting_seconds', help: 'test', queue: 'c', read });
  const listUnreadable = async () =>
    [...(await render()).matchAll(/^plinth_queue_unreadable\{queue="(\w)"\} (\d)$/gm)]
      .map(([, queue, is]) => `${queue}${is}`)
      .sort();
  expect(await listUnreadable()).toEqual(['a0', 'b1', 'c0']);
  error = Object.assign(new Error('cancelled'), { code: '57014' });
  expect(await listUnreadable()).toEqual(['a0', 'b1', 'c1']);
  error = new Error('unreachable');
  isReachable = false;
  expect(await listUnreadable()).toEqual([]);
});
