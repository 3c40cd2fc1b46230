// Tests for the campaign background jobs: late requests, holds, and campaigns waiting for tracking.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { publishFiles } from '../../../../test/support/published.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';
import { renderTag } from '../tracking/tag.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const world = await startWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  adsTimes: {
    reconcileMs: 300,
    callerWaitMs: 5_000,
    watchMs: 1_000,
    resendMs: [50],
    enabledStatusMs: 3_600_000,
    trackingMs: 3_600_000,
    // Otherwise the sync job could adopt a test's campaigns before the test does.
    syncRetryMs: 1e9,
  },
  adPlatform: { changeTimeoutMs: 500 },
});
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign, newOpenLaunch, endLaunch, readStatus } = createCampaigns(world, platform);
afterAll(() => client.close());
await world.startWorker();

beforeEach(async () => {
  platform.setFaults();
  platform.configure({ tag_delay_ms: 0 });
  await world.resetRateLimits();
});

const ask = ({ app, as }: CampaignScene, { id }: TestCampaign, action: 'pause' | 'resume') =>
  world.call('POST', `/api/apps/${app.id}/ads-platform/campaigns/${id}/${action}`, { as });
const rowOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_campaigns').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const changesOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_changes').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
const stepsOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_journal').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
const mailsOf = ({ app }: CampaignScene) =>
  world.db.selectFrom('app_warnings').where('app_id', '=', app.id).orderBy('id').selectAll().execute();
const entriesOf = async ({ app, as }: CampaignScene, type: string) =>
  (await world.call('GET', `/api/workspace/audit-log?type=${type}&app_id=${app.id}`, { as })).body.items;
const waitUntil = async (isSo: () => Promise<boolean>) => {
  await expect.poll(isSo).toBe(true);
};
const setWatched = (ids: string[], inMs: number) =>
  world.db
    .updateTable('ads_campaigns')
    .set({ watched_until: new Date(Date.now() + inMs) })
    .where('id', 'in', ids)
    .execute();
/** Inserts a confirmed pause. */
const insertEnded = ({ app }: CampaignScene, { id }: TestCampaign) =>
  world.db
    .insertInto('ads_changes')
    .values({
      id,
      workspace_id: app.workspace_id,
      app_id: app.id,
      campaign_id: id,
      kind: 'pause',
      state: 'applied',
      is_by_caller: true,
      created_date: new Date(),
      ended_date: new Date(),
    })
    .execute();
/** Adds copies of the campaign to our table only. */
async function copyCampaign(campaign: TestCampaign, times: number): Promise<void> {
  const row = await rowOf(campaign);
  const copies = Array.from({ length: times }, (_, index) => ({
    ...row,
    id: newId(),
    platform_campaign_id: `9${String(index).padStart(9, '0')}`,
  }));
  await world.db.insertInto('ads_campaigns').values(copies).execute();
}
const setHold = (workspaceId: string, billing_hold: boolean) =>
  world.db.updateTable('workspaces').set({ billing_hold }).where('id', '=', workspaceId).execute();

describe('a request that is late', () => {
  it('does not win over what was asked for after it', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    const late = world.db
      .updateTable('ads_campaigns')
      .set({ watched_until: new Date(Date.now() + 60_000) })
      .where('id', '=', campaign.id);
    await late.execute();
    // The platform applies the late request after the campaign has been paused.
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'ENABLED');
    await waitUntil(async () => (await readStatus(scene, campaign)) === 'PAUSED');
    await waitUntil(async () => (await changesOf(campaign)).every(({ state }) => state === 'applied'));
    expect(await changesOf(campaign)).toMatchObject([{ kind: 'pause', is_by_caller: false }]);
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
    expect(await stepsOf(campaign)).toMatchObject([{ name: 'read_status' }, { name: 'pause', outcome: 'applied' }]);
  });

  it('is no longer looked for when it cannot arrive any more', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    platform.setFaults({ call: 'mutate', fault: 'drop_after', customer_id: scene.customerId });
    expect((await ask(scene, campaign, 'pause')).status).toBe(409);
    platform.setFaults();
    await waitUntil(async () => (await rowOf(campaign)).status === 'PAUSED');
    expect((await rowOf(campaign)).watched_until).not.toBeNull();
    await waitUntil(async () => (await rowOf(campaign)).watched_until === null);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('is not mistaken for a pause that was confirmed after the campaigns were listed', async () => {
    const scene = await newScene(owner);
    // One more than the number of concurrent reads.
    const campaigns = await Promise.all(Array.from({ length: 9 }, () => newCampaign(scene)));
    const ids = campaigns.map(({ id }) => id);
    const rows = () => world.db.selectFrom('ads_campaigns').where('id', 'in', ids).selectAll().execute();
    platform.setFaults({ call: 'search', fault: 'delay', customer_id: scene.customerId, delay_ms: 1_500 });
    await setWatched(ids, 60_000);
    await waitUntil(async () => (await rows()).every(({ watch_read_at }) => watch_read_at !== null));
    for (const campaign of campaigns) {
      await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'PAUSED');
      await insertEnded(scene, campaign);
    }
    await world.db.updateTable('ads_campaigns').set({ status: 'PAUSED' }).where('id', 'in', ids).execute();
    platform.setFaults();
    await setWatched(ids, -1);
    await waitUntil(async () => (await rows()).every(({ watched_until }) => watched_until === null));
    for (const campaign of campaigns) expect(await changesOf(campaign)).toMatchObject([{ kind: 'pause' }]);
  });

  it('is found even if it arrived just before the watch ends', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'ENABLED');
    await setWatched([campaign.id], -1);
    await waitUntil(async () => (await readStatus(scene, campaign)) === 'PAUSED');
    await waitUntil(async () => (await rowOf(campaign)).watched_until === null);
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
  });

  it('is looked for although many others cannot be read', async () => {
    const [blocked, scene] = [await newScene(owner), await newScene(owner)];
    const first = await newCampaign(blocked);
    platform.setFaults({ call: 'search', fault: 'error_before', customer_id: blocked.customerId });
    await copyCampaign(first, 120);
    const campaign = await newCampaign(scene);
    const ofBlocked = world.db.updateTable('ads_campaigns').where('app_id', '=', blocked.app.id);
    await ofBlocked.set({ watched_until: new Date(Date.now() - 1) }).execute();
    await setWatched([campaign.id], -1);
    await waitUntil(async () => (await rowOf(campaign)).watched_until === null);
    expect((await rowOf(first)).watched_until).not.toBeNull();
    await ofBlocked.set({ watched_until: new Date(Date.now() - 2 * 3_600_000) }).execute();
    await waitUntil(async () => {
      const left = world.db.selectFrom('ads_campaigns').where('app_id', '=', blocked.app.id);
      return (await left.where('watched_until', 'is not', null).select('id').execute()).length === 0;
    });
  });
});

describe('a billing hold', () => {
  it('of the workspace pauses its campaigns, and they stay paused when it ends', async () => {
    const scene = await newScene(owner);
    const [enabled, paused] = [await newCampaign(scene), await newCampaign(scene, { status: 'PAUSED' })];
    await setHold(scene.app.workspace_id, true);
    await waitUntil(async () => (await rowOf(enabled)).status === 'PAUSED');
    expect(await rowOf(enabled)).toMatchObject({ own_reasons: ['SERVICE_BILLING_HOLD'] });
    expect(await readStatus(scene, enabled)).toBe('PAUSED');
    expect(await changesOf(paused)).toEqual([]);
    await setHold(scene.app.workspace_id, false);
    await sleep(700);
    expect(await rowOf(enabled)).toMatchObject({ status: 'PAUSED', own_reasons: ['SERVICE_BILLING_HOLD'] });
    expect(await changesOf(enabled)).toHaveLength(1);
  });

  it('of the account pauses its campaigns', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await world.db
      .updateTable('ads_accounts')
      .set({ billing_status: 'PENDING' })
      .where('app_id', '=', scene.app.id)
      .execute();
    await waitUntil(async () => (await rowOf(campaign)).status === 'PAUSED');
    expect((await rowOf(campaign)).own_reasons).toEqual(['SERVICE_BILLING_HOLD']);
  });

  it('pauses the campaigns of a suspended account as soon as the platform accepts changes in it', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    platform.setAccount(scene.customerId, { status: 'SUSPENDED' });
    await world.db
      .updateTable('ads_accounts')
      .set({ status: 'SUSPENDED' })
      .where('app_id', '=', scene.app.id)
      .execute();
    await waitUntil(async () => ((await changesOf(campaign))[0]?.failures ?? 0) > 1);
    expect(await changesOf(campaign)).toHaveLength(1);
    expect((await rowOf(campaign)).status).toBe('ENABLED');
    platform.setAccount(scene.customerId, { status: 'ENABLED' });
    await waitUntil(async () => (await rowOf(campaign)).status === 'PAUSED');
    expect((await rowOf(campaign)).own_reasons).toEqual(['SERVICE_BILLING_HOLD']);
  });
});

describe('a campaign that waits for tracking', () => {
  const pending = { status: 'PAUSED', own_reasons: ['SERVICE_TRACKING_PENDING'] } as const;
  const waitingOptions = () => ({ ...pending, own_reasons: [...pending.own_reasons] });
  const verify = ({ app, as }: CampaignScene) =>
    world.call('POST', `/api/apps/${app.id}/ads-platform/tracking-verify`, { as });
  const publish = ({ app, as }: CampaignScene, html: string) =>
    publishFiles(world, app, { 'dist/index.html': `<!doctype html><title>Shop</title>${html}` }, as);

  /** Waits until the background job has verified the app, so it can't enable campaigns that are created later. */
  const publishVerified = async (scene: CampaignScene, html: string) => {
    await publish(scene, html);
    await waitUntil(async () => {
      const checks = world.db.selectFrom('tracking_checks').where('app_id', '=', scene.app.id);
      return (await checks.select('verified').executeTakeFirst())?.verified === true;
    });
  };

  /** An app whose tracking is not verified, and the tag that its page needs. */
  async function unverifiedScene() {
    const scene = await newScene(owner);
    await world.db.deleteFrom('tracking_checks').where('app_id', '=', scene.app.id).execute();
    const path = `/api/apps/${scene.app.id}/ads-platform/tracking-scan/build-bootstrap-prompt`;
    const { body } = await world.call('POST', path, { as: scene.as, body: {} });
    return { scene, tag: renderTag(body.conversion_id) };
  }

  it('is enabled once it is verified, and whoever launched it gets a mail', async () => {
    const { scene, tag } = await unverifiedScene();
    await publishVerified(scene, tag);
    const launcher = await world.member(scene.app.workspace_id, 'editor', `launcher-${scene.app.id}@example.com`);
    const campaign = await newCampaign(scene, waitingOptions());
    const launch_id = await newOpenLaunch(scene, campaign.id);
    await world.db.updateTable('ads_launches').set({ user_id: launcher.id }).where('id', '=', launch_id).execute();
    await world.db.updateTable('ads_campaigns').set({ launch_id }).where('id', '=', campaign.id).execute();
    await endLaunch(launch_id, 'held');
    const got = await verify(scene);
    expect(got).toMatchObject({ status: 200, body: { verified: true, enabled_campaign_ids: [campaign.id] } });
    expect(await rowOf(campaign)).toMatchObject({ status: 'ENABLED', own_reasons: [] });
    expect(await readStatus(scene, campaign)).toBe('ENABLED');
    const mails = await mailsOf(scene);
    expect(mails.map(({ email }) => email).toSorted()).toEqual([launcher.email, owner.email].toSorted());
    expect(mails[0]?.subject).toMatch(/^The campaign "Bikes .*" is now enabled$/);
    expect(await entriesOf(scene, 'ads.campaign.resume_requested')).toMatchObject([
      { after: { cause: 'tracking_verified' } },
    ]);
    expect((await verify(scene)).body.enabled_campaign_ids).toEqual([]);
  });

  it('stays paused for any other reason, and on billing hold', async () => {
    const { scene, tag } = await unverifiedScene();
    await publishVerified(scene, tag);
    const byUser = await newCampaign(scene, {
      status: 'PAUSED',
      own_reasons: ['SERVICE_TRACKING_PENDING', 'SERVICE_PAUSED_BY_USER'],
    });
    const held = await newCampaign(scene, waitingOptions());
    await setHold(scene.app.workspace_id, true);
    expect((await verify(scene)).body).toMatchObject({ verified: true, enabled_campaign_ids: [] });
    await setHold(scene.app.workspace_id, false);
    expect((await verify(scene)).body.enabled_campaign_ids).toEqual([held.id]);
    expect(await readStatus(scene, byUser)).toBe('PAUSED');
  });

  it('is not said to be enabled before the platform has confirmed it', async () => {
    const { scene, tag } = await unverifiedScene();
    await publishVerified(scene, tag);
    const campaign = await newCampaign(scene, waitingOptions());
    platform.setFaults({ call: 'mutate', fault: 'drop_after', customer_id: scene.customerId });
    const got = await verify(scene);
    expect(got.body).toMatchObject({ verified: true, enabled_campaign_ids: [] });
    expect(got.headers['x-partial-result']).toBe('enabled_campaign_ids');
    platform.setFaults();
    await waitUntil(async () => (await rowOf(campaign)).status === 'ENABLED');
  });

  it('is enabled without a call, after the app was published', async () => {
    const { scene, tag } = await unverifiedScene();
    const campaign = await newCampaign(scene, waitingOptions());
    await publish(scene, 'no tag');
    await sleep(1_000);
    expect((await rowOf(campaign)).status).toBe('PAUSED');
    await publish(scene, tag);
    await waitUntil(async () => (await rowOf(campaign)).status === 'ENABLED');
    expect(await entriesOf(scene, 'ads.tracking.checked')).toContainEqual(
      expect.objectContaining({ actor: expect.objectContaining({ kind: 'service' }) }),
    );
  });

  it('continues when a later check fails, and the owner gets a mail', async () => {
    const { scene, tag } = await unverifiedScene();
    await publishVerified(scene, tag);
    const campaign = await newCampaign(scene, waitingOptions());
    await verify(scene);
    await publish(scene, 'no tag any more');
    await waitUntil(async () => (await mailsOf(scene)).length === 2);
    expect((await mailsOf(scene))[1]).toMatchObject({
      email: owner.email,
      subject: 'Conversions in the app "App" may not be counted',
    });
    expect(await rowOf(campaign)).toMatchObject({ status: 'ENABLED' });
    expect(await changesOf(campaign)).toHaveLength(1);
  });
});
