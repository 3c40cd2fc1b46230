// Tests for deleting apps, agents and workspaces with campaigns. None of the campaigns may continue to spend.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import type { FaultKind } from '../../../../../sandbox/src/faults.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { startWorld } from '../../../../test/support/world.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const world = await startWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  // Otherwise the sync job could adopt a test's campaigns before the test does.
  adsTimes: {
    reconcileMs: 1_000,
    requestMs: 5_000,
    callerWaitMs: 2_500,
    watchMs: 2_000,
    resendMs: [50, 100, 200],
    syncRetryMs: 1e9,
  },
  adPlatform: { changeTimeoutMs: 1_000 },
});
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign, endLaunch, readStatus } = createCampaigns(world, platform);
afterAll(() => client.close());
await world.startWorker();

beforeEach(async () => {
  platform.setFaults();
  await world.resetRateLimits();
});

const deleteApp = ({ app, as }: CampaignScene) => world.call('DELETE', `/api/apps/${app.id}`, { as });
const restoreApp = ({ app, as }: CampaignScene) => world.call('POST', `/api/apps/${app.id}/restore`, { as });
const rowOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_campaigns').where('id', '=', id).selectAll().executeTakeFirst();
const findApp = ({ app }: CampaignScene) =>
  world.db.selectFrom('apps').where('id', '=', app.id).select('deleted_date').executeTakeFirst();
const runJob = (name: string) =>
  world.app.background.jobs.find((job) => job.name === name)?.run(world.app.database.db, world.clock.now());
const kept = {
  status: 409,
  body: { code: 'ad_platform_timeout', retry_safe: true, campaign_state: 'unknown', campaign_id: expect.any(String) },
};

describe('deleteApp', () => {
  it('pauses the campaigns first; they stay paused if the app is restored', async () => {
    const scene = await newScene(owner);
    const running = [await newCampaign(scene), await newCampaign(scene)];
    const waiting = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_TRACKING_PENDING'] });
    expect(await deleteApp(scene)).toMatchObject({ status: 200, body: { success: true } });
    for (const campaign of running) {
      expect(await readStatus(scene, campaign)).toBe('PAUSED');
      expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED', own_reasons: ['SERVICE_APP_DELETED'] });
    }
    expect((await restoreApp(scene)).status).toBe(200);
    // Without this reason, verified tracking would enable the campaign.
    expect((await rowOf(waiting))?.own_reasons).toEqual(['SERVICE_TRACKING_PENDING', 'SERVICE_APP_DELETED']);
    for (const campaign of running) expect(await readStatus(scene, campaign)).toBe('PAUSED');
    const entries = await world.call(
      'GET',
      `/api/workspace/audit-log?type=ads.campaign.pause_requested&app_id=${scene.app.id}`,
      { as: scene.as },
    );
    expect(entries.body.items).toHaveLength(2);
  });

  it.each<FaultKind>(['drop_before', 'drop_after', 'refuse'])(
    'keeps the app if a campaign is not confirmed to be paused, and succeeds later (%s)',
    async (fault) => {
      const scene = await newScene(owner);
      const campaign = await newCampaign(scene);
      platform.setFaults({ call: 'mutate', fault, customer_id: scene.customerId });
      expect(await deleteApp(scene)).toMatchObject(kept);
      expect(await findApp(scene)).toEqual({ deleted_date: null });
      platform.setFaults();
      expect((await deleteApp(scene)).status).toBe(200);
      expect(await readStatus(scene, campaign)).toBe('PAUSED');
    },
  );

  it('succeeds once the account is known to be closed, in which nothing is served', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    platform.setAccount(scene.customerId, { status: 'CANCELED' });
    expect(await deleteApp(scene)).toMatchObject(kept);
    const read = { status_read_at: null, synced_at: null, sync_tried_at: null };
    await world.db.updateTable('ads_accounts').set(read).where('app_id', '=', scene.app.id).execute();
    await runJob('compare campaigns with the ad platform');
    expect((await deleteApp(scene)).status).toBe(200);
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
  });

  it('succeeds at once if our rows show that the account is closed', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    platform.setAccount(scene.customerId, { status: 'CANCELED' });
    await runJob('compare campaigns with the ad platform');
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED', serving_status: 'ENDED' });
    expect((await deleteApp(scene)).status).toBe(200);
  });

  it('keeps the app while a launch is not confirmed', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { launch: 'held' });
    expect(await deleteApp(scene)).toMatchObject({ ...kept, body: { ...kept.body, campaign_id: campaign.id } });
    expect((await rowOf(campaign))?.own_reasons).toContain('SERVICE_APP_DELETED');
    await endLaunch(campaign.launch_id, 'held');
    expect((await deleteApp(scene)).status).toBe(200);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('keeps the app if a campaign is resumed at the last moment', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    const [{ workspace_id, id: app_id }, other] = [scene.app, await newCampaign(scene)];
    // After the deletion has checked both campaigns, one is resumed while the other is being paused.
    platform.setFaults({ call: 'mutate', fault: 'delay', delay_ms: 600, customer_id: scene.customerId, times: 1 });
    const deleting = deleteApp(scene);
    await expect
      .poll(() => world.db.selectFrom('ads_changes').where('campaign_id', '=', other.id).selectAll().execute())
      .toMatchObject([{ state: 'sent' }]);
    const resume = { id: campaign.id, workspace_id, app_id, campaign_id: campaign.id, kind: 'resume' } as const;
    await world.db
      .insertInto('ads_changes')
      .values({ ...resume, state: 'recorded', is_by_caller: true, created_date: new Date() })
      .execute();
    expect(await deleting).toMatchObject({ ...kept, body: { ...kept.body, campaign_id: campaign.id } });
    expect(await findApp(scene)).toEqual({ deleted_date: null });
  });

  it('is followed by a pause of what somebody enables at the platform itself, and the app is not purged before', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await deleteApp(scene);
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'ENABLED');
    await world.db.updateTable('ads_campaigns').set({ status: 'ENABLED' }).where('id', '=', campaign.id).execute();
    const longAgo = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000);
    await world.db.updateTable('apps').set({ deleted_date: longAgo }).where('id', '=', scene.app.id).execute();
    await runJob('purge apps');
    expect(await rowOf(campaign)).toMatchObject({ status: 'ENABLED' });
    await runJob('pause campaigns of deleted apps');
    await expect.poll(() => rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    const saveSync = (synced_at: Date | null) =>
      world.db.updateTable('ads_accounts').set({ synced_at }).where('app_id', '=', scene.app.id).execute();
    // The platform's state is known only if the campaigns were compared recently.
    for (const synced_at of [null, new Date(Date.now() - 3 * 60 * 60 * 1000)]) {
      await saveSync(synced_at);
      await runJob('purge apps');
      expect(await findApp(scene)).toBeDefined();
    }
    await runJob('compare campaigns with the ad platform');
    await runJob('purge apps');
    expect(await findApp(scene)).toBeUndefined();
    expect(await rowOf(campaign)).toBeUndefined();
  });
});

describe('deleteAgent', () => {
  it('pauses the campaigns first, or keeps the agent', async () => {
    const scene = await newScene(owner);
    await world.db.updateTable('apps').set({ app_type: 'user_agent' }).where('id', '=', scene.app.id).execute();
    const campaign = await newCampaign(scene);
    const deleteAgent = () => world.call('DELETE', `/api/agents/${scene.app.id}`, { as: scene.as });
    platform.setFaults({ call: 'mutate', fault: 'drop_before', customer_id: scene.customerId });
    expect(await deleteAgent()).toMatchObject(kept);
    platform.setFaults();
    expect((await deleteAgent()).status).toBe(200);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });
});

describe('deleteWorkspace', () => {
  it('pauses the campaigns of all apps first, or keeps the workspace', async () => {
    const scene = await newScene(owner);
    const { workspace_id } = scene.app;
    const campaign = await newCampaign(scene);
    const session = await world.session(owner);
    const { name } = await world.db
      .selectFrom('workspaces')
      .where('id', '=', workspace_id)
      .select('name')
      .executeTakeFirstOrThrow();
    const deleteWorkspace = (confirm_name = name) =>
      world.call('DELETE', `/api/workspace?workspaceId=${workspace_id}`, { headers: session, body: { confirm_name } });
    expect((await deleteWorkspace('another')).status).toBe(422);
    expect(await rowOf(campaign)).toMatchObject({ status: 'ENABLED' });
    platform.setFaults({ call: 'mutate', fault: 'drop_before', customer_id: scene.customerId });
    expect(await deleteWorkspace()).toMatchObject(kept);
    platform.setFaults();
    expect((await deleteWorkspace()).status).toBe(200);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect(await rowOf(campaign)).toMatchObject({ own_reasons: ['SERVICE_APP_DELETED'] });
  });
});
