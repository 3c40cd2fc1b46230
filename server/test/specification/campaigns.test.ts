// Tests what the specification says about advertising accounts and campaigns: launching, changing and deleting them.
import { beforeEach, describe, expect, it } from 'vitest';
import { type LaunchScene, listCreated, places, startLaunchWorld } from '../support/launching.ts';
import { publishFiles } from '../support/published.ts';
import { expectInvalid, expectOk, integer, personalKey, text, time, workspaceKey } from './support.ts';

const { world, platform, provider, owner, scene, imageUrl } = await startLaunchWorld({
  adsTimes: { reconcileMs: 400, requestMs: 10_000, imagesMs: 8_000, watchMs: 2_000, resendMs: [100, 200, 400] },
  adPlatform: { changeTimeoutMs: 20_000, readTimeoutMs: 20_000 },
});
await world.startWorker();

beforeEach(async () => {
  platform.setFaults();
  provider.setFaults();
  await world.resetRateLimits();
});

type Body = Record<string, never>;
const get = async ({ at, as }: LaunchScene, path: string) => expectOk(await world.call('GET', at(path), { as }));
const listed = async (here: LaunchScene): Promise<Body[]> => (await get(here, 'campaigns')).items;
const remove = ({ at, as }: LaunchScene, id: string) => world.call('DELETE', at(`campaigns/${id}`), { as });
const smart = { campaign_type: 'SMART', keyword_themes: ['bike repair'], business_name: 'Bike shop' };
/** Launches a Smart campaign, because the images of others take long to draw. */
const launched = async (here: LaunchScene, more: object = {}) => expectOk(await here.launch({ ...smart, ...more }));
/** Counts what the ad platform was asked to change for an app, by the platform's own journal. */
const countCreated = (customerId: string) =>
  listCreated(platform).filter(({ customer_id }) => customer_id === customerId).length;

const live = await scene({ tracked: true });
const { account, campaign: first } = expectOk(await live.launch());
const declared = { contains_eu_political_advertising: 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING' };

/** Expects a 400, and that neither an account nor a campaign was created. */
async function expectRefused(more: object): Promise<void> {
  const here = await scene();
  const got = await here.launch(more);
  expect(got.status, got.text).toBe(400);
  expect(await listed(here)).toEqual([]);
  expect((await world.call('GET', here.at('accounts'), { as: here.as })).status).toBe(404);
}

describe('What the service does', () => {
  it('Through it a caller can launch and delete advertising campaigns for an app, search locations, get search-theme suggestions, read search-term reports, list generated creative, and build an instruction that installs conversion tracking', async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    expect(expectOk(await remove(here, made.id))).toEqual({ status: 'deleted' });
    const works = async (method: string, path: string, body?: object) =>
      expectOk(await world.call(method, here.at(path), { as: here.as, ...(body && { body }) }));
    expect((await works('GET', 'geo-targets/search?query=paris'))[0].name).toMatch(/^Paris/);
    expect(await works('POST', 'suggestions/search-themes', { business_name: 'Bikes' })).toHaveProperty(
      'search_themes',
    );
    expect(await works('GET', 'analytics/search-terms')).toEqual(expect.any(Array));
    expect(await works('GET', 'assets')).toEqual({ library: expect.any(Array) });
    const prompt = await works('POST', 'tracking-scan/build-bootstrap-prompt', { wire_events: true });
    expect(prompt.composer_prompt).toMatch(/\S/);
  });
});

describe('Resources and their fields: Advertising account', () => {
  it('id: string', async () => {
    expect(account.id).toEqual(text);
  });

  it('status: string; e.g. ACTIVE', async () => {
    expect(account.status).toBe('ACTIVE');
  });

  it('account_name: string', async () => {
    expect(account.account_name).toMatch(/\S/);
  });

  it('currency_code: string; derived by the service; not a request field', async () => {
    expect(account.currency_code).toBe((await get(live, 'launch-readiness')).currency_code);
    const here = await scene();
    const got = expectOk(await here.launch({}, { body: { currency_code: 'JPY', currency: 'JPY' } }));
    expect(got.account.currency_code).toBe(account.currency_code);
  });

  it('timezone: string; IANA name', async () => {
    const here = await scene();
    const got = expectOk(await here.launch({}, { body: { timezone: 'Pacific/Kiritimati' } }));
    expect(got.account.timezone).toBe('Pacific/Kiritimati');
  });

  it('platform_customer_id: string', async () => {
    expect(account.platform_customer_id).toMatch(/^\d+$/);
  });
});

describe('Resources and their fields: Advertising campaign', () => {
  it("id: string; the service's own campaign ID (used in paths)", async () => {
    expect(first.id).toEqual(text);
    expect(await get(live, `campaigns/${first.id}`)).toMatchObject({ id: first.id });
  });

  it("platform_campaign_id: string; the ad platform's ID, reported separately from id", async () => {
    expect(first.platform_campaign_id).toMatch(/^\d+$/);
    expect(first.platform_campaign_id).not.toBe(first.id);
    expect(listCreated(platform).map(({ id }) => id)).toContain(first.platform_campaign_id);
  });

  it('campaign_name: string', async () => {
    expect(first.campaign_name).toBe('Autumn');
  });

  it('campaign_type: string; SMART seen; a Performance Max type also exists', async () => {
    expect(first.campaign_type).toBe('PERFORMANCE_MAX');
    expect((await launched(await scene())).campaign.campaign_type).toBe('SMART');
  });

  it('status: string; ENABLED; REMOVED for a deleted campaign', async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    expect(made.status).toBe('ENABLED');
    expectOk(await remove(here, made.id));
    expect((await get(here, `campaigns/${made.id}`)).status).toBe('REMOVED');
  });

  it('daily_budget_micros: integer; micros of the account currency', async () => {
    expect(first.daily_budget_micros).toBe(20_000_000);
  });

  it('landing_page: string (URL)', async () => {
    expect(new URL(first.landing_page).href).toBe('https://shop.example.com/');
  });

  it('geo_targets: array of string; location IDs', async () => {
    const [france] = await get(live, 'geo-targets/search?query=france');
    const here = await scene();
    const made = (await launched(here, { geo_targets: [france.resource_name], ...declared })).campaign;
    expect(made.geo_targets).toEqual([france.resource_name]);
  });

  it('phone_number: string', async () => {
    expect(first.phone_number).toEqual(text);
    const made = (await launched(await scene(), { phone_number: '+4989123456' })).campaign;
    expect(made.phone_number).toBe('+4989123456');
  });

  it('review_status, serving_status, primary_status: string', async () => {
    expect(first).toMatchObject({ review_status: text, serving_status: text, primary_status: text });
  });

  it('primary_status_reasons: array of string', async () => {
    expect(first.primary_status_reasons).toEqual([]);
    const { primary_status_reasons } = (await launched(await scene())).campaign;
    expect(primary_status_reasons).toEqual([text]);
  });

  it('created_date, updated_date, learning_ends_at: date-time', async () => {
    expect(first).toMatchObject({ created_date: time, updated_date: time, learning_ends_at: time });
  });
});

describe('Resources and their fields: Location result (geo search)', () => {
  it('resource_name: string, the ID to pass in geo_targets', async () => {
    const [germany] = await get(live, 'geo-targets/search?query=germany');
    expect(germany.resource_name).toEqual(text);
    const made = await launched(await scene(), { geo_targets: [germany.resource_name], ...declared });
    expect(made.campaign.geo_targets).toEqual([germany.resource_name]);
  });
});

describe('States and transitions: Advertising campaign', () => {
  it('none, launch, success: ENABLED or paused; paused when conversion tracking is not yet wired', async () => {
    expect((await launched(await scene({ tracked: true }))).campaign.status).toBe('ENABLED');
    expect((await launched(await scene())).campaign.status).toBe('PAUSED');
  });

  it('paused (tracking pending), tracking verifies: ENABLED; the service enables it on its own', async () => {
    const here = await scene();
    const { campaign: waiting } = await launched(here);
    expect(waiting.status).toBe('PAUSED');
    await world.call('POST', here.at('tracking-scan/build-bootstrap-prompt'), { as: here.as, body: {} });
    const { script } = await get(here, 'tracking-script');
    const page = `<!doctype html><html lang="en"><head><title>Shop</title>${script}</head><body></body></html>`;
    await publishFiles(world, here.app, { 'dist/index.html': page }, here.as);
    await expect.poll(async () => (await get(here, `campaigns/${waiting.id}`)).status).toBe('ENABLED');
  });

  it('any, delete, success: REMOVED; permanent; still listed with past performance counted', async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    expectOk(await remove(here, made.id));
    expect(await listed(here)).toMatchObject([
      { id: made.id, status: 'REMOVED', impressions: integer, clicks: integer, cost_micros: integer },
    ]);
    const resumed = await world.call('POST', here.at(`campaigns/${made.id}/resume`), { as: here.as });
    expect(resumed.status).toBe(409);
    expect((await get(here, `campaigns/${made.id}`)).status).toBe('REMOVED');
  });

  it('The delete acknowledgement and the other single-campaign changes return a string naming the action: paused, resumed or deleted', async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    for (const [action, status] of [
      ['pause', 'paused'],
      ['resume', 'resumed'],
    ])
      expect(expectOk(await world.call('POST', here.at(`campaigns/${made.id}/${action}`), { as: here.as }))).toEqual({
        status,
      });
    expect(expectOk(await remove(here, made.id))).toEqual({ status: 'deleted' });
  });
});

describe('Endpoints: POST /api/apps/{app_id}/ads-platform/launch', () => {
  it("Creates the app's advertising account if missing, then a campaign on it", async () => {
    const here = await scene();
    expect((await world.call('GET', here.at('accounts'), { as: here.as })).status).toBe(404);
    const got = await launched(here);
    expect(await get(here, 'accounts')).toMatchObject({ id: got.account.id });
    const again = await launched(here, { campaign_name: 'Winter' });
    expect(again.account).toMatchObject({
      id: got.account.id,
      platform_customer_id: got.account.platform_customer_id,
    });
    expect(again.campaign.id).not.toBe(got.campaign.id);
  });

  it('This starts spending', async () => {
    const here = await scene({ tracked: true });
    const made = await launched(here);
    const created = listCreated(platform).find(({ id }) => id === made.campaign.platform_campaign_id);
    expect(created?.status).toBe('ENABLED');
    platform.advance(3 * 24 * 60 * 60 * 1000);
    const [row] = await listed(here);
    expect(row?.cost_micros).toBeGreaterThan(0);
  });

  it('Body: campaign (object, required; input fields of the create-campaign operation: campaign_name, campaign_type, daily_budget_micros, landing_page, keyword_themes (array of string), business_name, and also logo_url, search_themes, geo_targets as referred to elsewhere; the complete list of campaign input fields: not shown), timezone (string, IANA name, optional, default UTC; used only when the account does not yet exist and fixed afterwards)', async () => {
    const here = await scene();
    expectInvalid(await world.call('POST', here.at('launch'), { as: here.as, body: {} }), 'body', 'campaign');
    const full = { ...smart, geo_targets: [`geoTargetConstants/${places.unitedStates}`] };
    const got = expectOk(await here.launch(full));
    expect(got.account.timezone).toBe('UTC');
    const more = { search_themes: ['city bikes'], business_name: 'Bikes', geo_targets: [places.unitedStates] };
    const second = expectOk(await here.launch({ campaign_name: 'B', ...more }, { body: { timezone: 'Europe/Paris' } }));
    expect(second.account.timezone).toBe('UTC');
    expectInvalid(await here.launch({ campaign_name: 'C' }, { body: { timezone: 'Mars/Base' } }), 'body', 'timezone');
  });

  it('There is no currency field', async () => {
    const here = await scene();
    const got = expectOk(await here.launch({ currency_code: 'JPY' }, { body: { currency_code: 'JPY' } }));
    expect(got.account.currency_code).toBe('USD');
    expect(got.campaign).not.toHaveProperty('currency_code');
  });

  it('Send back the landing_page returned by the launch-readiness read; its currency_code is informational', async () => {
    const here = await scene();
    const { landing_page, currency_code } = await get(here, 'launch-readiness');
    const got = await launched(here, { landing_page });
    expect(got.campaign.landing_page).toBe(landing_page);
    expect(got.account.currency_code).toBe(currency_code);
  });

  it('Checks before anything is created, each failing with 400: a Performance Max campaign needs logo_url; budget within the per-currency range for the campaign type; business name length limit; targeting that can reach the EU needs an EU political-advertising declaration', async () => {
    await expectRefused({ logo_url: null });
    const bounds = await get(live, 'campaigns/budget-boundaries?currency_code=USD');
    await expectRefused({ daily_budget_micros: bounds.min_daily_budget_micros - bounds.step_micros });
    await expectRefused({ daily_budget_micros: bounds.max_daily_budget_micros + bounds.step_micros });
    await expectRefused({ business_name: 'x'.repeat(26) });
    await expectRefused({ geo_targets: [places.france] });
    for (const more of [
      { daily_budget_micros: bounds.min_daily_budget_micros, business_name: 'x'.repeat(25) },
      { daily_budget_micros: bounds.max_daily_budget_micros, geo_targets: [places.france], ...declared },
      { geo_targets: [places.switzerland] },
    ])
      expectOk(await (await scene()).launch(more));
    const smartBounds = await get(live, 'campaigns/budget-boundaries?currency_code=USD&campaign_type=SMART');
    await launched(await scene(), { daily_budget_micros: smartBounds.min_daily_budget_micros });
    await expectRefused({ ...smart, daily_budget_micros: smartBounds.min_daily_budget_micros - bounds.step_micros });
  });

  it('What only the ad platform can judge (an unfetchable logo, an uncrawlable landing page) fails after the account exists', async () => {
    const here = await scene();
    const got = await here.launch({ logo_url: imageUrl('missing') });
    expect(got.status).toBe(400);
    expect(await get(here, 'accounts')).toMatchObject({ status: 'ACTIVE' });
    expect((await listed(here)).filter(({ status }) => status !== 'REMOVED')).toEqual([]);
    const other = await scene();
    platform.setFaults({ call: 'mutate', fault: 'refuse', times: 1 });
    expect((await other.launch()).status).toBe(400);
    expect(await get(other, 'accounts')).toMatchObject({ status: 'ACTIVE' });
  });

  it('Launch is refused while the service cannot reach its payment provider to confirm a card; the readiness read reports that as payment_provider_unavailable', async () => {
    const here = await scene();
    provider.setFaults({ call: 'read', fault: 'error_before' });
    const refused = await here.launch();
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.text).toContain('payment_provider_unavailable');
    const readiness = await get(here, 'launch-readiness');
    expect(readiness.payment_provider_unavailable).toBe(true);
    expect(readiness.blockers).toContain('payment_provider_unavailable');
    provider.setFaults();
    await launched(here);
  });

  it('Response 200: {account, campaign} (objects as in Resources)', async () => {
    expect(account).toEqual({
      id: text,
      status: text,
      account_name: text,
      currency_code: text,
      timezone: text,
      platform_customer_id: text,
    });
    expect(first).toMatchObject({
      id: text,
      platform_campaign_id: text,
      campaign_name: text,
      campaign_type: text,
      status: text,
      daily_budget_micros: integer,
      landing_page: text,
      geo_targets: expect.any(Array),
      phone_number: text,
      review_status: text,
      serving_status: text,
      primary_status: text,
      primary_status_reasons: expect.any(Array),
      created_date: time,
      updated_date: time,
      learning_ends_at: time,
    });
  });
});

describe('Endpoints: DELETE /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}', () => {
  it('Deletes a campaign permanently and stops serving (pause is the temporary alternative)', async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    expectOk(await remove(here, made.id));
    const atPlatform = listCreated(platform).find(({ id }) => id === made.platform_campaign_id);
    expect(atPlatform?.status).toBe('REMOVED');
  });

  it("campaign_id is the service's id, not platform_campaign_id", async () => {
    const here = await scene({ tracked: true });
    const { campaign: made } = await launched(here);
    expect((await remove(here, made.platform_campaign_id)).status).toBe(404);
    expect((await get(here, `campaigns/${made.id}`)).status).toBe('ENABLED');
    expectOk(await remove(here, made.id));
  });

  it('Response 200: {status} (string naming the action applied)', async () => {
    const here = await scene();
    const { campaign: made } = await launched(here);
    expect(expectOk(await remove(here, made.id)).status).toBe('deleted');
    expect(expectOk(await remove(here, made.id)).status).toBe('deleted');
  });
});

describe('Errors', () => {
  it('Launch campaign: 400; Performance Max without logo_url; budget outside range; business name too long; EU reach without declaration; nothing is created', async () => {
    await expectRefused({ logo_url: null });
    await expectRefused({ daily_budget_micros: 10_000 });
    await expectRefused({ daily_budget_micros: 1_000_000_000_000_000 });
    await expectRefused({ business_name: 'A business name of more than twenty-five letters' });
    await expectRefused({ geo_targets: [places.germany] });
  });

  it('Launch campaign: 409; workspace or account on billing hold (fix billing, then retry); campaign already launched from this draft (retry creates no second one); request to the ad platform timed out after being sent (campaign may be live and spending: do not retry, read the campaign list first)', async () => {
    const here = await scene({ tracked: true });
    const made = await launched(here, { draft_id: 'spring' });
    const customerId = made.account.platform_customer_id;
    expect((await here.launch({ ...smart, draft_id: 'spring' })).status).toBe(409);
    expect(countCreated(customerId)).toBe(1);
    const setHold = (billing_hold: boolean) =>
      world.db.updateTable('workspaces').set({ billing_hold }).where('id', '=', here.app.workspace_id).execute();
    await setHold(true);
    expect((await here.launch({ ...smart, draft_id: 'summer' })).status).toBe(409);
    await setHold(false);
    platform.setAccount(customerId, { billing_status: 'CANCELLED' });
    world.clock.aheadMs += 61_000; // the account is read at most once a minute
    expect((await here.launch({ ...smart, draft_id: 'summer' })).status).toBe(409);
    platform.setAccount(customerId, { billing_status: 'APPROVED' });
    world.clock.aheadMs += 61_000;
    await launched(here, { draft_id: 'summer' });
    platform.setFaultsOf(
      customerId,
      { call: 'mutate', after: 1, times: 1, fault: 'drop_after' },
      { call: 'search', fault: 'error_before' },
    );
    const unknown = await here.launch({ ...smart, draft_id: 'autumn' });
    expect(unknown.status, unknown.text).toBe(409);
    platform.setFaultsOf(customerId);
    expect((await listed(here)).length).toBe(3);
  });

  it('Delete campaign: 403; workspace API key', async () => {
    const here = await scene();
    const { campaign: made } = await launched(here);
    const as = await workspaceKey(world, here.app.workspace_id);
    expect((await remove({ ...here, as }, made.id)).status).toBe(403);
    const headers = await personalKey(world, owner);
    expectOk(await world.call('DELETE', here.at(`campaigns/${made.id}`), { headers }));
  });

  it('Delete campaign: 409; request to the ad platform timed out after being sent; the change may or may not have been applied; read the campaign before retrying', async () => {
    const here = await scene({ tracked: true });
    const made = await launched(here);
    const customerId = made.account.platform_customer_id;
    platform.setFaultsOf(customerId, { call: 'mutate', fault: 'drop_before' });
    const got = await remove(here, made.campaign.id);
    expect(got.status, got.text).toBe(409);
    platform.setFaultsOf(customerId);
    await expect.poll(async () => (await get(here, `campaigns/${made.campaign.id}`)).status).toBe('REMOVED');
  });
});
