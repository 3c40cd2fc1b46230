// Tests that getUserStats counts match the events, to the millisecond (docs/api/analytics.md#count-users).
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { type PluginTransformResultArgs, sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import type { AppAccess, AppRow } from '../../core/auth/proofs.ts';
import { getUserStats } from './stats.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;
const heartbeat = '__user_heartbeat_event__';

const movingClock = world.clock.now;
afterEach(() => {
  world.clock.now = movingClock;
});
const setClock = (time: number) => {
  world.clock.now = () => new Date(time);
};

const track = (app: AppRow, events: readonly object[]) =>
  world.call('POST', `/api/apps/${app.id}/analytics/track/batch`, { as: token, body: { events } });
const getStats = (app: AppRow) => world.call('GET', `/api/apps/${app.id}/analytics/stats/users`, { as: token });

/** Computes the same counts from the raw events and the heartbeats that were sent. */
async function recount(app: AppRow, now: number, heartbeats: ReadonlyMap<string, number>) {
  const since = (ms: number) => new Date(now - ms);
  const { rows } = await sql<Record<string, number>>`
    select count(*) filter (where last > ${since(7 * day)}) as active_users,
      count(*) filter (where last <= ${since(7 * day)} and last >= ${since(30 * day)}) as inactive_7d,
      count(*) filter (where last < ${since(30 * day)} and last >= ${since(60 * day)}) as inactive_30d
    from (select user_id, max(at) as last from analytics_events
      where app_id = ${app.id} and user_id is not null group by user_id) users`.execute(world.db);
  const live_users = [...heartbeats.values()].filter((at) => now - at <= 120 * second).length;
  return { ...rows[0], live_users };
}

describe('getUserStats', () => {
  it('is all zero for an app without events', async () => {
    const app = await world.appOf(owner, workspace);
    const got = await getStats(app);
    expect(got.body).toEqual({ active_users: 0, live_users: 0, inactive_7d: 0, inactive_30d: 0 });
    expect(got.headers['x-partial-result']).toBeUndefined();
  });

  it('puts each user into one bucket by their most recent event, exact to the millisecond', async () => {
    const start = Math.floor(Date.now() / minute) * minute + 17_123;
    const app = await world.appOf(owner, workspace);
    setClock(start);
    const at = (user_id: string, ageMs: number) => ({
      event_name: 'x',
      user_id,
      timestamp: new Date(start - ageMs).toISOString(),
    });
    await track(app, [
      at('ahead', -4 * minute),
      at('new', 0),
      at('under 7', 7 * day - 1),
      at('at 7', 7 * day),
      at('over 7', 7 * day + 1),
      at('at 30', 30 * day),
      at('over 30', 30 * day + 1),
      at('at 60', 60 * day),
      { event_name: 'x' },
    ]);
    const got = await getStats(app);
    expect(got.body).toEqual({ active_users: 3, live_users: 0, inactive_7d: 3, inactive_30d: 2 });
    expect(got.headers['x-data-as-of']).toBe(new Date(start).toISOString());
    setClock(start + 1);
    expect((await getStats(app)).body).toEqual({ active_users: 2, live_users: 0, inactive_7d: 3, inactive_30d: 2 });
    setClock(start + 2);
    expect((await getStats(app)).body).toMatchObject({ active_users: 2, inactive_7d: 3, inactive_30d: 2 });
    setClock(start + 100 * day);
    expect((await getStats(app)).body).toMatchObject({ active_users: 0, inactive_7d: 0, inactive_30d: 0 });
  });

  it('counts users who are there by heartbeats, for two minutes, and not by events', async () => {
    const start = Math.floor(Date.now() / minute) * minute + 250;
    const app = await world.appOf(owner, workspace);
    setClock(start);
    await track(app, [
      { event_name: heartbeat, user_id: 'a' },
      { event_name: heartbeat, user_id: 'b', timestamp: new Date(start - 100 * second).toISOString() },
      { event_name: 'x', user_id: 'c' },
    ]);
    expect((await getStats(app)).body).toMatchObject({ live_users: 2, active_users: 1 });
    setClock(start + 20 * second);
    expect((await getStats(app)).body).toMatchObject({ live_users: 2 });
    setClock(start + 20 * second + 1);
    expect((await getStats(app)).body).toMatchObject({ live_users: 1 });
    setClock(start + 120 * second);
    expect((await getStats(app)).body).toMatchObject({ live_users: 1 });
    setClock(start + 120 * second + 1);
    expect((await getStats(app)).body).toMatchObject({ live_users: 0 });
  });

  it('equals a recount of the raw events, whatever is sent late, twice or out of order', async () => {
    const event = fc.record({
      user: fc.nat(12),
      // Times around the bucket limits, and arbitrary times.
      ageMs: fc.oneof(
        fc.integer({ min: -4 * minute, max: 60 * day }),
        fc
          .tuple(fc.constantFrom(0, 7 * day, 30 * day, 60 * day - minute), fc.integer({ min: 0, max: minute }))
          .map(([a, b]) => a + b),
      ),
      id: fc.option(fc.nat(30), { nil: null }),
      isHeartbeat: fc.boolean(),
    });
    const batch = fc.record({ events: fc.array(event, { minLength: 1, maxLength: 12 }), waitMs: fc.nat(2 * minute) });
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 6 }), async (batches) => {
        const app = await world.appOf(owner, workspace);
        const ids = Array.from({ length: 31 }, () => randomUUID());
        const heartbeats = new Map<string, number>();
        let now = Date.now();
        for (const { events, waitMs } of batches) {
          now += waitMs;
          setClock(now);
          const sent = events.map(({ user, ageMs, id, isHeartbeat }) => ({
            event_name: isHeartbeat ? heartbeat : 'x',
            user_id: `user ${user}`,
            timestamp: new Date(now - ageMs).toISOString(),
            ...(id !== null && { event_id: ids[id] }),
          }));
          const times = () => world.db.selectFrom('analytics_users').selectAll().where('app_id', '=', app.id).execute();
          const before = await times();
          expect((await track(app, sent)).body.rejected).toEqual([]);
          const after = new Map((await times()).map((row) => [row.user_id, row]));
          for (const row of before) {
            const moved = after.get(row.user_id);
            for (const field of ['last_event_at', 'last_heartbeat_at'] as const)
              expect(moved?.[field]?.getTime() ?? 0).toBeGreaterThanOrEqual(row[field]?.getTime() ?? 0);
          }
          for (const { user, ageMs, isHeartbeat } of events)
            if (isHeartbeat) {
              const name = `user ${user}`;
              heartbeats.set(name, Math.max(heartbeats.get(name) ?? 0, now - Math.max(0, ageMs)));
            }
          expect((await getStats(app)).body).toEqual(await recount(app, now, heartbeats));
        }
        // Checks again later, when users have moved from bucket to bucket without sending events.
        for (const laterMs of [minute, 8 * day, 31 * day]) {
          setClock(now + laterMs);
          expect((await getStats(app)).body).toEqual(await recount(app, now + laterMs, heartbeats));
        }
      }),
      { numRuns: 12 },
    );
  });

  it('counts a user once who is seen while counts are read', async () => {
    const app = await world.appOf(owner, workspace);
    const now = world.clock.now();
    await track(app, [{ event_name: 'x', user_id: 'a', timestamp: new Date(now.getTime() - 10 * day).toISOString() }]);
    let isMoved = false;
    const onResult = async ({ result }: PluginTransformResultArgs) => {
      // Runs after active users are counted, but before those last seen 7 days ago are.
      if (!isMoved && result.rows[0]?.users === 0) {
        isMoved = true;
        await track(app, [{ event_name: 'x', user_id: 'a' }]);
      }
      return result;
    };
    const db = world.app.database.db.withPlugin({ transformQuery: ({ node }) => node, transformResult: onResult });
    const got = await getUserStats(db, { app } as unknown as AppAccess, () => {}, now);
    expect(isMoved).toBe(true);
    expect(JSON.parse(JSON.stringify(got))).toMatchObject({ body: { active_users: 0, inactive_7d: 1 } });
    expect((await getStats(app)).body).toMatchObject({ active_users: 1, inactive_7d: 0 });
  });

  it('is fast if very many users were last seen in the minute of a limit', async () => {
    const app = await world.appOf(owner, workspace);
    const limit = Math.floor((Date.now() - 7 * day) / minute) * minute;
    await sql`insert into analytics_users (app_id, user_id, last_event_at)
      select ${app.id}, 'user ' || n, ${new Date(limit)}::timestamptz + (n % 60000) * interval '1 ms'
      from generate_series(1, 300000) n`.execute(world.db);
    setClock(limit + 7 * day + 30_500);
    const empty = await world.appOf(owner, workspace);
    const measure = async (of: AppRow) => {
      const startedAt = performance.now();
      const { body } = await getStats(of);
      return { body, ms: performance.now() - startedAt };
    };
    // The fastest of several runs is compared with an app that has no users, measured at the same time, because other
    // work on the machine delays both.
    const times = { spike: Number.POSITIVE_INFINITY, empty: Number.POSITIVE_INFINITY };
    for (let n = 0; n < 10; n += 1) {
      const { body, ms } = await measure(app);
      // There are five users per millisecond. Those in the first 30,500 milliseconds and at the limit itself were last
      // seen 7 days ago.
      expect(body).toMatchObject({ active_users: 5 * 29_499, inactive_7d: 5 * 30_501 });
      times.spike = Math.min(times.spike, ms);
      times.empty = Math.min(times.empty, (await measure(empty)).ms);
    }
    expect(times.spike, JSON.stringify(times)).toBeLessThan(times.empty + 30);
  });

  it('does not depend on Redis', async () => {
    const app = await world.appOf(owner, workspace);
    await track(app, [
      { event_name: heartbeat, user_id: 'a' },
      { event_name: 'x', user_id: 'a' },
    ]);
    const redis = new Redis(world.config.REDIS_URL);
    const keys = await redis.keys(`${world.config.REDIS_PREFIX}*`);
    await redis.del('none', ...keys);
    redis.disconnect();
    const got = await getStats(app);
    expect(got.body).toEqual({ active_users: 1, live_users: 1, inactive_7d: 0, inactive_30d: 0 });
    expect(got.headers['x-partial-result']).toBeUndefined();
  });
});

describe('a count that cannot be read', () => {
  it('is 0 and named, while the others are right', async () => {
    const app = await world.appOf(owner, workspace);
    await track(app, [
      { event_name: heartbeat, user_id: 'a' },
      { event_name: 'x', user_id: 'a' },
    ]);
    // The service's role may no longer read heartbeat times.
    await sql`revoke select on analytics_users from plinth_test`.execute(world.db);
    await sql`grant select (app_id, user_id, last_event_at, event_second) on analytics_users to plinth_test`.execute(
      world.db,
    );
    try {
      const got = await getStats(app);
      expect(got).toMatchObject({
        status: 200,
        body: { active_users: 1, live_users: 0, inactive_7d: 0, inactive_30d: 0 },
      });
      expect(got.headers['x-partial-result']).toBe('live_users');
      expect(world.logLines.filter((line) => line.includes('users not counted'))).toHaveLength(1);
    } finally {
      await sql`grant select on analytics_users to plinth_test`.execute(world.db);
    }
  });

  it('is 0 and named after two seconds, if it is waited for, on one connection', async () => {
    const app = await world.appOf(owner, workspace);
    await track(app, [{ event_name: 'x', user_id: 'a' }]);
    const { promise: isDone, resolve: finish } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const lock = world.db.transaction().execute(async (db) => {
      await sql`lock table analytics_user_counts in access exclusive mode`.execute(db);
      locked();
      await isDone;
    });
    await isLocked;
    const others = Array.from({ length: 3 }, () => getStats(app));
    const answer = getStats(app);
    const countWaiting = async () =>
      (
        await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db)
      ).rows[0]?.n ?? 0;
    let mostWaiting = 0;
    let isAnswered = false;
    void answer.finally(() => {
      isAnswered = true;
    });
    while (!isAnswered) mostWaiting = Math.max(mostWaiting, await countWaiting());
    const got = await answer;
    expect(mostWaiting).toBeGreaterThan(0);
    expect(mostWaiting).toBeLessThanOrEqual(4); // a request never uses two connections
    finish();
    await Promise.all(others);
    await lock;
    expect(got).toMatchObject({
      status: 200,
      body: { active_users: 0, live_users: 0, inactive_7d: 0, inactive_30d: 0 },
    });
    expect(got.headers['x-partial-result']).toBe('active_users,live_users,inactive_7d,inactive_30d');
    expect((await getStats(app)).body.active_users).toBe(1);
  });
});
