// Tests launches that are refused before anything is sent, in the order given in docs/api/ads.md#launching. No worker
// runs, because no launch gets that far.
import { beforeEach, describe, expect, it } from 'vitest';
import { listCreated, places, startLaunchWorld } from '../../../../test/support/launching.ts';
import { startSecondApp } from '../../../../test/support/world.ts';
import { checkLandingPage } from './input.ts';

const { world, platform, scene, campaign, imageUrl } = await startLaunchWorld({ adsTimes: { callerWaitMs: 0 } });
const { launch, app, as, at } = await scene();

beforeEach(() => world.resetRateLimits());

/** Expects that nothing was recorded or sent. */
async function expectNothing(): Promise<void> {
  expect(await world.db.selectFrom('ads_launches').selectAll().execute()).toEqual([]);
  expect(await world.db.selectFrom('ads_campaigns').selectAll().execute()).toEqual([]);
  expect(listCreated(platform)).toEqual([]);
}

describe('the fields of a campaign', () => {
  const long = 'x'.repeat(31);
  it.each<[string, object, object[]]>([
    ['a name', { campaign_name: ' ' }, [{ loc: ['body', 'campaign', 'campaign_name'], type: 'string_too_short' }]],
    ['a name of 120 characters', { campaign_name: 'x'.repeat(121) }, [{ type: 'string_too_long' }]],
    ['a known type', { campaign_type: 'SEARCH' }, [{ type: 'enum' }]],
    ['a whole budget', { daily_budget_micros: 1.5 }, [{ type: 'int_from_float' }]],
    ['a numeric budget', { daily_budget_micros: '5' }, [{ type: 'int_type' }]],
    ['a budget', { daily_budget_micros: null }, [{ type: 'missing' }]],
    ['a business name that is not empty', { business_name: '' }, [{ type: 'string_too_short' }]],
    ['a description of 2,000 characters', { business_description: 'x'.repeat(2_001) }, [{ type: 'string_too_long' }]],
    ['10 themes', { search_themes: Array(11).fill('bikes') }, [{ type: 'too_long' }]],
    ['themes of 80 characters', { keyword_themes: ['x'.repeat(81)] }, [{ type: 'string_too_long' }]],
    ['search themes of 10 words', { search_themes: ['a b c d e f g h i j k'] }, [{ type: 'value_error' }]],
    ['locations by their ids', { geo_targets: ['Paris'] }, [{ type: 'string_pattern_mismatch' }]],
    ['100 locations', { excluded_geo_targets: Array(101).fill('1') }, [{ type: 'too_long' }]],
    ['a known language', { language_code: 'tlh' }, [{ type: 'enum' }]],
    ['an international number', { phone_number: '089 1234' }, [{ type: 'string_pattern_mismatch' }]],
    ['an https logo', { logo_url: 'http://shop.example.com/logo.png' }, [{ type: 'url_scheme' }]],
    ['three headlines', { headlines: ['One', 'Two'] }, [{ type: 'too_short' }]],
    ['headlines of 30 characters', { headlines: ['One', 'Two', long] }, [{ type: 'string_too_long' }]],
    ['headlines of 30 units', { headlines: ['One', 'Two', '自'.repeat(16)] }, [{ type: 'string_too_long' }]],
    ['a short headline', { headlines: Array(3).fill('x'.repeat(16)) }, [{ type: 'value_error' }]],
    ['a short description', { descriptions: Array(2).fill('x'.repeat(61)) }, [{ type: 'value_error' }]],
    ['https images', { marketing_image_urls: ['ftp://a.example/b'] }, [{ type: 'url_scheme' }]],
    ['20 images', { square_image_urls: Array(21).fill('https://a.example/b') }, [{ type: 'too_long' }]],
    ['a real day', { start_date: '2026-02-30' }, [{ type: 'date_parsing' }]],
    [
      'a start that is not past',
      { start_date: '2020-01-01' },
      [{ loc: ['body', 'campaign', 'start_date'], type: 'value_error' }],
    ],
    [
      'an end that is not past',
      { end_date: '2020-01-01' },
      [{ loc: ['body', 'campaign', 'end_date'], type: 'value_error' }],
    ],
    ['an end after the start', { start_date: '2999-01-02', end_date: '2999-01-01' }, [{ type: 'value_error' }]],
    ['a known declaration', { contains_eu_political_advertising: 'NO' }, [{ type: 'enum' }]],
    ['a draft id without spaces', { draft_id: 'a b' }, [{ type: 'string_pattern_mismatch' }]],
  ])('need %s', async (_need, more, detail) => {
    const got = await launch(more);
    expect(got, got.text).toMatchObject({ status: 422, body: { detail } });
  });

  it('need a time zone that exists', async () => {
    const got = await launch({}, { body: { timezone: 'Mars/Olympus' } });
    const detail = [{ loc: ['body', 'timezone'], type: 'value_error' }];
    expect(got).toMatchObject({ status: 422, body: { detail } });
  });

  it('are refused in the flat body of createCampaign, too', async () => {
    await world.call('POST', at('accounts/ensure-for-tracking'), { as, body: {} });
    const got = await world.call('POST', at('campaigns'), { as, body: campaign({ start_date: '2020-01-01' }) });
    expect(got).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'start_date'], type: 'value_error' }] },
    });
  });
});

describe('checks before anything is created', () => {
  const bounds = { min_daily_budget_micros: 5_000_000, max_daily_budget_micros: 10_000_000_000, currency_code: 'USD' };
  it.each<[string, object, string, object]>([
    ['a Performance Max campaign needs a logo', { logo_url: null }, 'logo_required', {}],
    ['a landing page is absolute', { landing_page: '/shop' }, 'landing_page_invalid', {}],
    ['a landing page is for the web', { landing_page: 'ftp://shop.example.com/' }, 'landing_page_invalid', {}],
    ['a landing page has two slashes', { landing_page: 'https:shop.example.com' }, 'landing_page_invalid', {}],
    ['a landing page has no spaces', { landing_page: ' https://shop.example.com/' }, 'landing_page_invalid', {}],
    ['a landing page has no lines', { landing_page: 'https://shop.exam\nple.com/' }, 'landing_page_invalid', {}],
    ['a landing page has no user', { landing_page: 'https://a:b@shop.example.com/' }, 'landing_page_invalid', {}],
    [
      'a landing page has 2,048 characters',
      { landing_page: `https://a.example/${'x'.repeat(2_048)}` },
      'landing_page_invalid',
      {},
    ],
    ['a business name has 25 units', { business_name: 'x'.repeat(26) }, 'business_name_too_long', { limit: 25 }],
    ['a wide character counts twice', { business_name: '自'.repeat(13) }, 'business_name_too_long', { limit: 25 }],
    ['a business name of any length is too long', { business_name: 'x'.repeat(90_000) }, 'business_name_too_long', {}],
    ['a budget is not too small', { daily_budget_micros: 4_990_000 }, 'budget_out_of_range', bounds],
    ['a budget of 0 is too small', { daily_budget_micros: 0 }, 'budget_out_of_range', bounds],
    ['a negative budget is too small', { daily_budget_micros: -5_000_000 }, 'budget_out_of_range', bounds],
    ['a budget is not too large', { daily_budget_micros: 10_000_010_000 }, 'budget_out_of_range', bounds],
    ['a budget that is no safe integer is too large', { daily_budget_micros: 2 ** 60 }, 'budget_out_of_range', bounds],
    [
      'a budget is a multiple of a cent',
      { daily_budget_micros: 5_000_001 },
      'budget_not_multiple',
      { step_micros: 10_000 },
    ],
    ['a location exists', { geo_targets: [places.unitedStates, '7'] }, 'geo_target_unknown', { values: ['7'] }],
    [
      'an excluded location exists',
      { excluded_geo_targets: ['geoTargetConstants/7'] },
      'geo_target_unknown',
      { values: ['geoTargetConstants/7'] },
    ],
    ['the EU asks for a declaration', { geo_targets: [places.france] }, 'eu_declaration_required', {}],
  ])('%s', async (_rule, more, code, members) => {
    const got = await launch(more);
    expect(got, got.text).toMatchObject({ status: 400, body: { code, ...members } });
    expect(got.body.retry_safe).toBeUndefined();
    await expectNothing();
  });

  it('count the characters of a landing page, not their parts', () => {
    expect(() => checkLandingPage(`https://a.example/${'😀'.repeat(2_030)}`)).not.toThrow();
    expect(() => checkLandingPage(`https://a.example/${'😀'.repeat(2_031)}`)).toThrow();
  });

  it('are made in the documented order', async () => {
    const faulty: [string, object][] = [
      ['logo_required', { logo_url: imageUrl('128') }],
      ['landing_page_invalid', { landing_page: 'https://shop.example.com/' }],
      ['business_name_too_long', { business_name: 'Bikes' }],
      ['budget_out_of_range', { daily_budget_micros: 5_000_001 }],
      ['budget_not_multiple', { daily_budget_micros: 5_000_000 }],
      ['geo_target_unknown', { geo_targets: [places.france] }],
      ['eu_declaration_required', {}],
    ];
    let body: object = campaign({
      logo_url: null,
      landing_page: 'no page',
      business_name: 'x'.repeat(26),
      daily_budget_micros: 1,
      geo_targets: ['7'],
    });
    for (const [code, repair] of faulty) {
      const got = await world.call('POST', at('launch'), { as, body: { campaign: body } });
      expect(got.body.code).toBe(code);
      body = { ...body, ...repair };
    }
  });

  it('come before all others: the type, if this installation does not create it', async () => {
    const only = await startSecondApp(world, { environment: { ADS_CAN_CREATE: 'PERFORMANCE_MAX' } });
    const body = { campaign: campaign({ campaign_type: 'SMART', landing_page: '' }) };
    const got = await only.call('POST', at('launch'), { as, body });
    expect(got).toMatchObject({ status: 400, body: { code: 'campaign_type_not_available' } });
    expect(got.body.detail).toContain('PERFORMANCE_MAX');
  });

  it('refuse a currency that has no bounds, and name those that have', async () => {
    const { app: other, launch } = await scene();
    const account = { account_name: 'x', currency_code: 'ARS', timezone: 'UTC', platform_customer_id: '1' };
    const row = {
      id: other.id,
      workspace_id: other.workspace_id,
      app_id: other.id,
      state: 'ready',
      status: 'ACTIVE',
    } as const;
    const dates = { created_date: new Date(), updated_date: new Date() };
    await world.db
      .insertInto('ads_accounts')
      .values({ ...account, ...row, ...dates })
      .execute();
    const got = await launch();
    expect(got).toMatchObject({ status: 400, body: { code: 'currency_unsupported' } });
    expect(got.body.supported).toContain('EUR');
    await world.db.deleteFrom('ads_accounts').where('app_id', '=', other.id).execute();
  });

  it('refuse the bundled locations at the live platform, where their ids mean other places', async () => {
    const url = 'https://googleads.googleapis.com';
    const live = await startSecondApp(world, { environment: { ADS_PLATFORM_URL: url } });
    const got = await live.call('POST', at('launch'), { as, body: { campaign: campaign() } });
    expect(got).toMatchObject({ status: 503, body: { code: 'locations_not_imported', retry_safe: false } });
  });

  it('createCampaign needs an account', async () => {
    const other = await scene();
    const got = await world.call('POST', other.at('campaigns'), { as: other.as, body: campaign() });
    expect(got).toMatchObject({ status: 404, body: { code: 'ads_account_not_found' } });
  });
});

describe('the reach of the EU', () => {
  const reaches = async (more: object) => {
    const { body } = await launch({ ...more, draft_id: 'eu' }); // recorded once, without waiting for the launch
    return body.code === 'eu_declaration_required';
  };
  const findRegion = async (country_code: string) => {
    const found = world.db.selectFrom('locations').where('country_code', '=', country_code);
    const { id } = await found.where('target_type', '!=', 'Country').select('id').limit(1).executeTakeFirstOrThrow();
    return String(id);
  };
  it('is decided by countries, regions and exclusions', async () => {
    const region = await findRegion('FR');
    expect(await reaches({ geo_targets: [places.france] })).toBe(true);
    expect(await reaches({ geo_targets: [`geoTargetConstants/${region}`] })).toBe(true);
    expect(await reaches({ geo_targets: [region], excluded_geo_targets: [region] })).toBe(false);
    expect(await reaches({ geo_targets: [region], excluded_geo_targets: [places.france] })).toBe(false);
    expect(await reaches({ geo_targets: [places.france], excluded_geo_targets: [region] })).toBe(true);
    expect(await reaches({ geo_targets: [places.switzerland, places.unitedStates] })).toBe(false);
    expect(await reaches({ geo_targets: [] })).toBe(false); // the workspace's country is US
  });

  it('includes what contains a country of the EU', async () => {
    const union = { id: 999, parent_id: null, country_code: '', target_type: 'Region', name: 'Union', codes: '' };
    const texts = { canonical_name: 'Union', folded_name: 'union', folded_path: 'union', reach: 0 };
    await world.db
      .insertInto('locations')
      .values({ ...union, ...texts })
      .execute();
    const countries = [Number(places.france), Number(places.germany)];
    await world.db.updateTable('locations').set({ parent_id: 999 }).where('id', 'in', countries).execute();
    expect(await reaches({ geo_targets: ['999'] })).toBe(true);
    expect(await reaches({ geo_targets: ['999'], excluded_geo_targets: [places.france] })).toBe(true);
    expect(await reaches({ geo_targets: ['999'], excluded_geo_targets: [places.france, places.germany] })).toBe(false);
    expect(await reaches({ geo_targets: [places.france], excluded_geo_targets: ['999'] })).toBe(false);
  });

  it('begins with the country of the workspace if no location is sent', async () => {
    await world.db.updateTable('workspaces').set({ country_code: 'DE' }).where('id', '=', app.workspace_id).execute();
    expect(await reaches({})).toBe(true);
    await world.db.updateTable('workspaces').set({ country_code: 'AQ' }).where('id', '=', app.workspace_id).execute();
    const got = await launch();
    expect(got).toMatchObject({ status: 400, body: { code: 'geo_target_unknown', values: ['AQ'] } });
    await world.db.updateTable('workspaces').set({ country_code: 'US' }).where('id', '=', app.workspace_id).execute();
  });
});
