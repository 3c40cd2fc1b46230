// A soak test: three claimers, a held snapshot, and writers that commit late, use savepoints, roll back, cancel and
// re-open rows, all for some seconds and without the repeated full look. Every row is completed as often as it was
// opened, no row is run by two claimers at once, and no limit is exceeded.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestQueue, type TestJob } from '../../../../test/support/queue-tables.ts';
import { systemClock } from '../../clock.ts';
import { openDatabase } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { runQueue } from './run.ts';

const { url, buildQueue, runAsOwner, db } = await createTestQueue();
const clients: pg.Client[] = [];
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  clients.push(client);
  return client;
}
afterAll(() => Promise.all(clients.map((client) => client.end())));

const seconds = 8;
const limits = { perOwner: 4, perKey: 10 };
const owners = Array.from({ length: 40 }, newId);
const any = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)] as Item;
const isOnceIn = (n: number) => Math.random() < 1 / n;

/** Counts what runs at once. */
function createGauge() {
  const now = new Map<string, number>();
  let most = 0;
  return {
    enter(name: string) {
      now.set(name, (now.get(name) ?? 0) + 1);
      most = Math.max(most, now.get(name) ?? 0);
    },
    leave: (name: string) => void now.set(name, (now.get(name) ?? 0) - 1),
    most: () => most,
  };
}

describe('soak', () => {
  it.each([
    ['with limits over all processes', { concurrencyKey: 'concurrency_key', perKey: limits.perKey }],
    ['with limits in each process', undefined],
  ])(
    `no row is missed, and none is run twice, in ${seconds} s of late commits, savepoints, roll-backs, cancels and re-opened rows, %s`,
    async (_, globalLimits) => {
      await runAsOwner('truncate jobs');
      await sql`insert into worker_slots (slot, epoch) values (2, 1) on conflict do nothing`.execute(db);
      const [rows, ofOwner, ofKey] = [createGauge(), createGauge(), createGauge()];
      const failures: unknown[] = [];
      const missed: number[] = [];
      const finished = new Map<string, number>();
      const run = async (job: TestJob) => {
        rows.enter(job.id);
        ofOwner.enter(job.owner_id);
        ofKey.enter(job.concurrency_key);
        await sleep(Math.random() * 30);
        rows.leave(job.id);
        ofOwner.leave(job.owner_id);
        ofKey.leave(job.concurrency_key);
        const isAgain = isOnceIn(8);
        if (!isAgain) finished.set(job.id, (finished.get(job.id) ?? 0) + 1);
        return isAgain ? { runAgainInMs: Math.random() * 800 } : {};
      };
      const queue = buildQueue({
        concurrency: 100,
        perOwner: limits.perOwner,
        ...(globalLimits && { globalLimits }),
        timeoutMs: 15_000,
        asyncCommit: true,
        run,
      });
      const wakes: (() => void)[] = [];
      const workers = [0, 1, 2].map((slot) => {
        const opened = openDatabase<never>({ url, poolSize: 4 });
        const running = runQueue(queue, {
          db: opened.db,
          clock: systemClock,
          slot: { slot, epoch: 1 },
          wake: {
            listen: (_topic: string, wake: () => void) => {
              wakes.push(wake);
              return () => {};
            },
            pollMs: () => 300,
            notify: () => {},
          },
          onError: (_queue, error) => failures.push(error),
          onMissed: (_queue, count) => missed.push(count),
          fullLookEveryMs: Number.POSITIVE_INFINITY,
        });
        return { running, close: opened.close };
      });
      const snapshot = await connect();
      await snapshot.query('begin isolation level repeatable read; select count(*) from jobs');

      /** How often each committed row was opened: once, and once more each time it was re-opened. */
      const opened = new Map<string, number>();
      const endsAt = performance.now() + seconds * 1_000;
      const write = async (client: pg.Client) => {
        while (performance.now() < endsAt) {
          const ids = Array.from({ length: 1 + Math.floor(Math.random() * 15) }, newId);
          const isSaved = isOnceIn(3);
          await client.query('begin');
          if (isSaved) await client.query('savepoint s');
          await client.query(
            `insert into jobs (id, owner_id, what, concurrency_key, due_at)
             select id, $2::uuid, 'soak', $3, clock_timestamp() + (random() * 3 - 1.5) * interval '1 s' from unnest($1::uuid[]) id`,
            [ids, any(owners), any(['a', 'b', 'c', 'd', 'e', 'f'])],
          );
          if (isSaved && isOnceIn(2)) await client.query('release savepoint s; savepoint t');
          await sleep(Math.random() * (isOnceIn(15) ? 2_000 : 50));
          if (isOnceIn(10)) await client.query('rollback');
          else {
            await client.query('commit');
            for (const id of ids) opened.set(id, 1);
            if (isOnceIn(8)) await cancel(client, ids);
            if (isOnceIn(4)) await reopen(client, any([...opened.keys()]));
          }
          if (isOnceIn(2)) for (const wake of wakes) wake();
        }
      };
      const cancel = async (client: pg.Client, ids: readonly string[]) => {
        const { rows } = await client.query(
          'update jobs set due_at = null where id = any($1::uuid[]) and claimed_slot is null and due_at is not null returning id',
          [ids],
        );
        for (const { id } of rows) opened.set(id, (opened.get(id) ?? 0) - 1);
      };
      // The row's runs so far are over, so it is due again with a time that has long passed.
      const reopen = async (client: pg.Client, id: string) => {
        const { rowCount } = await client.query(
          `update jobs set due_at = clock_timestamp() - interval '1 hour' where id = $1 and claimed_slot is null and due_at is null`,
          [id],
        );
        if (rowCount === 1) opened.set(id, (opened.get(id) ?? 0) + 1);
      };
      await Promise.all(Array.from({ length: 8 }, async () => write(await connect())));

      const countLeft = async () => (await sql`select from jobs where due_at is not null`.execute(db)).rows.length;
      await expect.poll(countLeft).toBe(0);
      await Promise.all(workers.map(({ running }) => running.stop(5_000)));
      await Promise.all(workers.map(({ close }) => close()));
      await snapshot.query('rollback');
      const expected = [...opened].filter(([, count]) => count > 0);
      expect(opened.size).toBeGreaterThan(500);
      expect([...finished].sort()).toEqual(expected.sort());
      expect({ most: rows.most(), failures, missed }).toEqual({ most: 1, failures: [], missed: [] });
      if (globalLimits !== undefined) {
        expect(ofOwner.most()).toBeLessThanOrEqual(limits.perOwner);
        expect(ofKey.most()).toBeLessThanOrEqual(limits.perKey);
      }
    },
    60_000,
  );
});
