// Tests for changing a campaign's fields: the resulting state on the platform, and every refusal.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { places } from '../../../../test/support/launching.ts';
import { writeSmallCatalogue } from '../../../../test/support/places.ts';
import { startSecondApp, startWorld, type World } from '../../../../test/support/world.ts';
import { loadBundledLocations } from '../index.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const world = await startWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  // Otherwise the sync job could adopt a test's campaigns before the test does.
  adsTimes: { reconcileMs: 1_000, requestMs: 5_000, callerWaitMs: 5_000, resendMs: [50, 100, 200], syncRetryMs: 1e9 },
  adPlatform: { changeTimeoutMs: 1_000 },
});
await loadBundledLocations(world.db, writeSmallCatalogue([], ['US', 'FR', 'CH', 'DE']), world.clock.now());
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign } = createCampaigns(world, platform);
afterAll(() => client.close());
await world.startWorker();
const scene = await newScene(owner);

beforeEach(async () => {
  platform.setFaults();
  await world.resetRateLimits();
});

const resourceName = (id: string) => `geoTargetConstants/${id}`;
const update = (campaign: TestCampaign, field: string, value: unknown, on: World = world, of: CampaignScene = scene) =>
  on.call('PATCH', `/api/apps/${of.app.id}/ads-platform/campaigns/${campaign.id}`, {
    as: of.as,
    body: { field, value },
  });
/** The platform refuses unknown locations. The sandbox knows the bundled ones. */
const newLocatedCampaign = async (geo_targets: string[]) => {
  const campaign = await newCampaign(scene);
  await world.db
    .updateTable('ads_campaigns')
    .set({ geo_targets: geo_targets.map(resourceName) })
    .where('id', '=', campaign.id)
    .execute();
  return campaign;
};
const read = async ({ platformId }: TestCampaign) => {
  const found = await client.campaigns.read(scene.customerId, platformId);
  return found.outcome === 'read' ? found.result : undefined;
};
const rowOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_campaigns').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const search = async (query: string) => {
  const found = await client.search(scene.customerId, query, 100);
  if (found.outcome !== 'read') throw new Error(JSON.stringify(found));
  return JSON.stringify(found.result.rows);
};

describe('updateCampaign', () => {
  it('changes the budget at the platform and in our row, and keeps an entry', async () => {
    const campaign = await newCampaign(scene);
    const got = await update(campaign, 'budget', 30_000_000);
    expect(got).toMatchObject({ status: 200, body: { id: campaign.id, daily_budget_micros: 30_000_000 } });
    expect(await read(campaign)).toMatchObject({ dailyBudgetMicros: 30_000_000 });
    const log = await world.call('GET', '/api/workspace/audit-log?type=ads.campaign.update_requested', {
      as: scene.as,
    });
    expect(log.body.items[0]).toMatchObject({ after: { field: 'budget', daily_budget_micros: 30_000_000 } });
    const steps = await world.db.selectFrom('ads_journal').where('campaign_id', '=', campaign.id).selectAll().execute();
    expect(steps).toMatchObject([{ name: 'update', outcome: 'applied' }]);
  });

  it('is recorded once for an Idempotency-Key, even if the platform did not answer, and leaves later values alone', async () => {
    const campaign = await newCampaign(scene);
    const path = `/api/apps/${scene.app.id}/ads-platform/campaigns/${campaign.id}`;
    const sent = {
      as: scene.as,
      body: { field: 'budget', value: 30_000_000 },
      headers: { 'idempotency-key': campaign.id },
    };
    platform.setFaults({ call: 'mutate', fault: 'drop_after', customer_id: scene.customerId, times: 1 });
    expect(await world.call('PATCH', path, sent)).toMatchObject({
      status: 409,
      body: { code: 'ad_platform_timeout', retry_safe: true },
    });
    const again = await world.call('PATCH', path, sent);
    expect(again).toMatchObject({ status: 200, body: { id: campaign.id, daily_budget_micros: 30_000_000 } });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await update(campaign, 'budget', 25_000_000)).status).toBe(200);
    expect(await world.call('PATCH', path, sent)).toMatchObject({ status: 200 });
    expect(await read(campaign)).toMatchObject({ dailyBudgetMicros: 25_000_000 });
    const changes = world.db.selectFrom('ads_changes').where('campaign_id', '=', campaign.id).selectAll();
    expect(await changes.execute()).toHaveLength(2);
  });

  describe('with a value that the campaign has', () => {
    const changesOf = ({ id }: TestCampaign) =>
      world.db.selectFrom('ads_changes').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
    const countEntries = async ({ id }: TestCampaign) => {
      const path = `/api/workspace/audit-log?type=ads.campaign.update_requested&limit=100`;
      const { items } = (await world.call('GET', path, { as: scene.as })).body;
      return items.filter(({ target }: { target: { id: string } }) => target.id === id).length;
    };
    const countMutations = () =>
      platform.journal.filter(({ event, call }) => event === 'received' && call === 'mutate').length;
    const endDate = new Date(Date.now() + 30 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);

    it.each([
      ['PERFORMANCE_MAX', 'name', 'Summer bikes'],
      ['PERFORMANCE_MAX', 'budget', 30_000_000],
      ['PERFORMANCE_MAX', 'landing_page', 'https://bikes.example.com/summer'],
      ['PERFORMANCE_MAX', 'geo_targets', [places.switzerland, places.unitedStates]],
      ['PERFORMANCE_MAX', 'excluded_geo_targets', [places.switzerland]],
      ['PERFORMANCE_MAX', 'search_themes', ['bikes for summer']],
      ['PERFORMANCE_MAX', 'ad_copy', { headlines: ['Summer bikes', 'Sun bikes', 'Warm bikes'] }],
      ['SMART', 'keyword_themes', ['summer bikes']],
      ['SMART', 'ad_copy', { headlines: ['Summer bikes', 'Sun bikes', 'Warm bikes'] }],
      ['SMART', 'end_date', endDate],
      ['SMART', 'end_date', null],
    ] as const)('changes nothing, and says so: %s, %s %j', async (type, field, value) => {
      const campaign = await newCampaign(scene, { type });
      const first = await update(campaign, field, value);
      expect(first.status, first.text).toBe(200);
      const [before, sent, entries] = [await rowOf(campaign), countMutations(), await countEntries(campaign)];
      const changes = (await changesOf(campaign)).length;
      const again = await update(campaign, field, value);
      expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'x-changed': 'false' } });
      expect([await rowOf(campaign), countMutations(), await countEntries(campaign)]).toEqual([before, sent, entries]);
      expect(await changesOf(campaign)).toHaveLength(changes);
    });

    it('remembers an Idempotency-Key, and a repeat says the same', async () => {
      const campaign = await newCampaign(scene);
      const path = `/api/apps/${scene.app.id}/ads-platform/campaigns/${campaign.id}`;
      const body = { field: 'budget', value: 20_000_000 };
      const sent = { as: scene.as, body, headers: { 'idempotency-key': campaign.id } };
      for (const replayed of [undefined, 'true'])
        expect((await world.call('PATCH', path, sent)).headers).toMatchObject({
          'x-changed': 'false',
          ...(replayed && { 'idempotent-replayed': replayed }),
        });
      expect(await changesOf(campaign)).toEqual([]);
    });

    it('sends it if somebody has changed the campaign at the platform itself', async () => {
      const campaign = await newCampaign(scene);
      const changed = { field: 'dailyBudgetMicros', value: 9_000_000 } as const;
      await client.campaigns.update(scene.customerId, campaign.platformId, changed);
      const got = await update(campaign, 'budget', 20_000_000);
      expect(got.status).toBe(200);
      expect(got.headers['x-changed']).toBeUndefined();
      expect(await read(campaign)).toMatchObject({ dailyBudgetMicros: 20_000_000 });
      expect(await countEntries(campaign)).toBe(1);
    });

    it('sends it if the platform cannot be read, because the values may differ', async () => {
      const campaign = await newCampaign(scene);
      platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId, times: 1 });
      const got = await update(campaign, 'budget', 20_000_000);
      expect(got).toMatchObject({ status: 200 });
      expect(got.headers['x-changed']).toBeUndefined();
      expect(await countEntries(campaign)).toBe(1);
    });

    it('waits for the same change while the platform has not confirmed it, and writes no second entry', async () => {
      const campaign = await newCampaign(scene);
      platform.setFaults({ call: 'mutate', fault: 'drop_before', customer_id: scene.customerId, times: 1 });
      expect(await update(campaign, 'budget', 30_000_000)).toMatchObject({ status: 409 });
      const again = await update(campaign, 'budget', 30_000_000);
      expect(again).toMatchObject({ status: 200, body: { daily_budget_micros: 30_000_000 } });
      expect(await changesOf(campaign)).toHaveLength(1);
      expect(await countEntries(campaign)).toBe(1);
    });

    it('compares with what was requested last, not with what the campaign still has', async () => {
      const campaign = await newCampaign(scene);
      platform.setFaults({ call: 'mutate', fault: 'drop_before', customer_id: scene.customerId, times: 1 });
      expect(await update(campaign, 'budget', 30_000_000)).toMatchObject({ status: 409 });
      expect(await rowOf(campaign)).toMatchObject({ daily_budget_micros: 20_000_000 });
      const back = await update(campaign, 'budget', 20_000_000);
      expect(back).toMatchObject({ status: 200, body: { daily_budget_micros: 20_000_000 } });
      expect(back.headers['x-changed']).toBeUndefined();
      expect(await changesOf(campaign)).toMatchObject([{ state: 'applied' }, { state: 'applied' }]);
      expect(await read(campaign)).toMatchObject({ dailyBudgetMicros: 20_000_000 });
    });
  });

  it('keeps the launch key in the name at the platform', async () => {
    const [own, adopted] = [await newCampaign(scene, { launch: 'live' }), await newCampaign(scene)];
    expect(await update(own, 'name', ' Winter bikes ')).toMatchObject({ body: { campaign_name: 'Winter bikes' } });
    expect(await read(own)).toMatchObject({ name: 'Winter bikes [ABCDEFGHIJ]' });
    expect((await update(adopted, 'name', 'Spring bikes')).status).toBe(200);
    expect(await read(adopted)).toMatchObject({ name: 'Spring bikes' });
  });

  it.each(['SMART', 'PERFORMANCE_MAX'] as const)('changes the landing page and the texts (%s)', async (type) => {
    const campaign = await newCampaign(scene, { type });
    const page = 'https://bikes.example.com/winter';
    expect(await update(campaign, 'landing_page', page)).toMatchObject({ status: 200, body: { landing_page: page } });
    expect(await read(campaign)).toMatchObject({ landingPage: page });
    const texts = {
      headlines: ['Snow bikes', 'Ice bikes', 'Warm bikes'],
      descriptions: ['Ride on snow', 'Ride on ice'],
    };
    expect((await update(campaign, 'ad_copy', texts)).status).toBe(200);
    const listed =
      type === 'SMART'
        ? await search('SELECT ad_group_ad.ad.smart_campaign_ad.headlines FROM ad_group_ad')
        : JSON.stringify(await client.campaigns.listAssets(scene.customerId, campaign.platformId));
    expect(listed).toContain('Snow bikes');
  });

  it('reads the texts as every body: null means not sent, and unknown fields are named', async () => {
    const campaign = await newCampaign(scene);
    const headlines = ['Night bikes', 'Day bikes', 'Bikes'];
    const texts = { headlines, long_headlines: null, headline: 'Night bikes' };
    const got = await update(campaign, 'ad_copy', texts);
    expect(got).toMatchObject({ status: 200, headers: { 'x-ignored-fields': 'value.headline' } });
    const misspelt = await update(campaign, 'ad_copy', { headline: 'Night bikes' });
    expect(misspelt).toMatchObject({ status: 422, headers: { 'x-ignored-fields': 'value.headline' } });
  });

  it('changes themes, of the type that has them', async () => {
    const [smart, max] = [await newCampaign(scene, { type: 'SMART' }), await newCampaign(scene)];
    expect((await update(smart, 'keyword_themes', ['winter bikes'])).status).toBe(200);
    expect((await update(max, 'search_themes', ['bikes for snow'])).status).toBe(200);
    const themes = await search(
      "SELECT campaign_criterion.keyword_theme.free_form_keyword_theme FROM campaign_criterion WHERE campaign_criterion.type = 'KEYWORD_THEME'",
    );
    expect(themes).toContain('winter bikes');
    const notApplicable = { status: 400, body: { code: 'section_not_applicable' } };
    expect(await update(smart, 'search_themes', ['bikes'])).toMatchObject(notApplicable);
    expect(await update(max, 'keyword_themes', ['bikes'])).toMatchObject(notApplicable);
    expect(await update(smart, 'ad_copy', { long_headlines: ['Bikes for all'] })).toMatchObject(notApplicable);
  });

  it('sets and clears the last day, which is in the time zone of the account', async () => {
    const campaign = await newCampaign(scene);
    const day = new Date(Date.now() + 30 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
    const readEnd = () =>
      search(`SELECT campaign.end_date_time FROM campaign WHERE campaign.id = ${campaign.platformId}`);
    expect((await update(campaign, 'end_date', day)).status).toBe(200);
    expect(await readEnd()).toContain(day);
    expect((await update(campaign, 'end_date', null)).status).toBe(200);
    expect(await readEnd()).not.toContain(day);
    expect((await update(campaign, 'end_date', '2020-01-01')).body.detail).toMatchObject([
      { loc: ['body', 'value'], type: 'value_error', msg: 'must be today or later' },
    ]);
  });

  it.each([
    ['name', ''],
    ['name', 'x'.repeat(121)],
    ['budget', '20'],
    ['budget', 1.5],
    ['ad_copy', {}],
    ['ad_copy', { headlines: ['One'] }],
    ['geo_targets', ['Paris']],
    ['keyword_themes', []],
    ['search_themes', ['one two three four five six seven eight nine ten eleven']],
    ['end_date', 'tomorrow'],
    ['landing_page', null],
    ['status', 'ENABLED'],
  ])('refuses a value that no campaign can have: %s %j', async (field, value) => {
    const got = await update(await newCampaign(scene), field, value);
    expect(got.status).toBe(422);
    expect(got.body.detail[0].loc.slice(0, 2)).toEqual(['body', field === 'status' ? 'field' : 'value']);
  });

  it('refuses what a launch would refuse', async () => {
    const campaign = await newCampaign(scene);
    expect(await update(campaign, 'budget', 0)).toMatchObject({
      status: 400,
      body: { code: 'budget_out_of_range', min_daily_budget_micros: 5_000_000, currency_code: 'USD' },
    });
    expect(await update(campaign, 'budget', 20_000_001)).toMatchObject({
      status: 400,
      body: { code: 'budget_not_multiple', step_micros: 10_000 },
    });
    expect(await update(campaign, 'landing_page', 'ftp://bikes.example.com')).toMatchObject({
      status: 400,
      body: { code: 'landing_page_invalid' },
    });
    expect(await update(campaign, 'excluded_geo_targets', ['1'])).toMatchObject({
      status: 400,
      body: { code: 'geo_target_unknown', values: ['1'] },
    });
    expect((await rowOf(campaign)).daily_budget_micros).toBe(20_000_000);
  });

  it('refuses a budget in a currency without bounds', async () => {
    const other = await newScene(owner);
    const campaign = await newCampaign(other);
    await world.db
      .updateTable('ads_accounts')
      .set({ currency_code: 'XAF' })
      .where('app_id', '=', other.app.id)
      .execute();
    expect(await update(campaign, 'budget', 20_000_000, world, other)).toMatchObject({
      status: 400,
      body: { code: 'currency_unsupported' },
    });
  });

  it("changes locations; an empty list is the workspace's country", async () => {
    const campaign = await newLocatedCampaign([places.unitedStates]);
    const { workspace_id } = scene.app;
    await world.db.updateTable('workspaces').set({ country_code: 'CH' }).where('id', '=', workspace_id).execute();
    expect(await update(campaign, 'geo_targets', [])).toMatchObject({
      status: 200,
      body: { geo_targets: [resourceName(places.switzerland)] },
    });
    expect(await read(campaign)).toMatchObject({ locations: [resourceName(places.switzerland)] });
    expect((await update(campaign, 'excluded_geo_targets', [places.unitedStates])).status).toBe(200);
    expect(await read(campaign)).toMatchObject({ excludedLocations: [resourceName(places.unitedStates)] });
  });

  it('shows no campaign in the European Union that nobody has declared for it', async () => {
    const undeclared = { status: 400, body: { code: 'eu_declaration_required' } };
    const outside = await newLocatedCampaign([places.switzerland]);
    expect(await update(outside, 'geo_targets', [places.switzerland, places.france])).toMatchObject(undeclared);
    const inside = await newLocatedCampaign([places.germany]);
    expect((await update(inside, 'geo_targets', [places.france])).status).toBe(200);
    const excluded = await newLocatedCampaign([places.switzerland, places.france]);
    expect((await update(excluded, 'excluded_geo_targets', [places.france])).status).toBe(200);
    expect(await update(excluded, 'excluded_geo_targets', [])).toMatchObject(undeclared);
  });

  it('refuses locations at the live platform until they are imported', async () => {
    const live = await startSecondApp(world, {
      environment: {
        ADS_PLATFORM_URL: 'https://googleads.googleapis.com',
        ADS_PLATFORM_MANAGER_ID: platform.managerId,
        ADS_PLATFORM_CREDENTIALS: platform.credentials,
      },
    });
    const campaign = await newCampaign(scene);
    expect(await update(campaign, 'geo_targets', [places.france], live)).toMatchObject({
      status: 503,
      body: { code: 'locations_not_imported', retry_safe: false },
    });
  });

  it('refuses a removed campaign, one that was removed at the platform, and one whose launch is not confirmed', async () => {
    const campaign = await newCampaign(scene);
    await client.campaigns.remove(scene.customerId, campaign.platformId);
    for (const _ of ['by the platform', 'by our row'])
      expect(await update(campaign, 'name', 'Other bikes')).toMatchObject({
        status: 409,
        body: { code: 'campaign_removed' },
      });
    const open = await newCampaign(scene, { launch: 'unconfirmed' });
    expect(await update(open, 'budget', 30_000_000)).toMatchObject({
      status: 409,
      body: { code: 'launch_in_progress', launch_id: open.launch_id },
    });
  });

  it("answers with the platform's reasons if it refuses the change", async () => {
    const campaign = await newCampaign(scene);
    platform.setFaults({ call: 'mutate', fault: 'refuse', customer_id: scene.customerId });
    expect(await update(campaign, 'budget', 30_000_000)).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected', platform_reasons: [{ code: expect.any(String) }] },
    });
    expect((await rowOf(campaign)).daily_budget_micros).toBe(20_000_000);
  });

  it('keeps how much the platform asks for at least', async () => {
    const campaign = await newCampaign(scene);
    const { workspace_id, id: app_id } = scene.app;
    // A budget below our own minimum, which is higher than the platform's.
    const content = { change: { field: 'dailyBudgetMicros', value: 500_000 }, row: {} };
    await world.db
      .insertInto('ads_changes')
      .values({
        id: campaign.id,
        workspace_id,
        app_id,
        campaign_id: campaign.id,
        kind: 'update',
        content: JSON.stringify(content),
        state: 'recorded',
        is_by_caller: true,
        created_date: new Date(),
        due_at: new Date(),
      })
      .execute();
    await expect
      .poll(() => world.db.selectFrom('ads_changes').where('id', '=', campaign.id).selectAll().executeTakeFirst())
      .toMatchObject({
        state: 'refused',
        failure: { platform_reasons: [{ minimum_daily_budget_micros: 1_000_000 }] },
      });
  });

  it('continues without an answer; updates keep their order, and a pause does not wait for them', async () => {
    const campaign = await newCampaign(scene);
    platform.setFaults({ call: 'mutate', fault: 'drop_before', customer_id: scene.customerId, times: 1 });
    expect(await update(campaign, 'budget', 30_000_000)).toMatchObject({
      status: 409,
      body: { code: 'ad_platform_timeout', retry_safe: false, campaign_state: 'unknown' },
    });
    const second = update(campaign, 'budget', 25_000_000);
    const path = `/api/apps/${scene.app.id}/ads-platform/campaigns/${campaign.id}/pause`;
    expect((await world.call('POST', path, { as: scene.as })).status).toBe(200);
    const changes = await world.db
      .selectFrom('ads_changes')
      .where('campaign_id', '=', campaign.id)
      .orderBy('number')
      .select(['kind', 'state'])
      .execute();
    expect(changes.find(({ kind }) => kind === 'pause')).toMatchObject({ state: 'applied' });
    expect(changes[0]).toMatchObject({ kind: 'update', state: 'unknown' });
    expect((await second).body).toMatchObject({ daily_budget_micros: 25_000_000 });
    expect(await read(campaign)).toMatchObject({ dailyBudgetMicros: 25_000_000, status: 'PAUSED' });
  });

  it('is given up if workers fail again and again because of it', async () => {
    const campaign = await newCampaign(scene);
    const { workspace_id, id: app_id } = scene.app;
    await world.db
      .insertInto('ads_changes')
      .values({
        id: campaign.id,
        workspace_id,
        app_id,
        campaign_id: campaign.id,
        kind: 'update',
        content: '{}', // nothing to send
        state: 'recorded',
        failures: 20,
        is_by_caller: true,
        created_date: new Date(),
        due_at: new Date(),
      })
      .execute();
    await expect
      .poll(() => world.db.selectFrom('ads_changes').where('id', '=', campaign.id).selectAll().executeTakeFirst())
      .toMatchObject({ state: 'refused', failure: { code: 'internal_error' } });
  });
});
