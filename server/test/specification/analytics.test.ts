// Tests what the specification says about the counts of an app's users.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { startWorld } from '../support/world.ts';
import { expectOk, integer, personalKey } from './support.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
beforeEach(() => world.resetRateLimits());

const minute = 60_000;
const day = 24 * 60 * minute;
const at = (app: AppRow, path: string) => `/api/apps/${app.id}/analytics/${path}`;
const newApp = () => world.appOf(owner, workspace);

/** Sends one event of each of these users, which happened this long ago. */
async function track(app: AppRow, agoMs: Record<string, number>, event_name = 'order_placed'): Promise<void> {
  const events = Object.entries(agoMs).map(([user_id, ago]) => ({
    event_name,
    user_id,
    timestamp: new Date(world.clock.now().getTime() - ago).toISOString(),
  }));
  const got = expectOk(await world.call('POST', at(app, 'track/batch'), { as: token, body: { events } }));
  expect(got).toMatchObject({ accepted: events.length, rejected: [] });
}
const count = async (app: AppRow, as = token) => expectOk(await world.call('GET', at(app, 'stats/users'), { as }));
const heartbeat = '__user_heartbeat_event__';

describe('What the service does', () => {
  it('Through it a caller can read user-activity counts for an app', async () => {
    const app = await newApp();
    await track(app, { ann: 0, bob: 10 * day });
    const headers = await personalKey(world, owner);
    const got = await world.call('GET', at(app, 'stats/users'), { headers });
    expect(expectOk(got)).toEqual({ active_users: 1, live_users: 0, inactive_7d: 1, inactive_30d: 0 });
  });
});

describe('Endpoints: GET /api/apps/{app_id}/analytics/stats/users', () => {
  it('Response 200 integers', async () => {
    expect(await count(await newApp())).toEqual({
      active_users: integer,
      live_users: integer,
      inactive_7d: integer,
      inactive_30d: integer,
    });
  });

  it('active_users: users whose most recent event was in the last 7 days', async () => {
    const app = await newApp();
    await track(app, { now: 0, almost: 7 * day - minute, over: 7 * day + minute });
    expect((await count(app)).active_users).toBe(2);
  });

  it('live_users: users seen in the last 2 minutes, counted from heartbeats not events', async () => {
    const app = await newApp();
    await track(app, { ann: 0, bob: minute, old: 2 * minute + 1_000 }, heartbeat);
    await track(app, { dan: 0 });
    expect((await count(app)).live_users).toBe(2);
  });

  it('inactive_7d: most recent event 7 to 30 days ago', async () => {
    const app = await newApp();
    await track(app, { before: 7 * day - minute, first: 7 * day + minute, last: 30 * day - minute, after: 31 * day });
    expect((await count(app)).inactive_7d).toBe(2);
  });

  it('inactive_30d: most recent event more than 30 days ago (events are kept 60 days, so this covers 30 to 60 days; users away longer drop out)', async () => {
    const app = await newApp();
    await track(app, { before: 30 * day - minute, first: 30 * day + minute, last: 60 * day - minute });
    expect((await count(app)).inactive_30d).toBe(2);
    const events = [{ event_name: 'x', user_id: 'long ago', timestamp: new Date(Date.now() - 61 * day).toISOString() }];
    const old = await world.call('POST', at(app, 'track/batch'), { as: token, body: { events } });
    expect(expectOk(old)).toMatchObject({ accepted: 0 });
    expect((await count(app)).inactive_30d).toBe(2);
  });

  it('Each user counts once, in the bucket of the most recent event', async () => {
    const app = await newApp();
    await track(app, { ann: 40 * day });
    await track(app, { ann: 10 * day });
    expect(await count(app)).toMatchObject({ active_users: 0, inactive_7d: 1, inactive_30d: 0 });
    await track(app, { ann: 0 });
    await track(app, { ann: 50 * day });
    expect(await count(app)).toMatchObject({ active_users: 1, inactive_7d: 0, inactive_30d: 0 });
  });

  it('Only events attributed to a user are counted', async () => {
    const app = await newApp();
    const events = [{ event_name: 'visit' }, { event_name: 'visit', user_id: 'ann' }];
    expectOk(await world.call('POST', at(app, 'track/batch'), { as: token, body: { events } }));
    expect(await count(app)).toEqual({ active_users: 1, live_users: 0, inactive_7d: 0, inactive_30d: 0 });
  });

  it('A count the service cannot read comes back as 0 with status 200, so a sudden drop to zero may be a read failure', async () => {
    const app = await newApp();
    await track(app, { ann: 0 });
    await track(app, { ann: 0 }, heartbeat);
    await sql`revoke select on analytics_users from plinth_test`.execute(world.db);
    try {
      expect(await count(app)).toEqual({ active_users: 0, live_users: 0, inactive_7d: 0, inactive_30d: 0 });
    } finally {
      await sql`grant select on analytics_users to plinth_test`.execute(world.db);
    }
    expect(await count(app)).toMatchObject({ active_users: 1, live_users: 1 });
  });
});

describe('Limits: data bounds', () => {
  it('live user window: 2 minutes', async () => {
    const app = await newApp();
    await track(app, { within: 2 * minute - 5_000, outside: 2 * minute + 5_000 }, heartbeat);
    expect((await count(app)).live_users).toBe(1);
  });

  it('analytics event retention: 60 days', async () => {
    const app = await newApp();
    await track(app, { within: 60 * day - minute });
    expect((await count(app)).inactive_30d).toBe(1);
    world.clock.aheadMs = 2 * minute;
    expect((await count(app)).inactive_30d).toBe(0);
    world.clock.aheadMs = 0;
  });
});
