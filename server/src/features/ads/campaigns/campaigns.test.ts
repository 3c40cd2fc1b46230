// Tests for reading campaigns: the list, a single campaign, its journal, and the comparison with the platform.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { performanceMax, smart } from '../../../../test/support/ad-campaigns.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';
import { toCampaignName } from '../rules/name.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const world = await startWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  adsTimes: { liveReadMs: 500 },
});
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign, newOpenLaunch, endLaunch } = createCampaigns(world, platform);
afterAll(() => client.close());

beforeEach(async () => {
  platform.setFaults();
  await world.resetRateLimits();
});

const pathOf = ({ app }: CampaignScene, { id }: { readonly id: string }) =>
  `/api/apps/${app.id}/ads-platform/campaigns/${id}`;
const get = (scene: CampaignScene, campaign: { readonly id: string }) =>
  world.call('GET', pathOf(scene, campaign), { as: scene.as });
const readJournal = (scene: CampaignScene, campaign: { readonly id: string }) =>
  world.call('GET', `${pathOf(scene, campaign)}/journal`, { as: scene.as });
const list = ({ app, as }: CampaignScene, query = '') =>
  world.call('GET', `/api/apps/${app.id}/ads-platform/campaigns${query}`, { as });
const sync = ({ app, as }: CampaignScene) =>
  world.call('POST', `/api/apps/${app.id}/ads-platform/campaigns/sync`, { as });
const rowOf = ({ id }: { readonly id: string }) =>
  world.db.selectFrom('ads_campaigns').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const changesOf = ({ id }: { readonly id: string }) =>
  world.db.selectFrom('ads_changes').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
const change = (id: string, to: object) => world.db.updateTable('ads_campaigns').set(to).where('id', '=', id).execute();
const setStatus = async (scene: CampaignScene, { platformId }: TestCampaign, status: 'ENABLED' | 'PAUSED') =>
  expect(await client.campaigns.setStatus(scene.customerId, platformId, status)).toMatchObject({ outcome: 'applied' });
const entriesOf = async ({ app, as }: CampaignScene, type: string) =>
  (await world.call('GET', `/api/workspace/audit-log?type=${type}&app_id=${app.id}`, { as })).body.items;
const runJob = async (name: string) =>
  world.app.background.jobs.find((job) => job.name === name)?.run(world.app.database.db, world.clock.now());
/** Inserts a change that was sent but got no response. */
const recordUnknown = ({ app }: CampaignScene, campaign: TestCampaign, kind: 'pause' | 'resume') =>
  world.db
    .insertInto('ads_changes')
    .values({
      id: newId(),
      workspace_id: app.workspace_id,
      app_id: app.id,
      campaign_id: campaign.id,
      kind,
      state: 'unknown',
      is_by_caller: true,
      created_date: world.clock.now(),
    })
    .execute();
/** Creates a campaign on the platform that is missing from our table. */
async function makeAtPlatform(
  { customerId }: CampaignScene,
  name: string,
  status: 'ENABLED' | 'PAUSED' = 'PAUSED',
  make = performanceMax,
) {
  const made = await client.mutate(customerId, make(customerId, { name, status }));
  expect(made).toMatchObject({ outcome: 'applied' });
  const found = await client.campaigns.findByName(customerId, name);
  return found.outcome === 'read' ? (found.result[0]?.id ?? '') : '';
}

describe('getCampaign', () => {
  it('has all fields, with the statuses that the platform has now', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const got = await get(scene, campaign);
    const row = await rowOf(campaign);
    expect(got.status).toBe(200);
    expect(got.body).toEqual({
      id: campaign.id,
      platform_campaign_id: campaign.platformId,
      campaign_name: row.campaign_name,
      campaign_type: 'PERFORMANCE_MAX',
      status: 'ENABLED',
      daily_budget_micros: row.daily_budget_micros,
      landing_page: row.landing_page,
      geo_targets: row.geo_targets,
      phone_number: '',
      review_status: 'REVIEW_IN_PROGRESS',
      serving_status: 'PENDING',
      primary_status: 'PENDING',
      primary_status_reasons: ['MOST_ASSET_GROUPS_UNDER_REVIEW'],
      created_date: row.created_date.toISOString(),
      updated_date: row.updated_date.toISOString(),
      learning_ends_at: new Date(
        (row.first_enabled_at ?? row.created_date).getTime() + 14 * 24 * 60 * 60 * 1000,
      ).toISOString(),
    });
    expect(got.headers).not.toHaveProperty('x-partial-result');
    expect(got.headers).not.toHaveProperty('x-data-as-of');
  });

  it('shows what somebody changed at the platform itself, and records it', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { own_reasons: [] });
    await get(scene, campaign);
    await setStatus(scene, campaign, 'PAUSED');
    await client.campaigns.update(scene.customerId, campaign.platformId, {
      field: 'dailyBudgetMicros',
      value: 31_000_000,
    });
    expect((await get(scene, campaign)).body).toMatchObject({ status: 'PAUSED', daily_budget_micros: 31_000_000 });
    expect((await readJournal(scene, campaign)).body.steps.at(-1)).toMatchObject({ name: 'adopt', outcome: 'applied' });
    expect(await entriesOf(scene, 'ads.campaign.adopted')).toContainEqual(
      expect.objectContaining({
        actor: expect.objectContaining({ kind: 'service' }),
        before: expect.objectContaining({ status: 'ENABLED' }),
        after: expect.objectContaining({ status: 'PAUSED', daily_budget_micros: 31_000_000 }),
      }),
    );
  });

  it('clears our reasons if somebody enabled it at the platform', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_PAUSED_BY_USER'] });
    await setStatus(scene, campaign, 'ENABLED');
    const { body } = await get(scene, campaign);
    expect(body.status).toBe('ENABLED');
    expect(body.primary_status_reasons).not.toContain('SERVICE_PAUSED_BY_USER');
    expect((await rowOf(campaign)).first_enabled_at).not.toBeNull();
  });

  it('learns for two weeks from its first enabling', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    const [created, enabled] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-02-01T00:00:00Z')];
    await change(campaign.id, { created_date: created });
    expect((await get(scene, campaign)).body.learning_ends_at).toBe('2026-01-15T00:00:00.000Z');
    await change(campaign.id, { first_enabled_at: enabled });
    expect((await get(scene, campaign)).body.learning_ends_at).toBe('2026-02-15T00:00:00.000Z');
  });

  it.each(['drop_before', 'error_before', 'delay'] as const)(
    'shows the last known statuses if the platform does not answer: %s',
    async (fault) => {
      const scene = await newScene(owner);
      const campaign = await newCampaign(scene);
      await get(scene, campaign);
      const { status_read_at } = await rowOf(campaign);
      platform.setFaults({ call: 'search', fault, delay_ms: 3_000, customer_id: scene.customerId });
      const got = await get(scene, campaign);
      expect(got).toMatchObject({ status: 200, body: { status: 'ENABLED', primary_status: 'PENDING' } });
      expect(got.headers).toMatchObject({
        'x-partial-result': 'live_status',
        'x-data-as-of': status_read_at?.toISOString(),
      });
    },
  );

  it('keeps the status while a change is not decided', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await recordUnknown(scene, campaign, 'pause');
    await setStatus(scene, campaign, 'PAUSED');
    expect((await get(scene, campaign)).body).toMatchObject({ status: 'ENABLED', primary_status: 'PAUSED' });
  });

  it('does not undo a change that was confirmed while the platform was read', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await recordUnknown(scene, campaign, 'pause');
    platform.setFaults({ call: 'search', fault: 'delay', delay_ms: 100, customer_id: scene.customerId, times: 10 });
    const reading = get(scene, campaign);
    await sleep(50);
    const now = world.clock.now();
    await world.db
      .updateTable('ads_changes')
      .set({ state: 'applied', ended_date: now })
      .where('campaign_id', '=', campaign.id)
      .execute();
    await change(campaign.id, { status: 'PAUSED', primary_status: 'PAUSED' });
    expect((await reading).body).toMatchObject({ status: 'PAUSED', primary_status: 'PAUSED' });
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED', primary_status: 'PAUSED' });
  });

  it('keeps the status while a late request may still arrive', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await change(campaign.id, { watched_until: new Date(Date.now() + 60_000) });
    await setStatus(scene, campaign, 'PAUSED');
    expect((await get(scene, campaign)).body).toMatchObject({ status: 'ENABLED' });
    // Our status is kept after `watched_until`, until the watch has read the campaign again.
    await change(campaign.id, { watched_until: new Date(Date.now() - 1) });
    expect((await get(scene, campaign)).body).toMatchObject({ status: 'ENABLED' });
    await change(campaign.id, { watched_until: null });
    expect((await get(scene, campaign)).body).toMatchObject({ status: 'PAUSED' });
  });

  it('shows a campaign without an id at the platform as it is known', async () => {
    const scene = await newScene(owner);
    const id = newId();
    const launch_id = await newOpenLaunch(scene, id);
    const campaign = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'] });
    await change(campaign.id, { platform_campaign_id: '', launch_id });
    const got = await get(scene, campaign);
    expect(got.body).toMatchObject({ status: 'PAUSED', platform_campaign_id: '' });
    expect(got.body.primary_status_reasons).toContain('SERVICE_LAUNCH_UNCONFIRMED');
    expect(got.headers).toMatchObject({ 'x-partial-result': 'live_status' });
  });

  it("shows a word of the platform that we don't know as UNKNOWN", async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await change(campaign.id, { serving_status: 'RESTING', primary_status: 'ASLEEP', review_status: '' });
    platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId });
    expect((await get(scene, campaign)).body).toMatchObject({
      serving_status: 'UNKNOWN',
      primary_status: 'UNKNOWN',
      review_status: 'UNKNOWN',
    });
  });

  it('answers 404 for another app, a wrong id, and no app', async () => {
    const [scene, other] = [await newScene(owner), await newScene(owner)];
    const campaign = await newCampaign(other);
    for (const id of [campaign.id, newId(), 'x'])
      expect(await get(scene, { id })).toMatchObject({ status: 404, body: { code: 'campaign_not_found' } });
    expect(await readJournal(scene, campaign)).toMatchObject({ status: 404, body: { code: 'campaign_not_found' } });
  });
});

describe('listCampaigns', () => {
  it('is empty without an account', async () => {
    const workspace = await world.workspace(owner);
    const app = await world.appOf(owner, workspace);
    const got = await list({ app, as: await world.token(owner, workspace), customerId: '' });
    expect(got).toMatchObject({ status: 200, body: { items: [], has_more: false, next_cursor: null } });
    expect(got.headers).not.toHaveProperty('x-partial-result');
  });

  it('has metrics, newest first, with removed campaigns, in pages', async () => {
    const scene = await newScene(owner);
    const [first, second] = [await newCampaign(scene), await newCampaign(scene, { status: 'PAUSED' })];
    platform.advance(24 * 60 * 60 * 1000);
    await client.campaigns.remove(scene.customerId, first.platformId);
    expect((await get(scene, first)).body.status).toBe('REMOVED');
    const got = await list(scene);
    expect(got.body.items.map(({ id }: TestCampaign) => id)).toEqual([second.id, first.id]);
    expect(got.body.items[0]).toMatchObject({ impressions: 0, cost_micros: 0, metrics_pending: false });
    expect(got.body.items[1]).toMatchObject({ status: 'REMOVED', metrics_pending: false });
    expect(got.body.items[1].cost_micros).toBeGreaterThan(0);
    expect(got.body.items[1].impressions).toBeGreaterThan(0);
    expect(got.headers['x-data-as-of']).toBeDefined();
    const page = await list(scene, '?limit=1');
    expect(page.body).toMatchObject({ items: [{ id: second.id }], has_more: true });
    const next = await list(scene, `?limit=1&cursor=${page.body.next_cursor}`);
    expect(next.body).toMatchObject({ items: [{ id: first.id }], has_more: false });
  });

  it('shows the last known metrics if the platform does not answer, or if they are not asked for', async () => {
    const scene = await newScene(owner);
    await newCampaign(scene);
    platform.advance(24 * 60 * 60 * 1000);
    expect((await list(scene, '?include_metrics=false')).body.items).toMatchObject([
      { cost_micros: 0, metrics_pending: true },
    ]);
    const { cost_micros } = (await list(scene)).body.items[0];
    platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId });
    const got = await list(scene);
    expect(got.body.items).toMatchObject([{ cost_micros, metrics_pending: false }]);
    expect(got.headers['x-partial-result']).toBe('metrics');
    const stored = await list(scene, '?include_metrics=false');
    expect(stored.body.items).toMatchObject([{ cost_micros, metrics_pending: true }]);
    expect(stored.headers).not.toHaveProperty('x-partial-result');
  });

  it('refuses a wrong cursor, and a wrong flag', async () => {
    const scene = await newScene(owner);
    expect(await list(scene, '?cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    expect(await list(scene, '?include_metrics=x')).toMatchObject({ status: 422 });
  });
});

describe('getCampaignJournal', () => {
  it('has no launch for a campaign that was found at the platform', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const got = await readJournal(scene, campaign);
    expect(got).toMatchObject({
      status: 200,
      body: {
        launch_id: null,
        state: 'live',
        launch_key: '',
        campaign_id: campaign.id,
        campaign_state: 'live',
        steps: [],
        next_action: 'none',
      },
    });
  });

  it('shows the launch, and what is not decided', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { own_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'] });
    const launch_id = await newOpenLaunch(scene, campaign.id);
    await change(campaign.id, { launch_id });
    expect((await readJournal(scene, campaign)).body).toMatchObject({
      launch_id,
      state: 'unknown',
      launch_key: 'ABCDEFGHIJ',
      campaign_state: 'unknown',
      next_action: 'reconciling',
    });
    await endLaunch(launch_id, 'held');
    const held = { own_reasons: ['SERVICE_TRACKING_PENDING'], status: 'PAUSED' };
    await change(campaign.id, held);
    expect((await readJournal(scene, campaign)).body).toMatchObject({
      state: 'held',
      campaign_state: 'paused',
      next_action: 'wire_tracking',
    });
    await change(campaign.id, { own_reasons: ['SERVICE_TRACKING_PENDING', 'SERVICE_BILLING_HOLD'] });
    expect((await readJournal(scene, campaign)).body.next_action).toBe('fix_billing');
    await recordUnknown(scene, campaign, 'pause');
    expect((await readJournal(scene, campaign)).body).toMatchObject({
      campaign_state: 'unknown',
      next_action: 'reconciling',
    });
  });

  it('shows the last 1,000 steps', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const { app } = scene;
    const step = { workspace_id: app.workspace_id, app_id: app.id, campaign_id: campaign.id, at: new Date() };
    const rows = Array.from({ length: 1_001 }, (_, index) => ({
      ...step,
      number: index + 1,
      name: 'update',
      outcome: 'applied' as const,
      detail: 'The campaign was updated.',
    }));
    await world.db.insertInto('ads_journal').values(rows).execute();
    const got = await readJournal(scene, campaign);
    expect(got.headers['x-truncated']).toBe('true');
    expect(got.body.steps).toHaveLength(1_000);
    expect(got.body.steps[0].number).toBe(2);
  });
});

describe('syncCampaigns', () => {
  it('needs an account, and a platform that answers', async () => {
    const workspace = await world.workspace(owner);
    const app = await world.appOf(owner, workspace);
    const lonely = { app, as: await world.token(owner, workspace), customerId: '' };
    expect(await sync(lonely)).toMatchObject({ status: 404, body: { code: 'ads_account_not_found' } });
    const scene = await newScene(owner);
    platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId });
    expect(await sync(scene)).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
  });

  it('lists what it did not know, of our two types, and counts what changed', async () => {
    const scene = await newScene(owner);
    const [paused, removed] = [await newCampaign(scene), await newCampaign(scene)];
    await sync(scene);
    const [one, other] = [
      await makeAtPlatform(scene, 'By hand', 'ENABLED'),
      await makeAtPlatform(scene, 'Sale', 'PAUSED', smart),
    ];
    await setStatus(scene, paused, 'PAUSED');
    await client.campaigns.remove(scene.customerId, removed.platformId);
    const got = await sync(scene);
    expect(got).toMatchObject({ status: 200, body: { added: 2, updated: 1, removed: 1 } });
    expect(got.body.campaigns).toHaveLength(4);
    expect(got.body.campaigns).toContainEqual(
      expect.objectContaining({
        platform_campaign_id: one,
        campaign_name: 'By hand',
        campaign_type: 'PERFORMANCE_MAX',
        status: 'ENABLED',
      }),
    );
    expect(got.body.campaigns).toContainEqual(
      expect.objectContaining({ platform_campaign_id: other, campaign_type: 'SMART', status: 'PAUSED' }),
    );
    expect(await entriesOf(scene, 'ads.campaign.adopted')).toContainEqual(
      expect.objectContaining({
        actor: expect.objectContaining({ kind: 'user' }),
        after: { platform_campaign_id: one, campaign_name: 'By hand', status: 'ENABLED' },
      }),
    );
    expect((await sync(scene)).body).toMatchObject({ added: 0, updated: 0, removed: 0 });
  });

  it('reads all pages', async () => {
    const scene = await newScene(owner);
    for (const name of ['A', 'B', 'C']) await makeAtPlatform(scene, name);
    platform.configure({ page_size: 2 });
    expect((await sync(scene)).body).toMatchObject({ added: 3 });
    platform.configure({ page_size: 10_000 });
  });

  it('lists each once, even if two sync at the same time', async () => {
    const scene = await newScene(owner);
    for (const name of ['A', 'B']) await makeAtPlatform(scene, name);
    const both = await Promise.all([sync(scene), sync(scene)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(both.reduce((sum, { body }) => sum + body.added, 0)).toBe(2);
    expect((await list(scene)).body.items).toHaveLength(2);
  });

  it('leaves what a launch is looking for to the launch', async () => {
    const scene = await newScene(owner);
    const launch_id = await newOpenLaunch(scene, newId());
    await makeAtPlatform(scene, 'Bikes [ABCDEFGHIJ]');
    expect((await sync(scene)).body).toMatchObject({ added: 0 });
    await world.db
      .updateTable('ads_launches')
      .set({ state: 'absent', unknown_request: null, ended_date: new Date(), is_current: false })
      .where('id', '=', launch_id)
      .execute();
    expect((await sync(scene)).body).toMatchObject({
      added: 1,
      campaigns: [
        {
          campaign_name: 'Bikes',
          status: 'PAUSED',
          primary_status_reasons: ['CAMPAIGN_PAUSED', 'SERVICE_LAUNCH_UNCONFIRMED'],
        },
      ],
    });
  });

  it('does not overwrite what was asked for meanwhile', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await setStatus(scene, campaign, 'PAUSED');
    platform.setFaults({ call: 'search', fault: 'delay', delay_ms: 400, customer_id: scene.customerId });
    const syncing = sync(scene);
    await sleep(100);
    await recordUnknown(scene, campaign, 'resume');
    expect((await syncing).body).toMatchObject({ updated: 0 });
    expect((await rowOf(campaign)).status).toBe('ENABLED');
  });
});

describe('the regular comparison', () => {
  const compare = async () => {
    while ((await runJob('compare campaigns with the ad platform')) !== 0);
  };
  const later = (minutes: number) => {
    world.clock.aheadMs += minutes * 60_000;
  };

  it('reads accounts with an enabled campaign every 15 minutes, and others every hour', async () => {
    const [enabled, paused] = [await newScene(owner), await newScene(owner)];
    const campaigns = [await newCampaign(enabled), await newCampaign(paused, { status: 'PAUSED' })] as const;
    await compare();
    const readAt = async () => Promise.all(campaigns.map(async (each) => (await rowOf(each)).status_read_at));
    const first = await readAt();
    expect(first).not.toContain(null);
    later(14);
    await compare();
    expect(await readAt()).toEqual(first);
    later(2);
    await compare();
    const second = await readAt();
    expect(second[0]).not.toEqual(first[0]);
    expect(second[1]).toEqual(first[1]);
    later(45);
    await compare();
    expect((await readAt())[1]).not.toEqual(first[1]);
  });

  it('pauses, lists and reports a campaign of a launch that had given up', async () => {
    const scene = await newScene(owner);
    const platformId = await makeAtPlatform(scene, 'Bikes [ABCDEFGHIJ]', 'ENABLED');
    later(61);
    await compare();
    const [found] = (await list(scene)).body.items;
    expect(found).toMatchObject({ platform_campaign_id: platformId, status: 'ENABLED' });
    expect(await changesOf(found)).toMatchObject([
      { kind: 'pause', reasons: ['SERVICE_LAUNCH_UNCONFIRMED'], is_by_caller: false },
    ]);
    expect(await entriesOf(scene, 'ads.campaign.adopted')).toMatchObject([{ actor: { kind: 'service' } }]);
    expect(world.logLines.join()).toContain('a campaign from an abandoned launch was found');
    const { difference } = await world.db
      .selectFrom('ads_accounts')
      .where('app_id', '=', scene.app.id)
      .select('difference')
      .executeTakeFirstOrThrow();
    expect(difference).toEqual({ unlisted: 1 });
    const metrics = await readMetrics();
    expect(metrics).toContain('plinth_ads_difference{kind="unlisted"} 1');
    expect(metrics).toContain('plinth_ads_difference{kind="missing"} 0');
    later(61);
    await compare();
    expect(await readMetrics()).toContain('plinth_ads_difference{kind="unlisted"} 0');
  });

  it('lists a campaign that somebody made and named alike, and lets it run', async () => {
    const scene = await newScene(owner);
    await makeAtPlatform(scene, 'Sale [newsletter]', 'ENABLED');
    later(61);
    await compare();
    const [found] = (await list(scene)).body.items;
    expect(found).toMatchObject({ campaign_name: 'Sale [newsletter]', status: 'ENABLED' });
    expect(await changesOf(found)).toEqual([]);
  });

  it('asks a platform that does not answer again after a minute', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId, times: 100 });
    await compare();
    expect((await rowOf(campaign)).status_read_at).toBeNull();
    platform.setFaults();
    await compare();
    expect((await rowOf(campaign)).status_read_at).toBeNull();
    later(1.1);
    await compare();
    expect((await rowOf(campaign)).status_read_at).not.toBeNull();
  });

  it('counts what the platform does not have', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await change(campaign.id, { platform_campaign_id: '99999' });
    await compare();
    expect(await readMetrics()).toContain('plinth_ads_difference{kind="missing"} 1');
    // Removes the adopted row.
    await world.db.deleteFrom('ads_campaigns').where('platform_campaign_id', '=', campaign.platformId).execute();
    await change(campaign.id, { platform_campaign_id: campaign.platformId });
    later(16);
    await compare();
    expect(await readMetrics()).toContain('plinth_ads_difference{kind="missing"} 0');
  });

  const readMetrics = () => world.app.metrics.render();
});

describe('names at the platform', () => {
  it('lose only a launch key of our own', () => {
    const keys = new Set(['ABCDEFGHIJ']);
    expect(toCampaignName('Sale [ABCDEFGHIJ]', keys)).toBe('Sale');
    expect(toCampaignName('Sale [NEWSLETTER]', keys)).toBe('Sale [NEWSLETTER]');
    expect(toCampaignName('Sale [abcdefghij]', keys)).toBe('Sale [abcdefghij]');
    expect(toCampaignName('Sale [ABCDEFGHIJ] [ABCDEFGHIJ]', keys)).toBe('Sale [ABCDEFGHIJ]');
    expect(toCampaignName('[ABCDEFGHIJ]', keys)).toBe('[ABCDEFGHIJ]');
  });
});
