// Tests that a queue which can't be read in time is missing from the metrics, instead of being reported as empty.
import pg from 'pg';
import { expect, it } from 'vitest';
import { createTestQueue } from '../../../test/support/queue-tables.ts';
import { isStatementTimeout } from '../db/failures.ts';
import { queueHealth, queueMetrics } from './metrics.ts';

const { db, url, runAsOwner, enqueue } = await createTestQueue();
await runAsOwner('create table other_jobs (like jobs)');
const queues = [{ name: 'jobs' }, { name: 'other_jobs' }];
const listRead = async () => (await queueMetrics(db, queues)).queues.map(({ queue, due }) => [queue, due]);

it('a queue that takes more than a second to read is missing; the others and the slots are not', async () => {
  await enqueue('waiting');
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin; lock table jobs in access exclusive mode'); // a read waits until it is cancelled
  const metrics = await queueMetrics(db, queues);
  expect(metrics.queues.map(({ queue }) => queue)).toEqual(['events', 'other_jobs']);
  expect(metrics.slots).toHaveLength(2);
  const failure = await queueHealth(db, queues).catch((error: unknown) => error);
  expect(isStatementTimeout(failure)).toBe(true);
  await client.end();
  await expect.poll(listRead).toEqual([
    ['events', 0],
    ['jobs', 1],
    ['other_jobs', 0],
  ]);
  expect((await queueHealth(db, queues)).lagSeconds).toBeGreaterThan(0);
});
