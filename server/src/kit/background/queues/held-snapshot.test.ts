// Tests that claims under a held snapshot read only what has changed, and that a row which commits late is found.
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTestQueue } from '../../../../test/support/queue-tables.ts';
import { systemClock } from '../../clock.ts';
import { type AnyDb, transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { startPolling, wokenByPolling } from '../workers/poll.ts';
import { openWakeUps } from '../workers/wake.ts';
import { createClaimer, queueDueInMs } from './claim.ts';
import type { QueueRow } from './queue.ts';
import { runQueue } from './run.ts';

const { db, url, owners, buildQueue, enqueue, effects } = await createTestQueue();
const disconnected = openWakeUps('redis://127.0.0.1:1', 'none:');
afterAll(disconnected.close);
let clients: pg.Client[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  clients = [];
});
async function begin(statement: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  clients.push(client);
  await client.connect();
  await client.query(`begin; ${statement}`);
  return client;
}
const openSnapshot = () => begin('set transaction isolation level repeatable read; select from jobs');
const insertLate = (what: string) =>
  begin(`insert into jobs (id, owner_id, what, due_at) values ('${newId()}', '${owners[1]}', '${what}', now())`);

const limits = { globalLimits: { concurrencyKey: 'concurrency_key', perKey: 100 } };
const slot = { slot: 0, epoch: 1 };
const nobody = { claimedRows: [], finishedRows: new Set<never>() };

/** Rows of the first owner that other workers have run. */
async function complete(count: number): Promise<void> {
  await sql`insert into jobs (id, owner_id, what, due_at)
    select id, ${owners[0]}, 'completed', now() from unnest(${Array.from({ length: count }, newId)}::uuid[]) id`.execute(
    db,
  );
  await sql`update jobs set claimed_slot = 1, claimed_epoch = 1
    where claimed_slot is null and due_at is not null and what = 'completed'`.execute(db);
  await sql`update jobs set claimed_slot = null, claimed_epoch = null, due_at = null where claimed_slot = 1`.execute(
    db,
  );
}

/** Runs `work` in a transaction, because only within one are its own reads counted at once. */
const measuring = (work: (db: AnyDb, countRead: (run: () => Promise<unknown>) => Promise<number>) => Promise<void>) =>
  transaction(db as AnyDb, (db) => {
    const count = async () => {
      const { rows } = await sql<{ read: number }>`select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as read
        from pg_index where indrelid = 'jobs'::regclass`.execute(db);
      return rows[0]?.read ?? 0;
    };
    return work(db, async (run) => {
      const before = await count();
      await run();
      return (await count()) - before;
    });
  });

describe.each([
  ['with', limits],
  ['without', {}],
])('%s global limits, a claim under a held snapshot reads only what has changed', (_, options) => {
  const queue = buildQueue(options);

  it('while another transaction is in progress, whose row is found when it commits', async () => {
    await openSnapshot();
    const late = await insertLate('late');
    await measuring(async (db, countRead) => {
      const { claim } = createClaimer(queue, { db, slot });
      for (let chunk = 0; chunk < 6; chunk += 1) {
        await complete(500);
        expect((await claim(10, nobody)).rows).toEqual([]);
      }
      await enqueue('new');
      const read = await countRead(async () => expect((await claim(10, nobody)).rows).toHaveLength(1));
      expect(read).toBeLessThan(500);
      await late.query('commit');
      expect((await claim(10, nobody)).rows).toMatchObject([{ what: 'late' }]);
    });
  });

  it('while the first row of its owner is quarantined, which is claimed when no other such row runs', async () => {
    const insertQuarantined = (what: string, owner: string) =>
      sql`insert into jobs (id, owner_id, what, due_at, crash_count)
        values (${newId()}, ${owner}, ${what}, now() - interval '1 hour', 2)`.execute(db);
    await openSnapshot();
    await insertQuarantined('running', owners[1]);
    await measuring(async (db, countRead) => {
      const { claim } = createClaimer(queue, { db, slot });
      const { rows } = await claim(10, nobody);
      const running = { claimedRows: rows as readonly QueueRow[], finishedRows: new Set<never>() };
      expect(rows).toMatchObject([{ what: 'running' }]);
      await insertQuarantined('first', owners[0]);
      for (let chunk = 0; chunk < 6; chunk += 1) {
        await complete(500);
        expect((await claim(10, running)).rows).toEqual([]);
      }
      await enqueue('new', { owner: owners[0] });
      const read = await countRead(async () =>
        expect((await claim(10, running)).rows).toMatchObject([{ what: 'new' }]),
      );
      expect(read).toBeLessThan(500);
      expect((await claim(10, nobody)).rows).toMatchObject([{ what: 'first' }]);
    });
  });
});

it('without Redis, a row that commits after the look that passed it is found by polling', async () => {
  const errors: unknown[] = [];
  const deps = { db, clock: systemClock, onError: (_: string, error: unknown) => void errors.push(error) };
  const running = runQueue(buildQueue(), { ...deps, slot, wake: wokenByPolling(disconnected) });
  const polling = startPolling(
    [{ topic: 'jobs', dueInMs: queueDueInMs({ name: 'jobs' }, "($2::json -> 'jobs')"), known: () => running.known }],
    { ...deps, wake: disconnected },
  );
  const late = await insertLate('late');
  await enqueue('on time');
  await expect.poll(effects, { interval: 10 }).toEqual(['on time']);
  await late.query('commit');
  const at = performance.now();
  await expect.poll(effects, { interval: 10 }).toEqual(['on time', 'late']);
  expect(performance.now() - at).toBeLessThan(10_000); // the next full look would find it after a minute
  await Promise.all([polling.stop(), running.stop(1_000)]);
  expect(errors).toEqual([]);
});
