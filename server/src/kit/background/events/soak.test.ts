// A soak test of the dispatch: three dispatchers, each woken only by polling, a held snapshot, and writers that commit
// late, use savepoints, roll back and reset retries, all for some seconds and without the repeated full look. Every
// committed event is handled once.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { type AnyDb, openDatabase, transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { eventsDueInMs } from './dispatch.ts';
import { createListeners, type EventBus, eventBus } from './event-bus.ts';

interface TestEvents {
  'thing.made': { workspace_id: string };
}

const cloned = await cloneTemplate();
await cloned.runAsOwner('create table handled (id uuid not null)');
const { db, close } = openDatabase<never>({ url: cloned.url, poolSize: 4 });
const clients: pg.Client[] = [];
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await Promise.all([...clients.map((client) => client.end()), ...closing.map((close) => close()), close()]);
  await cloned.drop();
});
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: cloned.url });
  await client.connect();
  clients.push(client);
  return client;
}

const seconds = 8;
const workspaces = Array.from({ length: 60 }, newId);
const any = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)] as Item;
const isOnceIn = (n: number) => Math.random() < 1 / n;

type Bus = EventBus<TestEvents, AnyDb>;

/** What polling sends, for one bus. */
async function isDue(db: AnyDb, { known: { position, nextMs } }: Bus): Promise<boolean> {
  const known = JSON.stringify({ xmax: position?.xmax, xip: `{${position?.xip.join() ?? ''}}`, nextMs });
  const { rows } = await sql<{ due: number | null }>`
    select ${sql.raw(eventsDueInMs('k.known'))} as due from (select ${known}::json as known) k`.execute(db);
  return rows[0]?.due === 0;
}

it(`every event is handled once in ${seconds} s of late commits, savepoints, roll-backs and retries, found by polling`, async () => {
  const missed: number[] = [];
  const failures: unknown[] = [];
  const { listenAfterCommit } = createListeners<TestEvents, AnyDb>();
  let isStopped = false;
  const dispatchers = [0, 1, 2].map(async () => {
    const opened = openDatabase<never>({ url: cloned.url, poolSize: 2 });
    closing.push(opened.close);
    const bus = eventBus<TestEvents, AnyDb>({ notify: () => {} }, () => {}, {
      onMissed: (count) => missed.push(count),
      fullLookEveryMs: Number.POSITIVE_INFINITY,
    });
    const handle = listenAfterCommit('thing.made', async (db, events) => {
      await sql`insert into handled select * from unnest(${events.map(({ id }) => id)}::uuid[])`.execute(db);
    });
    bus.listen([handle]);
    while (!isStopped) {
      const handled = (await isDue(opened.db, bus))
        ? await bus.dispatch(opened.db, new Date()).catch((error: unknown) => void failures.push(error))
        : 0;
      if (!handled) await sleep(10 + Math.random() * 30);
    }
    return bus;
  });
  const snapshot = await connect();
  await snapshot.query('begin isolation level repeatable read; select count(*) from events');

  const published = new Set<string>();
  let reset = 0;
  const endsAt = performance.now() + seconds * 1_000;
  const write = async (client: pg.Client, workspace: string) => {
    while (performance.now() < endsAt) {
      const ids = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, newId);
      const isSaved = isOnceIn(3);
      await client.query('begin');
      if (isSaved) await client.query('savepoint s');
      await client.query(
        `insert into events (id, name, payload, occurred_at, retry_at)
           select id, 'thing.made', jsonb_build_object('workspace_id', $2::text), now(), $3 from unnest($1::uuid[]) id`,
        [ids, isOnceIn(4) ? any(workspaces) : workspace, isOnceIn(10) ? new Date(Date.now() + 3_600_000) : null],
      );
      if (isSaved && isOnceIn(2)) await client.query('release savepoint s; savepoint t');
      await sleep(Math.random() * (isOnceIn(15) ? 2_000 : 60));
      if (isOnceIn(10)) await client.query('rollback');
      else {
        await client.query('commit');
        for (const id of ids) published.add(id);
      }
      if (isOnceIn(5)) await resetRetries(client);
    }
  };
  // Makes failed events pending again, whose place in the log was passed long ago.
  const resetRetries = async (client: pg.Client) => {
    const { rowCount } = await client.query('update events set retry_at = null where retry_at > now()');
    reset += rowCount ?? 0;
  };
  await Promise.all(workspaces.slice(0, 8).map(async (workspace) => write(await connect(), workspace)));
  await resetRetries(await connect());
  const countLeft = async () => (await sql`select from events where dispatched_at is null`.execute(db)).rows.length;
  await expect.poll(countLeft, { interval: 100 }).toBe(0);
  isStopped = true;
  const buses = await Promise.all(dispatchers);
  await snapshot.query('rollback');

  const { rows } = await sql<{ id: string }>`select id from handled`.execute(db);
  expect(published.size).toBeGreaterThan(500);
  expect(rows.map(({ id }) => id).sort()).toEqual([...published].sort());
  expect({ failures, missed }).toEqual({ failures: [], missed: [] });
  expect(reset).toBeGreaterThan(0);
  // Each dispatcher forgets what the others have handled, and then has nothing to do.
  for (const bus of buses) {
    while (await isDue(db, bus)) await bus.dispatch(db, new Date());
    expect(bus.known.nextMs).toBeUndefined();
  }
}, 60_000);

it('a dispatch does not read past what was dispatched under a held snapshot', async () => {
  const bus = eventBus<TestEvents, AnyDb>({ notify: () => {} }, () => {});
  const publish = (count: number) =>
    transaction(db, async (db) => {
      for (let n = 0; n < count; n += 1)
        await bus.publish(db as AnyDb, 'thing.made', { workspace_id: workspaces[n % 20] as string }, new Date());
    });
  const snapshot = await connect();
  await snapshot.query('begin isolation level repeatable read; select count(*) from events');
  await publish(4_000);
  while ((await bus.dispatch(db, new Date())) > 0);
  await publish(20);
  // The measurement's own transaction keeps another one from being the oldest that is in progress.
  const read = await transaction(db, async (db) => {
    const countEntries = async () => {
      const { rows } = await sql<{ read: number }>`select
        (select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int from pg_index where indrelid = 'events'::regclass)
          as read`.execute(db);
      return rows[0]?.read ?? 0;
    };
    const before = await countEntries();
    expect(await bus.dispatch(db as AnyDb, new Date())).toBe(20);
    return (await countEntries()) - before;
  });
  await snapshot.query('rollback');
  expect(read).toBeGreaterThan(20);
  expect(read).toBeLessThan(500);
});
