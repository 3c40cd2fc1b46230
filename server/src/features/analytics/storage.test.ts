// Tests that everything analytics keeps counts towards the workspace's storage, until it is removed.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { recountWorkspace } from '../../core/storage/recount.ts';
import { readStorageUsage } from '../../core/storage/usage.ts';
import { removeOld } from './background.ts';
import { toCopyLine } from './store/events.ts';

const world = await startWorld();
const { db } = world.app.database;
const owner = await world.person('owner@example.com');
const day = 24 * 60 * 60_000;
afterEach(() => {
  world.clock.aheadMs = 0;
});

async function newPlace({ storage_quota_bytes = 1_000_000 } = {}) {
  const workspace = await world.workspace(owner, 'free');
  const set = { rate_multiplier: 1000, storage_quota_bytes };
  await world.db.updateTable('workspaces').set(set).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
  const track = (events: readonly object[], caller: string | null = as) =>
    world.call('POST', `/api/apps/${app.id}/analytics/track/batch`, {
      ...(caller !== null && { as: caller }),
      body: { events },
    });
  const usage = () => readStorageUsage(db, workspace);
  return { workspace, app, as, track, usage };
}

/** The bytes of the stored rows: their text, and what a row takes besides. */
async function measure(app: AppRow): Promise<number> {
  const events = await world.db.selectFrom('analytics_events').selectAll().where('app_id', '=', app.id).execute();
  const { rows } = await sql<{ bytes: number }>`select
    (select count(*) * 120 from analytics_event_ids where app_id = ${app.id})
    + (select coalesce(sum(300 + octet_length(user_id)), 0) from analytics_users where app_id = ${app.id})
    as bytes`.execute(world.db);
  const lines = events.map((event) => toCopyLine({ ...event, properties: event.properties as object as never }));
  return Number(rows[0]?.bytes) + lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 40, 0);
}

const event = (more: object = {}) => ({ event_name: 'order', properties: { text: 'ü'.repeat(100) }, ...more });
const heartbeat = (user_id: string) => ({ event_name: '__user_heartbeat_event__', user_id });
const ago = (ms: number) => new Date(world.clock.now().getTime() - ms).toISOString();

describe('the count of what analytics keeps', () => {
  it('agrees with the stored rows, whatever was sent, and is part of getWorkspace', async () => {
    const { app, as, track, usage, workspace } = await newPlace();
    const event_id = randomUUID();
    await track([event(), event({ user_id: 'ann' }), event({ event_id }), event({ event_id }), { event_name: '' }]);
    await track([event({ event_id }), heartbeat('ann'), heartbeat('bob'), heartbeat('bob')]);
    await track([event({ timestamp: ago(3 * day), user_id: 'cid', event_id: randomUUID() })]);
    await track([event()], null);
    const analytics_bytes = await measure(app);
    expect(analytics_bytes).toBeGreaterThan(2_000);
    expect(await usage()).toMatchObject({ analytics_bytes });
    const { body } = await world.call('GET', '/api/workspace', { as });
    expect(body.storage).toMatchObject({ analytics_bytes });
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
  });

  it('ends with the events, their ids and their users', async () => {
    const { track, usage } = await newPlace();
    await track([event({ timestamp: ago(50 * day), event_id: randomUUID(), user_id: 'ann' }), event()]);
    const before = (await usage()).analytics_bytes;
    world.clock.aheadMs = 11 * day;
    await removeOld(db, world.clock.now());
    expect((await usage()).analytics_bytes).toBeLessThan(before);
    expect((await usage()).analytics_bytes).toBeGreaterThan(0);
    world.clock.aheadMs = 70 * day;
    await removeOld(db, world.clock.now());
    expect((await usage()).analytics_bytes).toBe(0);
  });

  it('ends when the app is purged, and nothing is subtracted twice', async () => {
    const { app, track, usage } = await newPlace();
    await track([event({ event_id: randomUUID(), user_id: 'ann' })]);
    await world.db.deleteFrom('apps').where('id', '=', app.id).execute();
    expect((await usage()).analytics_bytes).toBe(0);
    for (const name of ['remove analytics of deleted apps', 'remove old analytics'])
      await world.app.background.jobs.find((job) => job.name === name)?.run(db, world.clock.now());
    expect((await usage()).analytics_bytes).toBe(0);
  });
});

describe('at the storage quota', () => {
  it('trackEvents answers 402 and stores nothing, and reading and deleting still work', async () => {
    const { app, as, track, usage } = await newPlace({ storage_quota_bytes: 100_000 });
    const large = Array.from({ length: 50 }, () => event({ properties: { text: 'x'.repeat(1_000) } }));
    expect((await track(large)).body).toMatchObject({ accepted: 50 });
    const { used_bytes } = await usage();
    for (const events of [large, large])
      expect(await track(events)).toMatchObject({
        status: 402,
        body: { code: 'storage_quota_exceeded', quota_bytes: 100_000, used_bytes },
      });
    expect((await usage()).used_bytes).toBe(used_bytes);
    const set = { storage_quota_bytes: 1_000 };
    await world.db.updateTable('workspaces').set(set).where('id', '=', app.workspace_id).execute();
    world.clock.aheadMs = 61_000;
    expect((await track([event()])).status).toBe(402);
    expect((await track([heartbeat('new user')])).status).toBe(402);
    expect((await world.call('GET', `/api/apps/${app.id}/analytics/event-names`, { as })).status).toBe(200);
    expect((await world.call('DELETE', `/api/apps/${app.id}`, { as })).status).toBe(200);
  });

  it('strangers can fill four fifths of it, and do not learn how much is used', async () => {
    const { track } = await newPlace({ storage_quota_bytes: 100_000 });
    const large = Array.from({ length: 50 }, () => event({ properties: { text: 'x'.repeat(1_000) } }));
    expect((await track(large, null)).status).toBe(200);
    const got = await track(large.slice(0, 30), null);
    expect(got).toMatchObject({ status: 402, body: { code: 'storage_quota_exceeded' } });
    expect(Object.keys(got.body)).not.toContain('used_bytes');
    expect((await track(large.slice(0, 30))).status).toBe(200);
  });
});
