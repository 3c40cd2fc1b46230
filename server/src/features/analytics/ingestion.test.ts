// Tests storing events from many requests together: each event is stored once, and counts stay exact when events are
// repeated.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { createIngestion, type Ingest, type StoredEvent } from './ingestion.ts';
import { toCopyLine } from './store/events.ts';

const statements: string[] = [];
const world = await startWorld({ onStatement: (text) => void statements.push(text) });
const countLookUps = () => statements.filter((text) => text.includes('join analytics_event_ids')).length;

const now = new Date();
const after = (ms: number) => new Date(now.getTime() + ms);
/** Returns an app id. All ids end with the same digit, so their events share a transaction. */
const newApp = () => randomUUID().replace(/.$/, '0');
const newIds = (count: number) => Array.from({ length: count }, () => randomUUID());

function makeEvents(app_id: string, ids: readonly string[], at = now): StoredEvent[] {
  const nothing = { session_id: null, page_url: null, properties: {}, country: null, device_type: null, os: null };
  return ids.map((event_id) => {
    const user_id = `user ${event_id.slice(0, 1)}`;
    const line = toCopyLine({ ...nothing, app_id, event_id, at, event_name: 'x', user_id });
    return { app_id, sent_id: event_id, user_id, at, line };
  });
}

/** Creates an ingestion, as each process does. */
function openIngestion() {
  let retried = 0;
  const onRetry = () => {
    retried += 1;
  };
  return { ingest: createIngestion({ db: world.app.database.db, onRetry }), countRetried: () => retried };
}

/** Stores the batches in one transaction, by sending them while another app's events are being stored. */
async function ingestTogether(ingest: Ingest, batches: readonly StoredEvent[][], at = now): Promise<number[]> {
  const [, ...duplicates] = await Promise.all(
    [makeEvents(newApp(), newIds(1)), ...batches].map((events) => ingest(events, at)),
  );
  return duplicates;
}

/** Fails unless exactly these events are stored, each once, and the users' times and counts match them. */
async function expectStored(app_id: string, ids: readonly string[]): Promise<void> {
  const { rows: events } = await sql<{ id: string }>`select event_id as id from analytics_events
    where app_id = ${app_id} order by 1`.execute(world.db);
  const { rows: known } = await sql<{ id: string }>`select event_id as id from analytics_event_ids
    where app_id = ${app_id} order by 1`.execute(world.db);
  const expected = ids.toSorted().map((id) => ({ id }));
  expect({ events, known }).toEqual({ events: expected, known: expected });
  const { rows: wrongUsers } = await sql`select * from (
      select user_id, max(at) as at from analytics_events where app_id = ${app_id} group by 1) seen
    full join (select user_id, last_event_at from analytics_users where app_id = ${app_id}) users using (user_id)
    where at is distinct from last_event_at`.execute(world.db);
  const { rows: wrongCounts } = await sql`select * from (
      select grain, bucket, count(*) as users from analytics_users
      cross join lateral (values ('second', event_second), ('day', event_second / 86400)) g (grain, bucket)
      where app_id = ${app_id} group by 1, 2) recounted
    full join (select grain, bucket, users from analytics_user_counts where app_id = ${app_id}
      and grain in ('second', 'day') and users <> 0) counted using (grain, bucket)
    where recounted.users is distinct from counted.users`.execute(world.db);
  expect({ wrongUsers, wrongCounts }).toEqual({ wrongUsers: [], wrongCounts: [] });
}

describe('a new event', () => {
  it('is stored without looking up its id', async () => {
    const { ingest, countRetried } = openIngestion();
    const [app, other] = [newApp(), newApp()];
    const [ids, others] = [newIds(300), newIds(300)];
    const before = countLookUps();
    expect(await ingestTogether(ingest, [makeEvents(app, ids), makeEvents(other, others)])).toEqual([0, 0]);
    expect(countLookUps()).toBe(before);
    expect(countRetried()).toBe(0);
    await expectStored(app, ids);
    await expectStored(other, others);
  });
});

describe('a repeated event', () => {
  it('is a duplicate if the whole request is repeated', async () => {
    const { ingest, countRetried } = openIngestion();
    const app = newApp();
    const ids = newIds(200);
    expect(await ingest(makeEvents(app, ids), now)).toBe(0);
    expect(await ingest(makeEvents(app, ids, after(2_000)), now)).toBe(200);
    expect(countRetried()).toBe(1);
    await expectStored(app, ids);
  });

  it('is a duplicate among new ones, which are stored', async () => {
    const { ingest } = openIngestion();
    const app = newApp();
    const [ids, more] = [newIds(50), newIds(50)];
    await ingest(makeEvents(app, ids), now);
    const mixed = [...more, ...ids.slice(0, 3), ...more.slice(0, 2)];
    expect(await ingest(makeEvents(app, mixed, after(2_000)), now)).toBe(5);
    await expectStored(app, [...ids, ...more]);
  });

  it('is stored once if two requests send it at the same time, to one process or to two', async () => {
    const [first, second] = [openIngestion(), openIngestion()];
    for (const other of [first, second]) {
      const app = newApp();
      const ids = newIds(100);
      const sent = [first, other, first, other].map(({ ingest }) => ingest(makeEvents(app, ids), now));
      expect((await Promise.all(sent)).toSorted((a, b) => a - b)).toEqual([0, 100, 100, 100]);
      await expectStored(app, ids);
    }
  });

  it('fails no transaction if it was gathered together with the first one', async () => {
    const { ingest, countRetried } = openIngestion();
    const app = newApp();
    const ids = newIds(100);
    const batches = [ids, ids, ids.slice(50)].map((sent) => makeEvents(app, sent));
    expect(await ingestTogether(ingest, batches)).toEqual([0, 100, 50]);
    expect(countRetried()).toBe(0);
    await expectStored(app, ids);
  });

  it('is looked up at once if its app has repeated one within the last minute', async () => {
    const { ingest, countRetried } = openIngestion();
    const app = newApp();
    const ids = newIds(20);
    for (const ms of [0, 1_000, 2_000, 61_000, 120_000]) await ingest(makeEvents(app, ids), after(ms));
    expect(countRetried()).toBe(1);
    expect(await ingest(makeEvents(app, ids), after(181_000))).toBe(20);
    expect(countRetried()).toBe(2);
    await expectStored(app, ids);
  });

  it('does not fail events of other apps in the same transaction, nor make them duplicates', async () => {
    const { ingest, countRetried } = openIngestion();
    const makeApp = () => ({ app: newApp(), ids: newIds(30) });
    const repeating = makeApp();
    const others = Array.from({ length: 6 }, makeApp);
    await ingest(makeEvents(repeating.app, repeating.ids), now);
    const batches = [repeating, ...others].map(({ app, ids }) => makeEvents(app, ids));
    expect(await ingestTogether(ingest, batches)).toEqual([30, 0, 0, 0, 0, 0, 0]);
    expect(countRetried()).toBe(1);
    for (const { app, ids } of [repeating, ...others]) await expectStored(app, ids);
    // The app is remembered, so the next transaction does not fail. Other apps' ids are not looked up.
    const before = countLookUps();
    const next = others.map(({ app }) => makeEvents(app, newIds(1)));
    expect(await ingestTogether(ingest, [makeEvents(repeating.app, repeating.ids), ...next])).toEqual([
      30, 0, 0, 0, 0, 0, 0,
    ]);
    expect(countRetried()).toBe(1);
    expect(countLookUps()).toBe(before + 1);
  });

  it('does not delay other apps in the same transaction, though its own app is locked', async () => {
    const { ingest } = openIngestion();
    const [repeating, other] = [newApp(), newApp()];
    const [ids, others] = [newIds(5), newIds(5)];
    const insertIds = sql`insert into analytics_event_ids (app_id, event_id, day)
      select ${repeating}, unnest(${ids}::uuid[]), now()`;
    // The requests' transaction must wait for this one to learn whether the ids are repeated.
    const first = await openTransaction(insertIds);
    let isAnswered = false;
    void ingest(makeEvents(newApp(), newIds(1)), now); // the others arrive while this event is being stored
    const repeated = ingest(makeEvents(repeating, ids), now).finally(() => {
      isAnswered = true;
    });
    const stored = ingest(makeEvents(other, others), now);
    await untilWaiting(1);
    // Gets the lock after the requests' transaction has failed, but before its events are stored again.
    const lock = openTransaction(sql`select lock_analytics_apps(array[${repeating}::uuid])`);
    await Promise.race([untilWaiting(2), lock]);
    await first.commit();
    expect(await stored).toBe(0);
    await expectStored(other, others);
    expect(isAnswered).toBe(false);
    await (await lock).commit();
    expect(await repeated).toBe(5);
  });
});

/** Executes the statement in a transaction that stays open until `commit` is called. */
async function openTransaction(statement: ReturnType<typeof sql>): Promise<{ commit(): Promise<void> }> {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  const { promise: isExecuted, resolve: executed, reject } = Promise.withResolvers<void>();
  const transaction = world.db.transaction().execute(async (db) => {
    await statement.execute(db);
    executed();
    await isReleased;
  });
  transaction.catch(reject);
  await isExecuted;
  return {
    commit: () => {
      release();
      return transaction;
    },
  };
}

/** Waits until this many connections are waiting for a lock. */
const untilWaiting = (count: number) =>
  expect
    .poll(
      async () => {
        const { rows } = await sql<{ count: number }>`select count(*) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(world.app.database.db);
        return rows[0]?.count;
      },
      { interval: 5 },
    )
    .toBe(count);

it('stores every event once, and counts users exactly, whatever two processes get at the same time', async () => {
  const request = fc.record({
    process: fc.nat(1),
    app: fc.nat(2),
    ids: fc.array(fc.nat(25), { minLength: 1, maxLength: 12 }),
  });
  const rounds = fc.array(fc.array(request, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(rounds, async (rounds) => {
      const processes = [openIngestion(), openIngestion()];
      const apps = Array.from({ length: 3 }, () => ({ id: newApp(), ids: newIds(26), sent: new Set<string>() }));
      let [sent, duplicates] = [0, 0];
      for (const [n, requests] of rounds.entries()) {
        const answers = requests.map(({ process, app, ids }) => {
          const to = apps[app] as (typeof apps)[0];
          const chosen = ids.map((index) => to.ids[index] as string);
          for (const id of chosen) to.sent.add(id);
          sent += chosen.length;
          return processes[process]?.ingest(makeEvents(to.id, chosen, after(n * 1_000)), after(n * 25_000)) ?? 0;
        });
        for (const count of await Promise.all(answers)) duplicates += count;
      }
      expect(sent - duplicates).toBe(apps.reduce((sum, app) => sum + app.sent.size, 0));
      for (const { id, sent } of apps) await expectStored(id, [...sent]);
    }),
    { numRuns: 20 },
  );
});
