// Tests what the specification says about advertising apart from campaigns: locations, search themes, conversion
// tracking, generated assets and the report of search terms.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { writeAdTexts } from '../../../sandbox/src/ad-texts.ts';
import { type ChatRequest, startModelSandbox } from '../../../sandbox/src/model.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { loadBundledLocations } from '../../src/features/ads/index.ts';
import { newId } from '../../src/kit/ids.ts';
import { performanceMax, smart } from '../support/ad-campaigns.ts';
import { createCampaigns } from '../support/campaigns.ts';
import { writeSmallCatalogue } from '../support/places.ts';
import { startWorld } from '../support/world.ts';
import { expectInvalid, expectOk, integer, personalKey, text } from './support.ts';

const [platform, model] = await Promise.all([startAdPlatform(), startModelSandbox()]);
const world = await startWorld({
  environment: {
    MODEL_URL: model.url,
    PRODUCT_NAME: 'Sitewright',
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
});
const { client, newScene, newCampaign } = createCampaigns(world, platform);
afterAll(async () => {
  await client.close();
  await Promise.all([platform.close(), model.close()]);
});
await world.startWorker();
await loadBundledLocations(world.db, writeSmallCatalogue(['Paris', 'Munich', 'Nice']), world.clock.now());
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const dayMs = 24 * 60 * 60 * 1000;

let asked: ChatRequest[] = [];
beforeEach(async () => {
  platform.setFaults();
  platform.configure({ tag_delay_ms: 0 });
  model.behave('well');
  asked = [];
  model.script((request) => {
    asked.push(request);
    return writeAdTexts(request) ?? {};
  });
  await world.resetRateLimits();
});

const newApp = () => world.appOf(owner, workspace, { name: 'Harbour Coffee' });
const call = (app: Pick<AppRow, 'id'>, method: string, path: string, sent: object = { as: token }) =>
  world.call(method, `/api/apps/${app.id}/ads-platform/${path}`, sent);
const read = async (app: Pick<AppRow, 'id'>, path: string) => expectOk(await call(app, 'GET', path));
const post = async (app: AppRow, path: string, body: object, headers: object = {}) =>
  expectOk(await call(app, 'POST', path, { as: token, body, headers }));

/** Creates an app with an account in this time zone. Returns also the account's id at the platform. */
async function newAdvertisedApp(timezone = 'UTC') {
  const app = await newApp();
  const { platform_customer_id } = await post(app, 'accounts/ensure-for-tracking', { timezone });
  return { app, customerId: String(platform_customer_id) };
}

const shop = await newApp();
const search = (query: Record<string, string>, app: Pick<AppRow, 'id'> = shop) =>
  call(app, 'GET', `geo-targets/search?${new URLSearchParams(query)}`);
const find = async (query: Record<string, string>) => expectOk(await search(query));

describe('Resources and their fields: Location result (geo search)', () => {
  it('name: string', async () => {
    expect((await find({ query: 'Munich' }))[0].name).toBe('Munich');
  });

  it('canonical_name: string, full path with region and country', async () => {
    expect((await find({ query: 'Munich' }))[0].canonical_name).toBe('Munich,Bavaria,Germany');
  });

  it('country_code: string, ISO 3166-1 alpha-2', async () => {
    expect((await find({ query: 'Munich' }))[0].country_code).toBe('DE');
  });

  it('target_type: string, e.g. City, Region, Country', async () => {
    expect((await find({ query: 'Munich' }))[0].target_type).toBe('City');
    expect((await find({ query: 'Bavaria' }))[0].target_type).toBe('Region');
    expect((await find({ query: 'Germany' }))[0].target_type).toBe('Country');
  });

  it('reach: integer, estimated reachable people', async () => {
    const [munich] = await find({ query: 'Munich' });
    expect(munich.reach).toEqual(integer);
    expect(munich.reach).toBeGreaterThan(1_000_000);
  });

  it('search_term: string, the query echoed back', async () => {
    for (const row of await find({ query: 'mUniCh' })) expect(row.search_term).toBe('mUniCh');
  });
});

const terms = (app: AppRow, query = '') => call(app, 'GET', `analytics/search-terms${query}`);

/** Creates an app whose campaigns, one of each type, were shown for some days. */
async function newReport(days = 3, timezone = 'UTC') {
  const { app, customerId } = await newAdvertisedApp(timezone);
  for (const operations of [
    performanceMax(customerId, { name: `Bikes ${newId()}`, status: 'ENABLED' }),
    smart(customerId, { name: `Repairs ${newId()}`, status: 'ENABLED' }),
  ]) {
    const created = await client.mutate(customerId, operations);
    expect(created.outcome).toBe('applied');
  }
  platform.advance(days * dayMs);
  world.clock.aheadMs += days * dayMs;
  return { app, customerId };
}
let crowded: Promise<AppRow> | undefined;
/** Returns an app with so many campaigns that people searched for more than a hundred terms. */
const getCrowded = (): Promise<AppRow> =>
  (crowded ??= newReport().then(async ({ app, customerId }) => {
    for (let number = 1; number <= 34; number += 1)
      await client.mutate(customerId, smart(customerId, { name: `Campaign ${number}`, status: 'ENABLED' }));
    platform.advance(2 * dayMs);
    world.clock.aheadMs += 2 * dayMs;
    return app;
  }));
const report = await newReport();
const rows = expectOk(await terms(report.app));

describe('Resources and their fields: Search-term report row', () => {
  const check = (field: string, matcher: unknown) => {
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row[field]).toEqual(matcher);
  };

  it('search_term: string', () => check('search_term', text));

  it('campaign: string, campaign name', () => check('campaign', expect.stringMatching(/^(Bikes|Repairs) /)));

  it('impressions: integer', () => check('impressions', integer));

  it('clicks: integer', () => check('clicks', integer));

  it('cost_micros: integer, micros of account currency', () => check('cost_micros', integer));

  it('conversions: number', () => check('conversions', expect.any(Number)));
});

/** Inserts texts as if they had been generated. */
async function insertAssets(app: AppRow, count: number): Promise<void> {
  const session_id = newId();
  const asset = { workspace_id: app.workspace_id, app_id: app.id, session_id, language: 'en' };
  for (let from = 0; from < count; from += 2_000)
    await world.db
      .insertInto('ads_assets')
      .values(
        Array.from({ length: Math.min(2_000, count - from) }, (_, index) => ({
          ...asset,
          id: newId(),
          position: from + index,
          slot: 'HEADLINE' as const,
          kind: 'text' as const,
          text: `Headline ${from + index}`,
          status: 'ready' as const,
          created_date: new Date(world.clock.now().getTime() - dayMs + from + index),
        })),
      )
      .execute();
}

const generated = await newApp();
const { session_id } = await post(generated, 'assets/generate', { channel_type: 'SEARCH' });

describe('Resources and their fields: Generated asset lists', () => {
  it('The lists session, library, durable carry different fields', async () => {
    const scene = await newScene(owner);
    const { id } = await newCampaign(scene);
    const read = async (query: string) =>
      expectOk(await world.call('GET', `/api/apps/${scene.app.id}/ads-platform/assets${query}`, { as: scene.as }));
    const fieldsOf = (list: object[]) =>
      Object.keys(list[0] ?? {})
        .sort()
        .join();
    const [session] = (await expectOk(await call(generated, 'GET', `assets?session_id=${session_id}`))).session;
    const [library] = (await expectOk(await call(generated, 'GET', 'assets'))).library;
    const [durable] = (await read(`?campaign_id=${id}`)).durable;
    expect(new Set([[session], [library], [durable]].map(fieldsOf)).size).toBe(3);
  });

  it('Rows of library add status, accepted_campaign_id, accepted_resource_names', async () => {
    const { library } = await read(generated, 'assets');
    for (const row of library)
      expect(row).toMatchObject({ status: text, accepted_campaign_id: null, accepted_resource_names: [] });
    const { session } = await read(generated, `assets?session_id=${session_id}`);
    for (const field of ['status', 'accepted_campaign_id', 'accepted_resource_names'])
      expect(session[0]).not.toHaveProperty(field);
  });
});

const suggest = (body: object = {}, headers: object = {}) => post(shop, 'suggestions/search-themes', body, headers);
const answerWith = (themes: unknown) => model.script(() => ({ text: JSON.stringify(themes) }));
const documentSent = () => JSON.parse(String(asked[0]?.messages.at(-1)?.content ?? '{}'));

describe('Endpoints: POST /api/apps/{app_id}/ads-platform/suggestions/search-themes', () => {
  it('Suggests search themes for a Performance Max campaign; nothing is saved', async () => {
    const app = () => world.call('GET', `/api/apps/${shop.id}`, { as: token });
    const [before, assets] = [(await app()).body, await read(shop, 'assets')];
    expect((await suggest({ business_name: 'Bikes' })).search_themes.length).toBeGreaterThan(0);
    expect((await app()).body).toEqual(before);
    expect(await read(shop, 'assets')).toEqual(assets);
  });

  it("Header Accept-Language (optional): language of generated text; unsupported or absent gives English (the app's own language is not used)", async () => {
    const languageFor = async (headers: object) => {
      asked = [];
      await suggest({}, headers);
      return documentSent().language;
    };
    expect(await languageFor({ 'accept-language': 'de' })).toBe('German');
    expect(await languageFor({ 'accept-language': 'tlh' })).toBe('English');
    expect(await languageFor({ 'accept-language': '%%%' })).toBe('English');
    expect(await languageFor({})).toBe('English');
  });

  it('Body: business_name (string), business_description (string), landing_page_url (string, used as context)', async () => {
    const sent = {
      business_name: 'Rad',
      business_description: 'Sells bikes',
      landing_page_url: 'https://rad.example/',
    };
    await suggest(sent);
    expect(documentSent()).toMatchObject(sent);
    for (const field of Object.keys(sent)) {
      const got = await call(shop, 'POST', 'suggestions/search-themes', { as: token, body: { [field]: 7 } });
      expectInvalid(got, 'body', field);
    }
    for (const body of [{}, { business_name: '' }, { landing_page_url: 'not a URL' }]) await suggest(body);
  });

  it('Response 200: search_themes (array of string, at most 10, each at most 80 characters; themes naming the platform itself are dropped)', async () => {
    const themes = Array.from({ length: 14 }, (_, index) => `theme ${index}`);
    answerWith(['x'.repeat(81), 'plinth apps', 'made with Sitewright', 'é'.repeat(80), ...themes]);
    const { search_themes } = await suggest();
    expect(search_themes).toEqual(['é'.repeat(80), ...themes.slice(0, 9)]);
  });

  it('An empty list is still 200', async () => {
    answerWith([]);
    expect(await suggest()).toEqual({ search_themes: [] });
    model.behave(500);
    expect(await suggest()).toEqual({ search_themes: [] });
  });
});

const goals = [
  'PURCHASE',
  'ADD_TO_CART',
  'BEGIN_CHECKOUT',
  'SIGNUP',
  'SUBMIT_LEAD_FORM',
  'CONTACT',
  'REQUEST_QUOTE',
  'BOOK_APPOINTMENT',
  'SUBSCRIBE_PAID',
  'PHONE_CALL_LEAD',
];
const build = (app: AppRow, body: object) => post(app, 'tracking-scan/build-bootstrap-prompt', body);
const goalsOf = async (app: AppRow): Promise<string[]> =>
  (await read(app, 'conversion-actions')).items.map(({ category }: { category: string }) => category);

/** Maps new orders to purchases. */
async function mapOrders(app: AppRow): Promise<void> {
  const schema = { name: 'Order', properties: { total: { type: 'number' } } };
  expectOk(await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, { as: token, body: schema }));
  await post(app, 'conversion-mappings', { entity_name: 'Order', conversion_type: 'PURCHASE' });
}

describe('Endpoints: POST /api/apps/{app_id}/ads-platform/tracking-scan/build-bootstrap-prompt', () => {
  it('Creates any missing conversion goals from the standard set (PURCHASE, ADD_TO_CART, BEGIN_CHECKOUT, SIGNUP, SUBMIT_LEAD_FORM, CONTACT, REQUEST_QUOTE, BOOK_APPOINTMENT, SUBSCRIBE_PAID, PHONE_CALL_LEAD) on the account (not reversible through the API), then returns an instruction for the AI to install tracking', async () => {
    const { app } = await newAdvertisedApp();
    expect(await goalsOf(app)).toEqual([]);
    expect((await build(app, { wire_events: false })).composer_prompt).toMatch(/\S/);
    expect((await goalsOf(app)).sort()).toEqual(goals.toSorted());
    await build(app, { wire_events: false });
    expect(await goalsOf(app)).toHaveLength(10);
    const [action] = (await read(app, 'conversion-actions')).items;
    const path = `conversion-actions/${action.platform_action_id}`;
    expect([404, 405]).toContain((await call(app, 'DELETE', path)).status);
  });

  it('Body: wire_events (boolean; true also wires each enabled conversion mapping; false installs only the base tag)', async () => {
    const { app } = await newAdvertisedApp();
    await mapOrders(app);
    expect((await build(app, { wire_events: true })).composer_prompt).toContain('send_to');
    expect((await build(app, { wire_events: false })).composer_prompt).not.toContain('send_to');
    const got = await call(app, 'POST', 'tracking-scan/build-bootstrap-prompt', {
      as: token,
      body: { wire_events: 'yes' },
    });
    expectInvalid(got, 'body', 'wire_events');
  });

  it("With wire_events true and enabled mappings, the call waits for the platform to publish each mapped goal's tag, retrying the read up to four times about one second apart, so it can take several seconds", async () => {
    platform.configure({ tag_delay_ms: 3_600_000 });
    const { app, customerId } = await newAdvertisedApp();
    await build(app, { wire_events: false });
    await mapOrders(app);
    const countReads = () =>
      platform.journal.filter(
        ({ event, call, customer_id, body }) =>
          event === 'received' &&
          call === 'search' &&
          customer_id === customerId &&
          JSON.stringify(body).includes('FROM conversion_action'),
      ).length;
    const before = countReads();
    const begun = performance.now();
    await build(app, { wire_events: true });
    expect(countReads() - before).toBe(5);
    expect(performance.now() - begun).toBeGreaterThan(3_600);
  });

  it('composer_prompt: string; empty string when skipped_reason is set', async () => {
    const { app } = await newAdvertisedApp();
    expect((await build(app, { wire_events: true })).composer_prompt).toMatch(/\S/);
    expect(await build(await newApp(), { wire_events: true })).toMatchObject({
      composer_prompt: '',
      skipped_reason: 'no_ads_account',
    });
  });

  it('conversion_id: string; conversion tag ID baked into the prompt; empty string when the prompt tells the AI to look IDs up; absent when skipped_reason is set', async () => {
    const { app } = await newAdvertisedApp();
    const published = await build(app, { wire_events: true });
    expect(published.conversion_id).toMatch(/\S/);
    expect(published.composer_prompt).toContain(published.conversion_id);
    expect(await build(await newApp(), { wire_events: true })).not.toHaveProperty('conversion_id');
  });

  it('actions_created_or_existing: integer; goals the account has after the call; absent when skipped', async () => {
    const { app } = await newAdvertisedApp();
    expect((await build(app, { wire_events: false })).actions_created_or_existing).toBe(10);
    expect((await build(app, { wire_events: false })).actions_created_or_existing).toBe(10);
    expect(await build(await newApp(), {})).not.toHaveProperty('actions_created_or_existing');
  });

  it('wired_mappings: integer; mappings the prompt carries wiring guidance for; when wire_events is true and no mapping is enabled it reports the number of conversion categories offered, so any value above 0 means wiring guidance is present; absent when skipped', async () => {
    const { app } = await newAdvertisedApp();
    expect((await build(app, { wire_events: true })).wired_mappings).toBe(10);
    expect((await build(app, { wire_events: false })).wired_mappings).toBe(0);
    await mapOrders(app);
    expect((await build(app, { wire_events: true })).wired_mappings).toBe(1);
    expect(await build(await newApp(), { wire_events: true })).not.toHaveProperty('wired_mappings');
  });

  it('skipped_reason: string; only value no_ads_account; absent when a prompt was produced', async () => {
    const skipped = await build(await newApp(), { wire_events: true });
    expect(skipped.skipped_reason).toBe('no_ads_account');
    const { app } = await newAdvertisedApp();
    expect(await build(app, { wire_events: true })).not.toHaveProperty('skipped_reason');
  });
});

describe('Endpoints: GET /api/apps/{app_id}/ads-platform/geo-targets/search', () => {
  it('Searches the location catalog; works without an advertising account', async () => {
    expect((await call(shop, 'GET', 'accounts')).status).toBe(404);
    expect((await find({ query: 'paris' })).length).toBeGreaterThan(0);
  });

  it('Query: query (string; under two characters is still accepted; empty returns unfiltered suggestions), country_code (ISO 3166-1 alpha-2; empty searches everywhere), and a parameter for the most results to return, integer 1 to 100 (its name: not shown)', async () => {
    for (const query of ['p', 'pa', '東', '']) expect(await find({ query })).not.toEqual([]);
    expect(await find({})).toEqual(await find({ query: '' }));
    for (const { country_code } of await find({ query: '', country_code: 'FR' })) expect(country_code).toBe('FR');
    expect(await find({ query: 'paris', country_code: '' })).toEqual(await find({ query: 'paris' }));
    expect(await find({ limit: '1' })).toHaveLength(1);
    expect(await find({ limit: '100' })).toHaveLength(100);
    for (const limit of ['0', '101', '1.5', 'ten']) expectInvalid(await search({ limit }), 'query', 'limit');
    for (const country_code of ['F', 'FRA', '12'])
      expectInvalid(await search({ country_code }), 'query', 'country_code');
  });

  it('Response 200: array of location results ordered by match quality', async () => {
    const names = (await find({ query: 'nice' })).map(({ name }: { name: string }) => name);
    expect(names[0]).toBe('Nice');
    const [paris] = await find({ query: 'Paris' });
    expect(paris).toEqual({
      resource_name: text,
      name: 'Paris',
      canonical_name: text,
      country_code: 'FR',
      target_type: 'City',
      reach: integer,
      search_term: 'Paris',
    });
  });
});

describe('Endpoints: GET /api/apps/{app_id}/ads-platform/assets', () => {
  it('Query: session_id (string, from the asset-generation call) and campaign_id (string, the id of a campaign)', async () => {
    const scene = await newScene(owner);
    const { id } = await newCampaign(scene);
    const path = `/api/apps/${scene.app.id}/ads-platform/assets?session_id=${newId()}&campaign_id=${id}`;
    expect(Object.keys(expectOk(await world.call('GET', path, { as: scene.as }))).sort()).toEqual([
      'durable',
      'session',
    ]);
  });

  it('session: session_id sent; previews of that generation; empty list while running or when nothing produced; expired sessions read as empty', async () => {
    const { session } = await read(generated, `assets?session_id=${session_id}`);
    expect(session.length).toBeGreaterThan(0);
    const isRunning = (state: 'drawing' | 'ended') =>
      world.db.updateTable('ads_asset_sessions').set({ state }).where('id', '=', session_id).execute();
    await isRunning('drawing');
    expect(await read(generated, `assets?session_id=${session_id}`)).toEqual({ session: [] });
    await isRunning('ended');
    for (const id of [newId(), 'unknown', ''])
      expect(await read(generated, `assets?session_id=${id}`)).toEqual({ session: [] });
    const { aheadMs } = world.clock;
    world.clock.aheadMs += dayMs + 1;
    const later = await world.token(owner, workspace);
    const expired = await call(generated, 'GET', `assets?session_id=${session_id}`, { as: later });
    expect(expectOk(expired)).toEqual({ session: [] });
    world.clock.aheadMs = aheadMs;
  });

  it("library: session_id omitted; app's generated assets, newest first, at most the 5,000 most recent, no paging, no marker on truncation", async () => {
    const app = await newApp();
    await insertAssets(app, 5_001);
    const body = await read(app, 'assets');
    expect(Object.keys(body)).toEqual(['library']);
    expect(body.library).toHaveLength(5_000);
    expect(body.library[0].text).toBe('Headline 5000');
    expect(body.library.at(-1).text).toBe('Headline 1');
    expect(await read(app, `assets?session_id=${newId()}`)).not.toHaveProperty('library');
  });

  it('durable: campaign_id sent; assets already attached to the campaign, read live from the ad platform', async () => {
    const scene = await newScene(owner);
    const { id } = await newCampaign(scene);
    const path = `/api/apps/${scene.app.id}/ads-platform/assets`;
    const before = platform.journal.length;
    const { durable } = expectOk(await world.call('GET', `${path}?campaign_id=${id}`, { as: scene.as }));
    expect(durable.map((row: { text: string }) => row.text)).toContain('Fast bikes');
    expect(platform.journal.length).toBeGreaterThan(before);
    expect(expectOk(await world.call('GET', path, { as: scene.as }))).not.toHaveProperty('durable');
  });

  it('Session and library are never both returned', async () => {
    expect(Object.keys(await read(generated, 'assets'))).toEqual(['library']);
    expect(Object.keys(await read(generated, `assets?session_id=${session_id}`))).toEqual(['session']);
  });

  it('Without campaign_id the endpoint answers only 200, 401 or 403', async () => {
    const stranger = await world.person('stranger@example.com');
    const own = await world.workspace(stranger);
    const foreign = await world.token(stranger, own);
    for (const [id, sent, status] of [
      [generated.id, { as: token }, 200],
      [generated.id, {}, 401],
      [generated.id, { as: 'invalid' }, 401],
      [generated.id, { as: foreign }, 403],
      [newId(), { as: token }, 403],
      ['malformed', { as: token }, 403],
    ] as const)
      for (const query of ['', '?session_id=%00&session_id=b', '?limit=-1&campaign=x'])
        expect((await call({ id }, 'GET', `assets${query}`, sent)).status, `${id}${query}`).toBe(status);
    const statuses = await Promise.all(
      Array.from({ length: 80 }, async () => (await call(generated, 'GET', 'assets')).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

const presets = [
  'TODAY',
  'YESTERDAY',
  'LAST_7_DAYS',
  'LAST_14_DAYS',
  'LAST_30_DAYS',
  'LAST_90_DAYS',
  'THIS_WEEK_MON_TODAY',
  'THIS_WEEK_SUN_TODAY',
  'LAST_WEEK_MON_SUN',
  'LAST_WEEK_SUN_SAT',
  'LAST_BUSINESS_WEEK',
  'THIS_MONTH',
  'LAST_MONTH',
];
/** The days that the platform was asked about last, by its own journal. */
function lastDays(): string {
  const queries = platform.journal.flatMap(
    ({ body }) => JSON.stringify(body ?? '').match(/segments\.date[^"]*/g) ?? [],
  );
  return (queries.at(-1)?.match(/\d{4}-\d\d-\d\d/g) ?? []).join('/');
}

describe('Endpoints: GET /api/apps/{app_id}/ads-platform/analytics/search-terms', () => {
  it('Query: date_range (one of TODAY, YESTERDAY, LAST_7_DAYS, LAST_14_DAYS, LAST_30_DAYS, LAST_90_DAYS, THIS_WEEK_MON_TODAY, THIS_WEEK_SUN_TODAY, LAST_WEEK_MON_SUN, LAST_WEEK_SUN_SAT, LAST_BUSINESS_WEEK, THIS_MONTH, LAST_MONTH; default LAST_30_DAYS), start_date and end_date (YYYY-MM-DD, must be sent together)', async () => {
    for (const preset of presets) expectOk(await terms(report.app, `?date_range=${preset}`));
    expectInvalid(await terms(report.app, '?date_range=LAST_YEAR'), 'query', 'date_range');
    expectOk(await terms(report.app, '?date_range=LAST_30_DAYS'));
    const byPreset = lastDays();
    expectOk(await terms(report.app));
    expect(lastDays()).toBe(byPreset);
    expectOk(await terms(report.app, '?start_date=2026-01-01&end_date=2026-01-01'));
    expectOk(await terms(report.app, '?start_date=2024-02-29&end_date=2024-02-29'));
    for (const day of ['2026-02-30', '01-01-2026', 'today'])
      expectInvalid(await terms(report.app, `?start_date=${day}&end_date=2026-03-01`), 'query', 'start_date');
  });

  it('Explicit dates win over date_range', async () => {
    expectOk(await terms(report.app, '?date_range=LAST_MONTH&start_date=2026-03-01&end_date=2026-03-02'));
    expect(lastDays()).toBe('2026-03-01/2026-03-02');
  });

  it("LAST_7_DAYS, LAST_30_DAYS, LAST_90_DAYS count back from today in the account's time zone and include today; the other presets end yesterday", async () => {
    const { app } = await newReport(3, 'Pacific/Kiritimati');
    const day = (ago: number) =>
      new Date(world.clock.now().getTime() + 14 * 60 * 60 * 1000 - ago * dayMs).toISOString().slice(0, 10);
    const daysOf = async (preset: string) => {
      expectOk(await terms(app, `?date_range=${preset}`));
      return lastDays();
    };
    for (const days of [7, 30, 90]) expect(await daysOf(`LAST_${days}_DAYS`)).toBe(`${day(days - 1)}/${day(0)}`);
    expect(await daysOf('YESTERDAY')).toBe(`${day(1)}/${day(1)}`);
    expect(await daysOf('LAST_14_DAYS')).toBe(`${day(14)}/${day(1)}`);
    for (const preset of ['LAST_WEEK_MON_SUN', 'LAST_WEEK_SUN_SAT', 'LAST_BUSINESS_WEEK', 'LAST_MONTH'])
      expect((await daysOf(preset)).split('/')[1]?.localeCompare(day(0))).toBe(-1);
  });

  it('Response 200: array of search-term rows, highest impressions first, at most 100, no paging', async () => {
    const app = await getCrowded();
    const list = expectOk(await terms(app));
    expect(list).toHaveLength(100);
    const impressions = list.map((row: { impressions: number }) => row.impressions);
    expect(impressions).toEqual(impressions.toSorted((a: number, b: number) => b - a));
    const namesOf = (rows: { campaign: string }[]) => rows.map(({ campaign }) => campaign);
    const paged = expectOk(await terms(app, '?page=2&cursor=x&offset=100'));
    expect(namesOf(paged)).toEqual(namesOf(list));
  });

  it('Terms are merged from every campaign type; if one read fails the others are still returned with 200 and no indication', async () => {
    const names = new Set(rows.map(({ campaign }: { campaign: string }) => campaign.split(' ')[0]));
    expect(names).toEqual(new Set(['Bikes', 'Repairs']));
    platform.setFaults({ call: 'search', fault: 'error_before', customer_id: report.customerId, times: 1 });
    const partial = expectOk(await terms(report.app));
    expect(partial.length).toBeGreaterThan(0);
    expect(Object.keys(partial[0]).sort()).toEqual(Object.keys(rows[0]).sort());
  });
});

describe('Errors', () => {
  it('Search terms: 400; only one of start_date/end_date sent, or start_date after end_date', async () => {
    for (const query of ['start_date=2026-11-01', 'end_date=2026-11-01', 'start_date=2026-11-02&end_date=2026-11-01'])
      expect((await terms(report.app, `?${query}`)).status).toBe(400);
    expect((await terms(await newApp(), '?start_date=2026-11-01')).status).toBe(400);
  });
});

describe('Limits: data bounds', () => {
  it('search themes: at most 10, each at most 80 characters', async () => {
    answerWith(Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(76)}`));
    const { search_themes } = await suggest();
    expect(search_themes).toHaveLength(10);
    for (const theme of search_themes) expect(theme.length).toBeLessThanOrEqual(80);
  });

  it('search-term report: at most 100 rows', async () => {
    expect(expectOk(await terms(await getCrowded()))).toHaveLength(100);
  });

  it('asset library: at most 5,000 most recent', async () => {
    const app = await newApp();
    await insertAssets(app, 5_000);
    expect((await read(app, 'assets')).library).toHaveLength(5_000);
    await insertAssets(app, 1);
    expect((await read(app, 'assets')).library).toHaveLength(5_000);
  });

  it('geo search results: 1 to 100', async () => {
    const headers = await personalKey(world, owner);
    for (const limit of [1, 100]) {
      const got = await call(shop, 'GET', `geo-targets/search?limit=${limit}`, { headers });
      expect(expectOk(got)).toHaveLength(limit);
    }
    for (const limit of [0, 101]) expectInvalid(await search({ limit: String(limit) }), 'query', 'limit');
  });

  it('tracking-scan wiring retries: up to 4, about 1 second apart', async () => {
    platform.configure({ tag_delay_ms: 3_600_000 });
    const { app } = await newAdvertisedApp();
    await build(app, { wire_events: false });
    await mapOrders(app);
    const got = await build(app, { wire_events: true });
    expect(got).toMatchObject({ conversion_id: '', wired_mappings: 1 });
    expect(got.composer_prompt).toMatch(/\S/);
  });
});
