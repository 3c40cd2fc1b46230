// Tests what webhooks store: every delivery, attempt and body is counted until it is removed, and a full workspace stores
// no more of them.
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { startWebhookScene } from '../../../test/support/webhook-receiver.ts';
import { recountWorkspace } from '../../core/storage/recount.ts';
import { foldStorageChanges, readStorageUsage } from '../../core/storage/usage.ts';
import { removeOldPartitions } from '../../kit/background/partitions.ts';

const { world, owner, createWebhook: createOnScene } = await startWebhookScene();
const { db } = world.app.database;
beforeAll(() => world.startWorker());
const daysMs = (days: number) => days * 24 * 60 * 60 * 1000;

/** Creates a workspace with an app that has the entity Note, and webhooks on it. */
async function newPlace() {
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);
  const call = (method: string, path: string, body?: unknown) =>
    world.call(method, `/api/apps/${app.id}/${path}`, { as, body });
  const rls = { create: true, read: true, update: true, delete: true };
  for (const name of ['Note', 'Silent'])
    expect((await call('PUT', `entity-schemas/${name}`, { name, properties: { text: {} }, rls })).status).toBe(200);
  return {
    workspace,
    call,
    createWebhook: (body: object = {}) =>
      createOnScene(
        { events: ['entity.created', 'entity.updated', 'entity.deleted'], entity_names: ['Note'], ...body },
        { on: app, scope: 'app', as },
      ),
    usage: () => readStorageUsage(db, workspace),
    measure: () => measure(workspace),
    setQuota: async (storage_quota_bytes: number) => {
      await world.db.updateTable('workspaces').set({ storage_quota_bytes }).where('id', '=', workspace).execute();
      world.clock.aheadMs += 61_000; // what this process has read expires
    },
  };
}

/** Adds up what is stored: the rows' fixed bytes, the bodies, and the attempts after the first 200 bytes. */
async function measure(workspace: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select (
      (select coalesce(sum(150 + length(convert_to(body, 'UTF8'))), 0) from webhook_bodies where workspace_id = ${workspace})
      + (select coalesce(sum(size_bytes), 0) from webhook_deliveries where workspace_id = ${workspace}))::int as bytes`.execute(
    world.db,
  );
  return rows[0]?.bytes ?? 0;
}

async function removeOld(days: number): Promise<void> {
  const job = world.app.background.jobs.find(({ name }) => name === 'remove old deliveries');
  await job?.run(db, new Date(world.clock.now().getTime() + daysMs(days)));
}

/** Removes the partition with all bodies, as if its days were long ago, unless it is in use. */
async function removeDaysOfBodies(): Promise<void> {
  await sql`update partitioned_tables set kept_days = -15 where name = 'webhook_bodies'`.execute(world.db);
  await removeOldPartitions(db);
  await sql`update partitioned_tables set kept_days = 37 where name = 'webhook_bodies'`.execute(world.db);
  await sql`do $$ begin
    if not exists (select from list_partitions('webhook_bodies')) then
      create table partitions.webhook_bodies_until_20000101 (like webhook_bodies including indexes);
      execute format('alter table webhook_bodies attach partition partitions.webhook_bodies_until_20000101
        for values from (minvalue) to (%L)', first_id_at(now() + interval '10 days'));
    end if;
  end $$`.execute(world.db);
}

describe('the log of a webhook', () => {
  it('counts its bodies, deliveries and failed attempts until they are removed', async () => {
    const { call, createWebhook, usage, measure, workspace } = await newPlace();
    const [webhook, other] = [await createWebhook(), await createWebhook()];
    other.respondWith(() => ({ status: 500, body: 'x'.repeat(500) }));
    const { id } = (await call('POST', 'entities/Note', { text: 'ü'.repeat(1_000) })).body;
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
    await other.waitForDeliveries([{ status: 'pending', attempts_made: 1 }]);
    const first = await measure();
    expect(first).toBeGreaterThan(2_000 + 150 + 2 * 600 + 400); // one body for both
    await expect.poll(async () => (await usage()).deliveries_bytes).toBe(first);

    await other.makeDueNow();
    await other.waitForDeliveries([{ status: 'pending', attempts_made: 2 }]);
    expect(await measure()).toBeGreaterThan(first + 500);
    await call('DELETE', `entities/Note/${id}`);
    await webhook.waitForDeliveries([{ status: 'delivered' }, { status: 'delivered' }]);
    await other.patch({ enabled: false });
    await expect.poll(async () => (await usage()).deliveries_bytes).toBe(await measure());
    expect(await recountWorkspace(db, workspace)).toBeUndefined();

    await other.call('DELETE');
    await foldStorageChanges(db, world.clock.now());
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
    const countDeliveries = () =>
      sql`select from webhook_deliveries where workspace_id = ${workspace}`.execute(world.db);
    await expect.poll(async () => (await countDeliveries()).rows.length).toBe(2);
    expect((await usage()).deliveries_bytes).toBe(await measure());
    await removeOld(31);
    const ofBodies = await measure();
    expect(ofBodies).toBeGreaterThan(2_000);
    expect((await usage()).deliveries_bytes).toBe(ofBodies);
    await removeDaysOfBodies();
    expect([await measure(), (await usage()).deliveries_bytes]).toEqual([0, 0]);
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
  });

  it('stays counted if a day can be neither detached nor read alone during a recount', async () => {
    const { call, createWebhook, usage, measure, workspace } = await newPlace();
    const webhook = await createWebhook();
    await call('POST', 'entities/Note', { text: 'counted' });
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
    await foldStorageChanges(db, world.clock.now());
    await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (reader) => {
        await sql`lock table webhook_bodies in access share mode`.execute(reader);
        await removeDaysOfBodies(); // gives up
        expect(await recountWorkspace(db, workspace)).toBeUndefined();
      });
    expect((await usage()).deliveries_bytes).toBe(await measure());
    expect(await measure()).toBeGreaterThan(0);
  });

  it('that was stored before deliveries were counted never counts', async () => {
    const { call, createWebhook, usage, workspace } = await newPlace();
    const webhook = await createWebhook();
    await call('POST', 'entities/Note', { text: 'old' });
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
    await expect.poll(async () => (await usage()).deliveries_bytes).toBeGreaterThan(0);
    await sql`update webhook_deliveries set size_bytes = 0 where workspace_id = ${workspace}`.execute(world.db);
    await sql`update webhook_bodies set deliveries = null where workspace_id = ${workspace}`.execute(world.db);
    await recountWorkspace(db, workspace);
    expect((await usage()).deliveries_bytes).toBe(0);
    await removeOld(38);
    await removeDaysOfBodies();
    expect((await usage()).deliveries_bytes).toBe(0);
  });
});

describe('a workspace at its quota', () => {
  it('stores no more for webhooks, not even for one that is off; deletions are possible and delivered', async () => {
    const { call, createWebhook, usage, setQuota } = await newPlace();
    const note = (await call('POST', 'entities/Note', { text: 'before' })).body;
    const trashed = (await call('POST', 'entities/Note', { text: 'trashed' })).body;
    const silent = (await call('POST', 'entities/Silent', { text: 'before' })).body;
    const webhook = await createWebhook();
    await webhook.patch({ enabled: false });
    await call('DELETE', `entities/Note/${trashed.id}`);
    await expect.poll(webhook.listDeliveries).toHaveLength(1);
    await setQuota(1);
    const before = (await usage()).deliveries_bytes;
    const refused = { status: 402, body: { code: 'storage_quota_exceeded', quota_bytes: 1 } };
    for (let n = 0; n < 3; n += 1) {
      expect(await call('PUT', `entities/Note/${note.id}`, { text: 'after.' })).toMatchObject(refused);
      expect(await call('PUT', 'entities/Note/bulk', [{ id: note.id, text: 'after.' }])).toMatchObject(refused);
      expect(await call('POST', `entities/Note/${trashed.id}/restore`)).toMatchObject(refused);
    }
    // No webhook is sent these.
    expect((await call('PUT', `entities/Silent/${silent.id}`, { text: 'after.' })).status).toBe(200);
    expect((await usage()).deliveries_bytes).toBe(before);
    expect((await call('DELETE', `entities/Note/${note.id}`)).status).toBe(200);
    await expect.poll(webhook.listDeliveries).toHaveLength(2);

    await webhook.call('DELETE');
    await expect.poll(async () => (await usage()).deliveries_bytes).toBe(0);
    expect((await call('POST', `entities/Note/${trashed.id}/restore`)).status).toBe(200);
  });
});
