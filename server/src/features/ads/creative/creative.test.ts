// Tests texts, images and search themes through the API, with the sandbox's language model and a real worker
// (docs/api/ads.md).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCanvas } from '@napi-rs/canvas';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { writeAdTexts } from '../../../../../sandbox/src/ad-texts.ts';
import { type ChatRequest, type ModelReply, startModelSandbox } from '../../../../../sandbox/src/model.ts';
import { startSecondApp, startWorld, type World } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { getPoolBalance, startOfMonth } from '../../../core/credits/pool.ts';
import { recountWorkspace } from '../../../core/storage/recount.ts';
import { newId } from '../../../kit/ids.ts';
import { channelSlots, imageSizes, measureAdLength, textRules, textSlots } from '../rules/slots.ts';
import { findAccent } from './brief.ts';
import { chooseLanguage } from './languages.ts';
import { readImageSize } from './render/logo.ts';
import { selectThemes } from './themes.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
/** Serves logos. */
const logos = createServer(({ url }, response) => {
  if (url === '/logo.png') response.end(createCanvas(64, 64).toBuffer('image/png'));
  else response.writeHead(302, { location: '/logo.png' }).end();
}).listen(0, '127.0.0.1');
await once(logos, 'listening');
afterAll(() => logos.close());
const logoUrl = `http://127.0.0.1:${(logos.address() as AddressInfo).port}`;
const environment = { MODEL_URL: model.url, PRODUCT_NAME: 'Sitewright', OUTBOUND_ALLOW: 'http://127.0.0.0/8' };
const world = await startWorld({ environment });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'business');
const token = await world.token(owner, workspace);
await world.startWorker();
const impatient = await startSecondApp(world, { assetWaitMs: 0 });

const requests: ChatRequest[] = [];
const script = (answer: (request: ChatRequest) => ModelReply) =>
  model.script((request) => {
    requests.push(request);
    return answer(request);
  });
const documentOf = (request: ChatRequest | undefined) => JSON.parse(request?.messages.at(-1)?.content ?? '{}');

beforeEach(async () => {
  model.behave('well');
  requests.length = 0;
  script((request) => writeAdTexts(request) ?? {});
  await world.resetRateLimits();
});

const newApp = (more: object = {}) => world.appOf(owner, workspace, { name: 'Harbour Coffee', ...more });
const at = (app: Pick<AppRow, 'id'>, path: string) => `/api/apps/${app.id}/ads-platform/${path}`;
const generate = (app: AppRow, body: object = {}, headers: Record<string, string> = {}, on: World = world) =>
  on.call('POST', at(app, 'assets/generate'), { as: token, body: { channel_type: 'DISPLAY', ...body }, headers });
const list = (app: Pick<AppRow, 'id'>, query = '', as = token) => world.call('GET', at(app, `assets${query}`), { as });
const suggest = (app: AppRow, body: object = {}, headers: Record<string, string> = {}) =>
  world.call('POST', at(app, 'suggestions/search-themes'), { as: token, body, headers });
const readUsed = async () => (await getPoolBalance(world.db, workspace, null, startOfMonth(new Date()))).used;
const readReserved = async () => (await getPoolBalance(world.db, workspace, null, startOfMonth(new Date()))).reserved;

describe('suggestSearchThemes', () => {
  const answerWith = (themes: unknown) => script(() => ({ text: JSON.stringify(themes) }));

  it('sends the model what was sent, and answers with its themes', async () => {
    answerWith(['coffee beans online', 'fresh roasted coffee']);
    const sent = { business_name: 'Kaffee', business_description: 'Beans', landing_page_url: 'not even a URL' };
    const before = await readUsed();
    const got = await suggest(await newApp(), sent);
    expect(got).toMatchObject({
      status: 200,
      body: { search_themes: ['coffee beans online', 'fresh roasted coffee'] },
    });
    expect(documentOf(requests[0])).toEqual({ task: 'search_themes', language: 'English', ...sent });
    expect((await readUsed()) - before).toBeCloseTo(0.1);
  });

  it('asks the model and charges once for an Idempotency-Key', async () => {
    answerWith(['coffee beans online']);
    const app = await newApp();
    const before = await readUsed();
    const first = await suggest(app, {}, { 'idempotency-key': 'themes' });
    const again = await suggest(app, {}, { 'idempotency-key': 'themes' });
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } });
    expect(requests).toHaveLength(1);
    expect((await readUsed()) - before).toBeCloseTo(0.1);
  });

  it('repeats that the themes are missing, if they were', async () => {
    model.behave(500);
    const app = await newApp();
    const missing = { status: 200, body: { search_themes: [] }, headers: { 'x-partial-result': 'search_themes' } };
    expect(await suggest(app, {}, { 'idempotency-key': 'themes' })).toMatchObject(missing);
    expect(await suggest(app, {}, { 'idempotency-key': 'themes' })).toMatchObject(missing);
  });

  it('describes the app by its name and description if nothing is sent', async () => {
    await suggest(await newApp({ user_description: 'Sells coffee' }), { business_name: ' ' });
    expect(documentOf(requests[0])).toEqual({
      task: 'search_themes',
      language: 'English',
      business_name: 'Harbour Coffee',
      business_description: 'Sells coffee',
      landing_page_url: expect.stringMatching(/^http/),
    });
  });

  it('answers with at most 10 themes of at most 80 characters and 10 words, each once, without the name of the platform', () => {
    const good = Array.from({ length: 12 }, (_, index) => `theme number ${index}`);
    const dropped = [
      'Theme Number 0',
      'x'.repeat(81),
      'one two three four five six seven eight nine ten eleven',
      'apps made with PLINTH',
      'sitewright apps',
      '',
    ];
    expect(selectThemes([...good.slice(0, 1), ...dropped, ...good.slice(1)], 'Sitewright')).toEqual(good.slice(0, 10));
    expect(selectThemes(['database course', 'base camp', 'Baseの使い方'], 'Base')).toEqual(['database course']);
    expect(selectThemes(['é'.repeat(80), 'Straße', 'STRASSE'], undefined)).toEqual(['é'.repeat(80), 'Straße']);
  });

  it('drops themes that name the platform in an answer, too', async () => {
    answerWith(['coffee', 'plinth coffee', 'coffee by Sitewright']);
    expect((await suggest(await newApp())).body).toEqual({ search_themes: ['coffee'] });
  });

  it('writes in the language of Accept-Language, and in English if that is absent or not supported', async () => {
    const languages = {
      'fr-CH, de;q=0.9': 'fr',
      'tlh, de;q=0.5, es;q=0.8': 'es',
      'no, en;q=0.1': 'nb',
      'ja;q=0, ko;q=0.1': 'ko',
    };
    for (const [header, language] of Object.entries(languages)) expect(chooseLanguage(header)).toBe(language);
    for (const header of [undefined, '', '*', 'tlh', ';;q=,', 'zh-CN']) expect(chooseLanguage(header)).toBe('en');
    await suggest(await newApp(), {}, { 'accept-language': 'he' });
    expect(documentOf(requests[0])).toMatchObject({ language: 'Hebrew' });
  });

  it('takes a list that the model has wrapped in an object, and says that there is none otherwise', async () => {
    answerWith({ themes: ['coffee'] });
    expect((await suggest(await newApp())).body).toEqual({ search_themes: ['coffee'] });
    answerWith({ themes: 'coffee' });
    const got = await suggest(await newApp());
    expect(got).toMatchObject({ body: { search_themes: [] }, headers: { 'x-partial-result': 'search_themes' } });
  });

  it('answers with an empty list, which costs nothing, if the model has none that can be used', async () => {
    answerWith(['Plinth']);
    const before = await readUsed();
    const got = await suggest(await newApp());
    expect(got).toMatchObject({ status: 200, body: { search_themes: [] } });
    expect(got.headers['x-partial-result']).toBeUndefined();
    expect(await readUsed()).toBe(before);
  });

  it.each(['cut', 'malformed', 500] as const)(
    'says that the list is partial if the model is unavailable: %s',
    async (how) => {
      model.behave(how);
      const got = await suggest(await newApp());
      expect(got).toMatchObject({
        status: 200,
        body: { search_themes: [] },
        headers: { 'x-partial-result': 'search_themes' },
      });
      expect(await readReserved()).toBe(0);
    },
  );

  it('is refused without credits', async () => {
    const poor = await world.workspace(owner, 'free');
    await world.db.updateTable('workspaces').set({ monthly_limit: 0 }).where('id', '=', poor).execute();
    const app = await world.appOf(owner, poor);
    const got = await world.call('POST', at(app, 'suggestions/search-themes'), {
      as: await world.token(owner, poor),
      body: {},
    });
    expect(got).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
  });

  it('refuses texts that are too long, and saves nothing', async () => {
    const app = await newApp();
    const tooLong = {
      business_name: 'x'.repeat(201),
      business_description: 'x'.repeat(2_001),
      landing_page_url: 'x'.repeat(2_049),
    };
    const got = await suggest(app, tooLong);
    expect(got.body.detail.map(({ type }: { type: string }) => type)).toEqual(Array(3).fill('string_too_long'));
    await suggest(app);
    expect((await list(app)).body).toEqual({ library: [] });
  });
});

describe('generateAssets', () => {
  it('writes short texts also for a business with a long name', async () => {
    const got = await generate(await newApp(), { channel_type: 'SEARCH', business_name: 'x'.repeat(36) });
    expect(got).toMatchObject({ status: 200 });
  });

  it('answers with texts within their lengths and an image in the size of each slot, which anybody can fetch', async () => {
    const app = await newApp();
    const before = await readUsed();
    const got = await generate(app, { channel_type: 'PERFORMANCE_MAX', language: 'de' });
    expect(requests[0]).toMatchObject({ max_tokens: 2_000 });
    expect(Object.keys(documentOf(requests[0])).toSorted()).toEqual([
      'business_description',
      'business_name',
      'landing_page_url',
      'language',
      'task',
      'texts',
    ]);
    expect(got).toMatchObject({ status: 200, body: { language: 'de', background_image_count: 0 } });
    const { copy, images, session_id } = got.body;
    const texts = { HEADLINE: copy.headlines, LONG_HEADLINE: copy.long_headlines, DESCRIPTION: copy.descriptions };
    for (const [slot, { needed, wanted, maxLength, shortLength = maxLength }] of Object.entries(textRules)) {
      const lengths = texts[slot as keyof typeof texts].map(measureAdLength);
      expect(lengths.length).toBeGreaterThanOrEqual(needed);
      expect(lengths.length).toBeLessThanOrEqual(wanted);
      expect(Math.max(...lengths)).toBeLessThanOrEqual(maxLength);
      expect(Math.min(...lengths)).toBeLessThanOrEqual(shortLength);
    }
    expect(images.map(({ slot }: { slot: string }) => slot)).toEqual(Object.keys(imageSizes));
    for (const image of images) {
      expect(image).toMatchObject({
        kind: 'image',
        text: null,
        language: 'de',
        ...imageSizes[image.slot as 'SQUARE_IMAGE'],
      });
      expect(image.image_url).toMatch(
        new RegExp(`^${world.config.BASE_URL}/api/ads-platform/images/[0-9a-f]{40}\\.jpg$`),
      );
      const fetched = await fetch(world.url + new URL(image.image_url).pathname);
      expect(fetched.headers.get('content-type')).toBe('image/jpeg');
      expect(fetched.headers.get('cache-control')).toContain('immutable');
      const file = Buffer.from(await fetched.arrayBuffer());
      expect(readImageSize(file)).toEqual({ width: image.width, height: image.height });
    }
    expect((await readUsed()) - before).toBeCloseTo(4);
    const session = (await list(app, `?session_id=${session_id}`)).body.session;
    expect(session.filter(({ kind }: { kind: string }) => kind === 'image')).toEqual(images);
    expect(session).toHaveLength(images.length + Object.values(texts).flat().length);
  });

  it.each([
    ['SEARCH', ['DESCRIPTION', 'HEADLINE'], ['LANDSCAPE_IMAGE', 'SQUARE_IMAGE']],
    ['DEMAND_GEN', ['DESCRIPTION', 'HEADLINE', 'LONG_HEADLINE'], Object.keys(imageSizes)],
  ])('fills the slots of %s', async (channel_type, texts, images) => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type });
    const { session } = (await list(app, `?session_id=${body.session_id}`)).body;
    const slotsOf = (wanted: string) => [
      ...new Set(session.flatMap(({ kind, slot }: { kind: string; slot: string }) => (kind === wanted ? [slot] : []))),
    ];
    expect(slotsOf('text').toSorted()).toEqual(texts);
    expect(slotsOf('image')).toEqual(images);
    if (channel_type === 'SEARCH') expect(body.copy.long_headlines).toEqual([]);
    expect(channelSlots.DISPLAY).toEqual({ texts: textSlots, images: ['LANDSCAPE_IMAGE', 'SQUARE_IMAGE'] });
  });

  it('answers a repeated Idempotency-Key with the same session', async () => {
    const app = await newApp();
    const first = await generate(app, { channel_type: 'SEARCH' }, { 'idempotency-key': 'once' });
    const again = await generate(app, { channel_type: 'SEARCH' }, { 'idempotency-key': 'once' });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const other = await generate(app, { channel_type: 'DISPLAY' }, { 'idempotency-key': 'once' });
    expect(other.status).toBe(409);
    expect(requests).toHaveLength(1);
  });

  it('asks once more for texts that are too long, and then fails without a charge', async () => {
    const app = await newApp();
    const answer = (length: number) => ({
      HEADLINE: ['a', 'b', 'c'].map((each) => each.repeat(length)),
      DESCRIPTION: ['d', 'e'],
    });
    script(() => ({ text: JSON.stringify(answer(16)) })); // one headline must have at most 15 characters
    expect(await generate(app, { channel_type: 'SEARCH' })).toMatchObject({ status: 503 });
    script((request) => ({ text: JSON.stringify(answer(documentOf(request).correction ? 12 : 31)) }));
    const got = await generate(app, { channel_type: 'SEARCH' });
    expect(got.body.copy.headlines).toEqual(['a', 'b', 'c'].map((each) => each.repeat(12)));
    const before = await readUsed();
    script(() => ({ text: JSON.stringify(answer(31)) }));
    const key = { 'idempotency-key': 'unusable' };
    expect(await generate(app, { channel_type: 'SEARCH' }, key)).toMatchObject({
      status: 503,
      body: { code: 'model_unavailable', retry_safe: true },
    });
    expect([await readUsed(), await readReserved()]).toEqual([before, 0]);
    script((request) => writeAdTexts(request) ?? {});
    const repeat = async () => (await generate(app, { channel_type: 'SEARCH' }, key)).status;
    await expect.poll(repeat).toBe(200); // after the worker has released its claim
    expect((await readUsed()) - before).toBeCloseTo(3);
  });

  it('is refused without credits first, then without a model, and records nothing', async () => {
    const poor = await world.workspace(owner, 'free');
    await world.db.updateTable('workspaces').set({ monthly_limit: 2.9 }).where('id', '=', poor).execute();
    const app = await world.appOf(owner, poor);
    const asked = { as: await world.token(owner, poor), body: { channel_type: 'SEARCH' } };
    const withoutModel = await startSecondApp(world, { environment: { MODEL_URL: '' } });
    const call = (on = world) => on.call('POST', at(app, 'assets/generate'), asked);
    expect(await call(withoutModel)).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
    await world.db.updateTable('workspaces').set({ monthly_limit: 9 }).where('id', '=', poor).execute();
    expect(await call(withoutModel)).toMatchObject({ status: 503, body: { code: 'model_not_configured' } });
    const withDeadModel = await startSecondApp(world, { environment: { MODEL_URL: 'http://127.0.0.1:9/v1' } });
    expect(await call(withDeadModel)).toMatchObject({ status: 503, body: { code: 'model_unavailable' } });
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 1 }).where('id', '=', poor).execute();
    expect(await call(await startSecondApp(world))).toMatchObject({
      status: 402,
      body: { code: 'storage_quota_exceeded' },
    });
    expect((await list(app, '', asked.as)).body).toEqual({ library: [] });
    expect((await getPoolBalance(world.db, poor, null, startOfMonth(new Date()))).remaining).toBe(9);
  });

  it('answers without waiting for more than its time: with the images so far', async () => {
    const app = await newApp();
    const key = { 'idempotency-key': 'slow' };
    const { body } = await generate(app, { channel_type: 'SEARCH' }, key);
    const { session_id } = body;
    await world.db.updateTable('ads_asset_sessions').set({ state: 'drawing' }).where('id', '=', session_id).execute();
    const images = world.db
      .updateTable('ads_assets')
      .set({ status: 'processing' })
      .where('session_id', '=', session_id);
    await images.where('slot', '=', 'SQUARE_IMAGE').execute();
    const again = await generate(app, { channel_type: 'SEARCH' }, key, impatient);
    expect(again).toMatchObject({ status: 200, body: { session_id, copy: body.copy, background_image_count: 1 } });
    expect(again.body.images).toEqual(body.images.slice(0, 1));
  });

  it('is given up if there are no texts in time: what the model writes later is neither stored nor charged', async () => {
    model.behave('silent');
    const app = await newApp();
    const before = await readUsed();
    const got = await generate(app, { channel_type: 'SEARCH' }, {}, impatient);
    expect(got).toMatchObject({ status: 503, body: { code: 'model_unavailable' } });
    model.behave('well');
    const findSessions = () =>
      world.db.selectFrom('ads_asset_sessions').where('app_id', '=', app.id).selectAll().execute();
    await expect.poll(findSessions).toMatchObject([{ state: 'failed', due_at: null }]);
    expect((await list(app)).body).toEqual({ library: [] });
    expect([await readUsed(), await readReserved()]).toEqual([before, 0]);
  });

  it('draws what is left if a worker takes over, and fails images that cannot be drawn', async () => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type: 'SEARCH' });
    const ofSession = { state: 'drawing' as const, due_at: new Date(0) };
    const images = world.db
      .updateTable('ads_assets')
      .set({ status: 'processing' })
      .where('session_id', '=', body.session_id);
    await images.where('slot', '=', 'SQUARE_IMAGE').execute();
    const session = world.db.updateTable('ads_asset_sessions').where('id', '=', body.session_id);
    const findSession = world.db.selectFrom('ads_asset_sessions').where('id', '=', body.session_id).selectAll();
    await expect.poll(() => findSession.executeTakeFirst()).toMatchObject({ claimed_slot: null, due_at: null });
    await session.set(ofSession).execute();
    world.app.wake.notify('ads_asset_sessions');
    const read = async () => (await list(app, `?session_id=${body.session_id}`)).body.session.length;
    await expect.poll(read).toBe(11);
    await expect.poll(() => findSession.executeTakeFirst()).toMatchObject({ claimed_slot: null, due_at: null });
    await images.where('slot', '=', 'SQUARE_IMAGE').execute();
    await session.set({ state: 'drawing', due_at: null }).execute();
    const row = await findSession.executeTakeFirstOrThrow();
    const queue = world.app.background.queues.find(({ name }) => name === 'ads_asset_sessions');
    await queue?.onDeadLetter?.(world.app.database.db, row as never, 'the storage is full');
    const { library } = (await list(app)).body;
    expect(library.filter(({ status }: { status: string }) => status === 'failed')).toMatchObject([
      { slot: 'SQUARE_IMAGE', image_url: null },
    ]);
    expect(await read()).toBe(10);
  });

  it('says that images have no logo if it cannot be fetched: redirects are not followed', async () => {
    const good = await generate(await newApp({ logo_url: `${logoUrl}/logo.png` }), { channel_type: 'SEARCH' });
    expect(good.headers['x-partial-result']).toBeUndefined();
    const moved = await generate(await newApp({ logo_url: `${logoUrl}/moved` }), { channel_type: 'SEARCH' });
    expect(moved).toMatchObject({ status: 200, headers: { 'x-partial-result': 'logo' } });
    expect(moved.body.images).toHaveLength(2);
  });

  it('draws the images if another worker has written the texts meanwhile', async () => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type: 'SEARCH' });
    const session = world.db.updateTable('ads_asset_sessions').where('id', '=', body.session_id);
    await session.set({ state: 'drawing' }).execute();
    const images = world.db.updateTable('ads_assets').where('session_id', '=', body.session_id);
    await images.set({ status: 'processing' }).where('slot', '=', 'SQUARE_IMAGE').execute();
    const row = await world.db
      .selectFrom('ads_asset_sessions')
      .where('id', '=', body.session_id)
      .selectAll()
      .executeTakeFirstOrThrow();
    const queue = world.app.background.queues.find(({ name }) => name === 'ads_asset_sessions');
    const { db } = world.app.database;
    const context = { db, now: world.clock.now(), signal: new AbortController().signal };
    await queue?.run({ ...row, state: 'writing' } as never, context); // the state when this worker claimed the session
    expect((await list(app, `?session_id=${body.session_id}`)).body.session).toHaveLength(11);
  });

  it('counts the images as stored files, and removes them with the app', async () => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type: 'SEARCH' });
    expect(await recountWorkspace(world.db, workspace)).toBeUndefined();
    await world.db.deleteFrom('apps').where('id', '=', app.id).execute();
    const keys = await world.db.selectFrom('object_removals').select('key').execute();
    for (const { image_url } of body.images)
      expect(keys).toContainEqual({ key: `ad-images/${new URL(image_url).pathname.split('/').at(-1)}` });
    expect(await recountWorkspace(world.db, workspace)).toBeUndefined();
  });

  it('takes the colour of the page', () => {
    const find = (text: string) => findAccent([{ content: Buffer.from(text) }]);
    expect(find('<meta name="theme-color" content="#0F766E">')).toBe('#0F766E');
    expect(find(':root { --accent: light-dark(#3451c6, #9db2ff); }')).toBe('#3451c6');
    expect(find(':root { --primary-color:#abc }')).toBe('#abc');
    expect(find('body { color: red }')).toBeNull();
  });
});

describe('listAssets', () => {
  const yesterday = world.clock.now().getTime() - 24 * 60 * 60 * 1000;
  const insert = (app: AppRow, count: number, more: object = {}) =>
    world.db
      .insertInto('ads_assets')
      .values(
        Array.from({ length: count }, (_, position) => ({
          id: newId(),
          workspace_id: workspace,
          app_id: app.id,
          session_id: newId(),
          position,
          slot: 'HEADLINE' as const,
          kind: 'text' as const,
          text: `Headline ${position}`,
          language: 'en',
          status: 'ready' as const,
          created_date: new Date(yesterday + position),
          ...more,
        })),
      )
      .execute();

  it('answers with the library, newest first, if no session is named, and never with both', async () => {
    const app = await newApp();
    await insert(app, 3);
    const { body, headers } = await list(app);
    expect(Object.keys(body)).toEqual(['library']);
    expect(body.library.map(({ text }: { text: string }) => text)).toEqual(['Headline 2', 'Headline 1', 'Headline 0']);
    expect(body.library[0]).toEqual({
      session_asset_id: expect.any(String),
      slot: 'HEADLINE',
      kind: 'text',
      text: 'Headline 2',
      image_url: null,
      width: null,
      height: null,
      language: 'en',
      created_date: new Date(yesterday + 2).toISOString(),
      session_id: expect.any(String),
      status: 'ready',
      accepted_campaign_id: null,
      accepted_resource_names: [],
    });
    expect(headers['x-truncated']).toBeUndefined();
    expect(Object.keys((await list(app, `?session_id=${body.library[0].session_id}`)).body)).toEqual(['session']);
  });

  it('cuts the library at the 5,000 most recent, and says so', async () => {
    const app = await newApp();
    await insert(app, 2_501);
    await insert(app, 2_500, { created_date: new Date(yesterday - 1) });
    const { body, headers } = await list(app);
    expect(body.library).toHaveLength(5_000);
    expect(body.library[0].text).toBe('Headline 2500');
    expect(headers['x-truncated']).toBe('true');
  });

  it('shows images that are being made in the library, and an empty session until the last one is made', async () => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type: 'SEARCH' });
    const ofSession = `?session_id=${body.session_id}`;
    const setState = async (state: 'drawing' | 'ended', status: 'processing' | 'ready') => {
      await world.db.updateTable('ads_asset_sessions').set({ state }).where('id', '=', body.session_id).execute();
      const images = world.db.updateTable('ads_assets').set({ status }).where('session_id', '=', body.session_id);
      await images.where('slot', '=', 'SQUARE_IMAGE').execute();
    };
    await setState('drawing', 'processing');
    expect((await list(app, ofSession)).body).toEqual({ session: [] });
    const { library } = (await list(app)).body;
    const square = library.find(({ slot }: { slot: string }) => slot === 'SQUARE_IMAGE');
    expect(square).toMatchObject({ status: 'processing', image_url: null, width: 1200 });
    await setState('ended', 'ready');
    expect((await list(app, ofSession)).body.session).not.toEqual([]);
  });

  it('reads sessions as empty that have expired, never existed, or belong to another app; the library keeps the assets', async () => {
    const app = await newApp();
    const { body } = await generate(app, { channel_type: 'SEARCH' });
    const ofSession = `?session_id=${body.session_id}`;
    expect((await list(await newApp(), ofSession)).body).toEqual({ session: [] });
    for (const query of ['?session_id=', `?session_id=${'x'.repeat(3_000)}`, `?session_id=${newId()}`])
      expect(await list(app, query)).toMatchObject({ status: 200, body: { session: [] } });
    const lost = await generate(app, { channel_type: 'SEARCH' });
    const images = world.db.updateTable('ads_assets').where('session_id', '=', lost.body.session_id);
    await images.set({ status: 'processing' }).where('slot', '=', 'SQUARE_IMAGE').execute();
    const { aheadMs } = world.clock;
    world.clock.aheadMs += 24 * 60 * 60 * 1000 + 1;
    const later = await world.token(owner, workspace);
    expect((await list(app, ofSession, later)).body).toEqual({ session: [] });
    const job = world.app.background.jobs.find(({ name }) => name === 'remove expired asset sessions');
    expect(await job?.run(world.app.database.db, world.clock.now())).toBeGreaterThan(0);
    const { library } = (await list(app, '', later)).body;
    expect(library.map(({ status }: { status: string }) => status)).toContain('failed'); // no worker will draw it
    expect(library.map(({ status }: { status: string }) => status)).not.toContain('processing');
    world.clock.aheadMs = aheadMs;
  });

  it('forgets assets after 90 days, unless a campaign uses them', async () => {
    const app = await newApp();
    const created_date = new Date(yesterday - 89 * 24 * 60 * 60 * 1000);
    await insert(app, 1, { created_date });
    await insert(app, 1, { created_date, status: 'accepted', text: 'Used' });
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old generated assets');
    await job?.run(world.app.database.db, new Date(world.clock.now().getTime() + 1_000));
    expect((await list(app)).body.library).toMatchObject([{ text: 'Used' }]);
  });

  it('answers only 200, 401 and 403 without campaign_id: bad parameters are ignored, and unknown apps are refused with 403', async () => {
    const app = await newApp();
    const got = await list(app, '?session_id=a&session_id=b&other=1');
    expect(got).toMatchObject({ status: 200, body: { session: [] } });
    expect(got.headers['x-ignored-fields']?.split(',').toSorted()).toEqual(['other', 'session_id']);
    for (const id of [newId(), 'malformed'])
      expect(await list({ id })).toMatchObject({ status: 403, body: { code: 'app_access_denied' } });
    expect((await world.call('GET', at(app, 'assets'))).status).toBe(401);
  });

  it('knows no campaign that does not exist', async () => {
    const got = await list(await newApp(), `?campaign_id=${newId()}`);
    expect(got).toMatchObject({ status: 404, body: { code: 'campaign_not_found' } });
  });
});

describe('getAdImage', () => {
  it('answers 304 to those who have the image, and 404 to names that no image has', async () => {
    const { body } = await generate(await newApp(), { channel_type: 'SEARCH' });
    const path = new URL(body.images[0].image_url).pathname;
    const { headers } = await fetch(world.url + path);
    const again = await fetch(world.url + path, { headers: { 'if-none-match': headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    for (const name of [`${'0'.repeat(40)}.jpg`, 'x.jpg', '..%2fexports%2fx'])
      expect(await world.call('GET', `/api/ads-platform/images/${name}`)).toMatchObject({
        status: 404,
        body: { code: 'asset_not_found' },
      });
  });
});
