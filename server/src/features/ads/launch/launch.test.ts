// Tests launches through the API, with a worker and the sandbox's ad platform (docs/api/ads.md#launching): responses,
// the order of refusals, and repeated requests.
import { beforeEach, describe, expect, it } from 'vitest';
import { writeAdTexts } from '../../../../../sandbox/src/ad-texts.ts';
import { addCard, listCreated, places, startLaunchWorld } from '../../../../test/support/launching.ts';
import { startSecondApp } from '../../../../test/support/world.ts';
import { maxUnpaidADay } from '../../../core/credits/unpaid.ts';
import { newId } from '../../../kit/ids.ts';
import { identify, toLaunchKey } from './identity.ts';

const { world, platform, provider, model, scene, campaign, imageUrl } = await startLaunchWorld();
await world.startWorker();
const workerless = await startSecondApp(world, { adsTimes: { callerWaitMs: 0 } });

beforeEach(async () => {
  platform.setFaults();
  provider.setFaults();
  model.behave('well');
  model.script((request) => writeAdTexts(request) ?? {});
  await world.resetRateLimits();
});

type Scene = Awaited<ReturnType<typeof scene>>;
const createdBy = (launchKey: string) => listCreated(platform).filter(({ name }) => name.includes(launchKey));
const listLaunches = ({ app }: Scene) =>
  world.db.selectFrom('ads_launches').where('app_id', '=', app.id).orderBy('generation').selectAll().execute();
const listRows = ({ app }: Scene) =>
  world.db.selectFrom('ads_campaigns').where('app_id', '=', app.id).selectAll().execute();
/** The operations in the last request that created a campaign. */
function lastOperations(): Record<string, { create?: Record<string, unknown>; update?: Record<string, unknown> }>[] {
  const sent = platform.journal.filter(
    ({ event, body }) => event === 'received' && JSON.stringify(body).includes('campaignOperation":{"create'),
  );
  const { body } = sent.at(-1) ?? {};
  return (body as { mutateOperations: never[] }).mutateOperations;
}
const operationsOf = (name: string) =>
  lastOperations().flatMap((each) => (each[name] ? [each[name].create ?? each[name].update] : []));

describe('launchCampaign', () => {
  it('creates the account and a campaign, paused while tracking is not verified', async () => {
    const here = await scene();
    const got = await here.launch({}, { body: { timezone: 'Europe/Paris' } });
    expect(got.status, got.text).toBe(200);
    expect(got.headers['x-ignored-fields']).toBeUndefined();
    expect(got.body.account).toMatchObject({ status: 'ACTIVE', timezone: 'Europe/Paris', currency_code: 'USD' });
    const [launch] = await listLaunches(here);
    expect(launch).toMatchObject({ state: 'held', account_created: true, is_current: true, due_at: null });
    expect(got.body.campaign).toMatchObject({
      campaign_name: 'Autumn',
      status: 'PAUSED',
      daily_budget_micros: 20_000_000,
      landing_page: 'https://shop.example.com/',
      geo_targets: [`geoTargetConstants/${places.unitedStates}`],
      phone_number: '',
      review_status: 'REVIEW_IN_PROGRESS',
      primary_status_reasons: ['SERVICE_TRACKING_PENDING'],
    });
    expect(got.body.campaign.platform_campaign_id).toMatch(/^\d+$/);
    const name = `Autumn [${launch?.launch_key}]`;
    expect(createdBy(launch?.launch_key ?? '')).toMatchObject([{ name, status: 'PAUSED' }]);
  });

  it('enables the campaign if tracking is verified, and only after it was listed with its id', async () => {
    const here = await scene({ tracked: true });
    const got = await here.launch();
    expect(got.status, got.text).toBe(200);
    expect(got.body.campaign).toMatchObject({ status: 'ENABLED', primary_status_reasons: [] });
    const [launch] = await listLaunches(here);
    const read = await here.readLaunch(launch?.id ?? '');
    expect(read.body).toMatchObject({
      launch_id: launch?.id,
      state: 'live',
      campaign_id: got.body.campaign.id,
      campaign_state: 'live',
      next_action: 'none',
    });
    expect(read.body.steps.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome])).toEqual([
      ['account', 'applied'],
      ['images', 'applied'],
      ['dry_run', 'applied'],
      ['create', 'applied'],
      ['enable', 'applied'],
    ]);
    expect(createdBy(launch?.launch_key ?? '')).toMatchObject([{ status: 'ENABLED' }]);
    for (const type of ['ads.launch.requested', 'ads.launch.ended']) {
      const path = `/api/workspace/audit-log?type=${type}&app_id=${here.app.id}`;
      expect((await world.call('GET', path, { as: here.as })).body.items).toHaveLength(1);
    }
  });

  it('keeps the campaign paused on request, with each reason', async () => {
    const [tracked, untracked] = [await scene({ tracked: true }), await scene()];
    const one = await tracked.launch({ start_paused: true });
    expect(one.body.campaign).toMatchObject({ status: 'PAUSED', primary_status_reasons: ['SERVICE_PAUSED_BY_USER'] });
    const both = await untracked.launch({ start_paused: true });
    expect(both.body.campaign.primary_status_reasons).toEqual(['SERVICE_PAUSED_BY_USER', 'SERVICE_TRACKING_PENDING']);
  });

  it('names what has no effect', async () => {
    const here = await scene();
    const more = { keyword_themes: ['bikes'], colour: 'red' };
    const got = await here.launch(more, { body: { currency: 'EUR', timezone: 'UTC' } });
    expect(got.headers['x-ignored-fields']?.split(',').sort()).toEqual([
      'campaign.colour',
      'campaign.keyword_themes',
      'currency',
    ]);
    const smart = { campaign_type: 'SMART', search_themes: ['bikes'], campaign_name: 'Second' };
    const second = await here.launch(smart, { body: { timezone: 'Europe/Paris' } });
    expect(second.status, second.text).toBe(200);
    expect(second.body.account.timezone).toBe('UTC');
    expect(second.headers['x-ignored-fields']?.split(',').sort()).toEqual([
      'campaign.logo_url',
      'campaign.long_headlines',
      'campaign.search_themes',
      'timezone',
    ]);
  });

  it('sends what was asked for, with defaults: a Smart campaign', async () => {
    const here = await scene();
    const got = await here.launch({ campaign_type: 'SMART', phone_number: '+12125550123', language_code: 'de' });
    expect(got.status, got.text).toBe(200);
    expect(JSON.stringify(operationsOf('campaignCriterionOperation'))).toContain('"freeFormKeywordTheme":"App"');
    const [setting] = operationsOf('smartCampaignSettingOperation');
    expect(setting).toMatchObject({
      businessName: 'App',
      advertisingLanguageCode: 'de',
      phoneNumber: { countryCode: 'US' },
    });
    expect(operationsOf('campaignOperation')).toMatchObject([
      { status: 'PAUSED', containsEuPoliticalAdvertising: 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING' },
    ]);
  });

  it('sends what was asked for: a Performance Max campaign with images, themes and days', async () => {
    const here = await scene();
    const got = await here.launch({
      marketing_image_urls: [imageUrl('191'), imageUrl('192')],
      square_image_urls: [imageUrl('300')],
      search_themes: ['city bikes'],
      business_name: 'Bike shop',
      geo_targets: [places.france, `geoTargetConstants/${places.unitedStates}`],
      excluded_geo_targets: [places.germany],
      contains_eu_political_advertising: 'CONTAINS_EU_POLITICAL_ADVERTISING',
      start_date: '2999-01-01',
      end_date: '2999-02-01',
    });
    expect(got.status, got.text).toBe(200);
    const links = JSON.stringify(operationsOf('assetGroupAssetOperation'));
    expect(links.match(/"MARKETING_IMAGE"/g)).toHaveLength(2);
    expect(links.match(/"SQUARE_MARKETING_IMAGE"/g)).toHaveLength(1);
    expect(JSON.stringify(operationsOf('assetGroupSignalOperation'))).toContain('city bikes');
    const criteria = JSON.stringify(operationsOf('campaignCriterionOperation'));
    for (const id of [places.france, places.unitedStates, places.germany]) expect(criteria).toContain(`/${id}"`);
    expect(JSON.stringify(operationsOf('campaignOperation'))).toMatch(/2999-01-01.*2999-02-01/);
    expect(got.body.campaign.geo_targets).toHaveLength(2);
  });

  it('lets the model write the texts that are missing', async () => {
    const here = await scene();
    const got = await here.launch({ headlines: null, descriptions: null, business_description: 'Repairs of bicycles' });
    expect(got.status, got.text).toBe(200);
    const texts = operationsOf('assetOperation').flatMap((asset) => (asset?.textAsset as { text: string })?.text ?? []);
    expect(texts).toContain('Bikes for everybody in town'); // sent by the caller
    expect(texts.length).toBeGreaterThan(6);
  });

  it('uses a generated image of the app before it draws one', async () => {
    const here = await scene();
    await world.call('POST', here.at('assets/generate'), { as: here.as, body: { channel_type: 'SEARCH' } });
    const got = await here.launch();
    expect(got.status, got.text).toBe(200);
    const names = await world.db
      .selectFrom('ads_assets')
      .where('app_id', '=', here.app.id)
      .where('kind', '=', 'image')
      .select('file_name')
      .execute();
    const [first] = names;
    const image = await fetch(`${world.url}/api/ads-platform/images/${first?.file_name}`);
    const data = Buffer.from(await image.arrayBuffer()).toString('base64');
    expect(JSON.stringify(operationsOf('assetOperation'))).toContain(data);
  });

  it('names the reasons of the platform, and creates nothing but the account', async () => {
    const here = await scene();
    platform.setFaults({ call: 'mutate', fault: 'refuse', times: 1 });
    const got = await here.launch();
    const reason = { code: 'contextError.OPERATION_NOT_PERMITTED_FOR_CONTEXT', message: 'Refused on purpose.' };
    expect(got).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected', account_created: true, platform_reasons: [reason] },
    });
    expect(await listRows(here)).toEqual([]);
    const [launch] = await listLaunches(here);
    const read = await here.readLaunch(launch?.id ?? '');
    expect(read.body).toMatchObject({
      state: 'refused',
      campaign_id: null,
      campaign_state: 'absent',
      next_action: 'fix_input',
    });
    // The draft is free for another launch.
    expect((await here.launch()).status).toBe(200);
    expect((await listLaunches(here)).map(({ generation, is_current }) => [generation, is_current])).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  it.each([
    ['a logo that is not there', { logo_url: imageUrl('none') }, 'SERVICE_LOGO_URL_NOT_FETCHED'],
    ['an image that is too large', { square_image_urls: [imageUrl('0')] }, 'SERVICE_SQUARE_IMAGE_URLS_NOT_FETCHED'],
    [
      'an image at a private address',
      { marketing_image_urls: ['https://10.0.0.1/x.png'] },
      'SERVICE_MARKETING_IMAGE_URLS_NOT_FETCHED',
    ],
  ])('refuses %s once the account exists', async (_what, more, code) => {
    const here = await scene();
    const got = await here.launch(more);
    expect(got).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected', account_created: true, platform_reasons: [{ code }] },
    });
    // The detail must not claim that the platform refused the request.
    expect(got.body.detail).toMatch(/^The advertising account exists, but no campaign was created./);
    expect(createdBy((await listLaunches(here))[0]?.launch_key ?? '')).toEqual([]);
    expect((await world.call('GET', here.at('accounts'), { as: here.as })).status).toBe(200);
  });
});

describe('refusals of a launch', () => {
  it('without a card: 402, and nothing is created', async () => {
    const here = await scene({ card: false });
    expect(await here.launch()).toMatchObject({
      status: 402,
      body: { code: 'payment_method_required', retry_safe: true },
    });
    expect(await listLaunches(here)).toEqual([]);
    await addCard(world, here.as);
    expect((await here.launch()).status).toBe(200);
  });

  it('while the payment provider does not answer: 503', async () => {
    const here = await scene();
    provider.setFaults({ call: 'read', fault: 'error_before' });
    const got = await here.launch();
    expect(got).toMatchObject({ status: 503, body: { code: 'payment_provider_unavailable', retry_safe: true } });
    expect(got.headers['retry-after']).toBeDefined();
    expect(await listLaunches(here)).toEqual([]);
  });

  it('while the workspace or the account is on hold: 409; a closed account: 402', async () => {
    const here = await scene();
    const customerId = (await here.launch()).body.account.platform_customer_id;
    const again = () => {
      world.clock.aheadMs += 61_000; // the account's status is read at most once a minute
      return here.launch({ draft_id: newId() });
    };
    platform.setAccount(customerId, { billing_status: 'CANCELLED' });
    expect(await again()).toMatchObject({
      status: 409,
      body: { code: 'account_billing_hold', campaign_state: 'absent', retry_safe: true },
    });
    const setHold = (billing_hold: boolean) =>
      world.db.updateTable('workspaces').set({ billing_hold }).where('id', '=', here.app.workspace_id).execute();
    await setHold(true);
    expect(await again()).toMatchObject({
      status: 409,
      body: { code: 'workspace_billing_hold', campaign_state: 'absent', retry_safe: true },
    });
    await setHold(false);
    platform.setAccount(customerId, { billing_status: 'APPROVED' });
    world.clock.aheadMs += 61_000;
    await world.call('GET', here.at('accounts'), { as: here.as });
    platform.setAccount(customerId, { status: 'CANCELED' });
    expect(await again()).toMatchObject({ status: 402, body: { code: 'account_not_in_good_standing' } });
    platform.setAccount(customerId, { status: 'ENABLED' });
    expect((await again()).status).toBe(200);
  });

  it('without texts, while the model is unavailable or not configured: 503', async () => {
    const here = await scene();
    model.behave(500);
    const texts = { headlines: null };
    expect(await here.launch(texts)).toMatchObject({
      status: 503,
      body: { code: 'model_unavailable', retry_safe: true },
    });
    const without = await startSecondApp(world, { environment: { MODEL_URL: '' } });
    const body = { campaign: campaign(texts) };
    const got = await without.call('POST', here.at('launch'), { as: here.as, body });
    expect(got).toMatchObject({ status: 503, body: { code: 'model_not_configured', retry_safe: false } });
    expect(await listLaunches(here)).toEqual([]);
  });

  it('without texts, once the model was asked for those of 20 launches of the app today: 429', async () => {
    const here = await scene();
    const count = () =>
      world.db
        .selectFrom('unpaid_model_work')
        .where('subject_id', '=', here.app.id)
        .select(['kind', 'times'])
        .execute();
    model.behave(500);
    await here.launch({ headlines: null });
    expect(await count()).toEqual([{ kind: 'campaign_text', times: 0 }]);
    await world.db
      .updateTable('unpaid_model_work')
      .set({ times: maxUnpaidADay.campaign_text })
      .where('subject_id', '=', here.app.id)
      .execute();
    model.behave('well');
    const asked = model.requests.length;
    const got = await here.launch({ headlines: null });
    expect(got).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 20 } });
    expect(model.requests).toHaveLength(asked);
    expect((await here.launch()).status).toBe(200);
    expect(await count()).toEqual([{ kind: 'campaign_text', times: 20 }]);
  });

  it('while the ad platform cannot be reached: 503, and the model is asked before', async () => {
    const here = await scene();
    await world.call('POST', here.at('accounts/ensure-for-tracking'), { as: here.as, body: {} });
    platform.setFaults({ call: '*', fault: 'error_before' });
    const other = await startSecondApp(world);
    const launch = (more: object = {}) =>
      other.call('POST', here.at('launch'), { as: here.as, body: { campaign: campaign(more) } });
    const got = await launch();
    model.behave(500);
    expect(await launch({ headlines: null })).toMatchObject({ status: 503, body: { code: 'model_unavailable' } });
    expect(got).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable', retry_safe: true } });
    expect(await listLaunches(here)).toEqual([]);
  });

  it('come in the documented order', async () => {
    const here = await scene();
    const launched = { draft_id: 'launched' };
    expect((await here.launch(launched)).status).toBe(200);
    provider.setFaults({ call: 'read', fault: 'error_before' });
    await world.db
      .updateTable('workspaces')
      .set({ billing_hold: true })
      .where('id', '=', here.app.workspace_id)
      .execute();
    model.behave(500);
    platform.setFaults({ call: '*', fault: 'error_before' });
    const refused = async (more: object) => (await here.launch({ headlines: null, ...more })).body.code;
    expect(await refused({ ...launched, logo_url: null })).toBe('logo_required');
    expect(await refused(launched)).toBe('already_launched');
    expect(await refused({ draft_id: 'other' })).toBe('workspace_billing_hold');
    await world.db
      .updateTable('workspaces')
      .set({ billing_hold: false })
      .where('id', '=', here.app.workspace_id)
      .execute();
    expect(await refused({ draft_id: 'other' })).toBe('payment_provider_unavailable');
    provider.setFaults();
    expect(await refused({ draft_id: 'other' })).toBe('model_unavailable');
  });
});

describe('the same launch again', () => {
  it('without a key: 409 with the campaign that exists, and no second one', async () => {
    const [paused, live] = [await scene(), await scene({ tracked: true })];
    for (const [here, campaign_state] of [
      [paused, 'paused'],
      [live, 'live'],
    ] as const) {
      const { body } = await here.launch();
      const [launch] = await listLaunches(here);
      expect(await here.launch()).toMatchObject({
        status: 409,
        body: {
          code: 'already_launched',
          campaign_state,
          campaign_id: body.campaign.id,
          launch_id: launch?.id,
          retry_safe: false,
        },
      });
      expect(createdBy(launch?.launch_key ?? '')).toHaveLength(1);
    }
    expect((await paused.launch({ campaign_name: 'Another' })).status).toBe(200);
  });

  it('with the same key: the campaign as it is', async () => {
    const here = await scene();
    const first = await here.launch({}, { key: 'k-1' });
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const again = await here.launch({}, { key: 'k-1' });
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(again.body).toEqual(first.body);
    expect(await here.launch({ campaign_name: 'Other' }, { key: 'k-1' })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    // A different key is a different draft.
    expect((await here.launch({}, { key: 'k-2' })).status).toBe(200);
    expect(await listRows(here)).toHaveLength(2);
  });

  it('with the same key: names a time zone without effect only if the account existed before', async () => {
    const here = await scene();
    const body = { timezone: 'Europe/Paris' };
    const ignored = async (key: string) => (await here.launch({}, { key, body })).headers['x-ignored-fields'];
    expect([await ignored('new'), await ignored('new')]).toEqual([undefined, undefined]);
    expect([await ignored('old'), await ignored('old')]).toEqual(['timezone', 'timezone']);
  });

  it('with the same key after a refusal: a fresh try, which is then the one that counts', async () => {
    const here = await scene();
    platform.setFaults({ call: 'mutate', fault: 'refuse', times: 1 });
    expect((await here.launch({}, { key: 'k-3' })).status).toBe(400);
    const second = await here.launch({}, { key: 'k-3' });
    expect(second.status, second.text).toBe(200);
    const third = await here.launch({}, { key: 'k-3' });
    expect(third.body).toEqual(second.body);
    expect(await listRows(here)).toHaveLength(1);
  });

  it('with the same draft: one campaign, whatever else is sent', async () => {
    const here = await scene();
    const first = await here.launch({ draft_id: 'draft-1' }, { key: 'a' });
    expect(first.status).toBe(200);
    const other = await here.launch({ draft_id: 'draft-1', campaign_name: 'Renamed' }, { key: 'b' });
    expect(other).toMatchObject({
      status: 409,
      body: { code: 'already_launched', campaign_id: first.body.campaign.id },
    });
  });

  it('while it runs: 409 launch_in_progress, with and without a key', async () => {
    const here = await scene();
    platform.setFaults({ call: 'mutate', fault: 'delay', delay_ms: 1_500, times: 1 });
    const first = here.launch({ draft_id: 'slow' }, { key: 'slow' });
    await expect.poll(async () => (await listLaunches(here)).length).toBe(1);
    const about = { code: 'launch_in_progress', campaign_state: 'unknown', retry_safe: false };
    const [launch] = await listLaunches(here);
    const body = { ...about, campaign_id: launch?.campaign_id, launch_id: launch?.id };
    expect(await here.launch({ draft_id: 'slow' })).toMatchObject({ status: 409, body });
    expect(await here.launch({ draft_id: 'slow' }, { key: 'slow' })).toMatchObject({ status: 409, body });
    expect((await here.readLaunch(launch?.id ?? '')).body.next_action).toBe('reconciling');
    expect((await first).status).toBe(200);
    expect((await here.launch({ draft_id: 'slow' }, { key: 'slow' })).status).toBe(200);
  });

  it('by ten clients at once: one campaign', async () => {
    const here = await scene({ tracked: true });
    const answers = await Promise.all(Array.from({ length: 10 }, () => here.launch()));
    const codes = answers.map(({ status, body }) => (status === 200 ? 200 : body.code)).sort();
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.every((code) => [200, 'launch_in_progress', 'already_launched'].includes(code))).toBe(true);
    const [launch, ...others] = await listLaunches(here);
    expect(others).toEqual([]);
    expect(createdBy(launch?.launch_key ?? '')).toHaveLength(1);
    expect(await listRows(here)).toHaveLength(1);
  });

  it('after the campaign was removed: a new one', async () => {
    const here = await scene();
    const draft = { draft_id: 'removed' };
    const first = await here.launch(draft, { key: 'r-1' });
    const path = here.at(`campaigns/${first.body.campaign.id}`);
    expect((await world.call('DELETE', path, { as: here.as })).status).toBe(200);
    const replayed = await here.launch(draft, { key: 'r-1' });
    expect(replayed).toMatchObject({ status: 200, body: { campaign: { status: 'REMOVED' } } });
    const second = await here.launch(draft, { key: 'r-2' });
    expect(second.status, second.text).toBe(200);
    const launches = await listLaunches(here);
    expect(launches.map(({ generation, is_current }) => [generation, is_current])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(new Set(launches.map(({ launch_key }) => launch_key)).size).toBe(2);
  });
});

describe('a launch that takes longer than the caller waits', () => {
  it('says whether something was sent for the campaign', async () => {
    const here = await scene();
    const about = { code: 'ad_platform_timeout', campaign_state: 'unknown', retry_safe: false };
    const body = { campaign: campaign() };
    const unsent = await workerless.call('POST', here.at('launch'), { as: here.as, body });
    expect(unsent).toMatchObject({ status: 409, body: about });
    expect(unsent.body.detail).toMatch(
      /^The launch is still in progress, and nothing has been sent to the ad platform yet\./,
    );
    await expect.poll(async () => (await listLaunches(here))[0]?.state).toBe('held');
    platform.setFaults({ call: 'mutate', fault: 'drop_after', after: 1, times: 1 });
    const unknown = await here.launch({ draft_id: 'unknown' });
    expect(unknown).toMatchObject({ status: 409, body: about });
    expect(unknown.body.detail).toContain(
      "may be live and spending. Don't send the request again; check the campaign list",
    );
  });
});

describe('createCampaign', () => {
  it('answers with the campaign alone, and replays it', async () => {
    const here = await scene();
    await world.call('POST', here.at('accounts/ensure-for-tracking'), { as: here.as, body: {} });
    const sent = { as: here.as, body: campaign({ keyword_themes: ['x'] }), headers: { 'idempotency-key': 'c-1' } };
    const got = await world.call('POST', here.at('campaigns'), sent);
    expect(got.status, got.text).toBe(200);
    expect(got.body).toMatchObject({ campaign_name: 'Autumn', status: 'PAUSED' });
    expect(got.headers['x-ignored-fields']).toBe('keyword_themes');
    expect((await world.call('POST', here.at('campaigns'), sent)).body).toEqual(got.body);
  });

  it('refuses as a launch does', async () => {
    const here = await scene({ card: false });
    await world.call('POST', here.at('accounts/ensure-for-tracking'), { as: here.as, body: {} });
    const create = (more: object = {}) =>
      world.call('POST', here.at('campaigns'), { as: here.as, body: campaign(more) });
    expect(await create({ logo_url: null })).toMatchObject({ status: 400, body: { code: 'logo_required' } });
    expect(await create()).toMatchObject({ status: 402, body: { code: 'payment_method_required' } });
    provider.setFaults({ call: 'read', fault: 'error_before' });
    await addCard(world, here.as);
    expect(await create()).toMatchObject({ status: 503, body: { code: 'payment_provider_unavailable' } });
    provider.setFaults();
    await create();
    expect(await create()).toMatchObject({ status: 409, body: { code: 'already_launched' } });
  });
});

describe('getLaunch', () => {
  it('answers 404 for a launch of another app, and for no id', async () => {
    const [here, other] = [await scene(), await scene()];
    await here.launch();
    const [launch] = await listLaunches(here);
    expect(await other.readLaunch(launch?.id ?? '')).toMatchObject({ status: 404, body: { code: 'launch_not_found' } });
    expect((await other.readLaunch('7')).status).toBe(404);
  });
});

describe('the identity of a launch', () => {
  const input = { campaign_name: 'A', campaign_type: 'SMART', daily_budget_micros: 1, landing_page: '' } as const;
  it('is the draft, else the key of the caller, else the content', () => {
    expect(identify({ ...input, draft_id: 'd' }, 'k', 'a')).toBe(
      identify({ ...input, campaign_name: 'B', draft_id: 'd' }, 'l', 'b'),
    );
    expect(identify(input, 'k', 'a')).toBe(identify({ ...input, campaign_name: 'B' }, 'k', 'a'));
    expect(identify(input, 'k', 'a')).not.toBe(identify(input, 'k', 'b'));
    expect(identify(input, undefined, 'a')).toBe(identify({ ...input }, undefined, 'b'));
    expect(identify(input, undefined, 'a')).not.toBe(identify({ ...input, campaign_name: 'B' }, undefined, 'a'));
    // A draft id and an identical key are different identities.
    expect(identify({ ...input, draft_id: 'k' }, undefined, 'a')).not.toBe(identify(input, 'k', 'a'));
  });

  it('has a key of ten characters in base 32, another for each generation', () => {
    const keys = [1, 2, 3].map((generation) => toLaunchKey('app', 'identity', generation));
    expect(new Set(keys).size).toBe(3);
    for (const key of keys) expect(key).toMatch(/^[A-Z2-7]{10}$/);
  });
});
