// Tests for conversion tracking: goals, mappings, the bootstrap prompt, the scan and the verification.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { openPlatformClient } from '../../../../test/support/ad-platform.ts';
import { publishFiles, putFiles } from '../../../../test/support/published.ts';
import { startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { conversionTypes } from './contract.ts';
import { renderTag } from './tag.ts';

const platform = await startAdPlatform();
/** Acts as the account's other users. */
const client = openPlatformClient(platform);
afterAll(async () => {
  await client.close();
  await platform.close();
});
const world = await startWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  tagPauseMs: 100,
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

const isLate = { tag_delay_ms: 3_600_000 };
beforeEach(async () => {
  platform.setFaults();
  platform.configure({ tag_delay_ms: 0 });
  await world.resetRateLimits();
});

const call = (app: AppRow, method: string, path: string, body?: object) =>
  world.call(method, `/api/apps/${app.id}/ads-platform/${path}`, { as: token, ...(body && { body }) });
const list = (app: AppRow, query = '') => call(app, 'GET', `conversion-actions${query}`);
const build = (app: AppRow, body: object = {}) => call(app, 'POST', 'tracking-scan/build-bootstrap-prompt', body);
const map = async (app: AppRow, body: object = {}) =>
  (await call(app, 'POST', 'conversion-mappings', { entity_name: 'Order', conversion_type: 'PURCHASE', ...body })).body;
const scan = (app: AppRow) => call(app, 'POST', 'tracking-scan');
const verify = (app: AppRow) => call(app, 'POST', 'tracking-verify');

const orders = {
  name: 'Order',
  properties: { total: { type: 'number' }, currency: { type: 'string' } },
  rls: { read: true, write: true },
};

/** Creates an app with an Order entity. */
async function newApp() {
  const app = await world.appOf(owner, workspace);
  await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, { as: token, body: orders });
  return app;
}

async function newAdvertisedApp() {
  const app = await newApp();
  const account = await call(app, 'POST', 'accounts/ensure-for-tracking', {});
  expect(account.status).toBe(200);
  return { app, customerId: account.body.platform_customer_id as string, accountId: account.body.id as string };
}

/** Creates an app with its ten goals. Returns each category's target, such as `AW-1/abc`. */
async function newTrackedApp() {
  const { app, accountId } = await newAdvertisedApp();
  const { conversion_id: id } = (await build(app)).body;
  const { items } = (await list(app)).body;
  const targets = new Map<string, string>(
    items.map((each: Record<string, string>) => [each.category, `${each.conversion_id}/${each.conversion_label}`]),
  );
  return { app, accountId, id: id as string, targetOf: (category: string) => targets.get(category) ?? '' };
}

/** The number of requests that the platform received for an account, according to its own journal. */
const countCalls = (customerId: string, kind: 'search' | 'mutate', query = '') =>
  platform.journal.filter(
    ({ event, call, customer_id, body }) =>
      event === 'received' && call === kind && customer_id === customerId && JSON.stringify(body).includes(query),
  ).length;
const countReads = (customerId: string) => countCalls(customerId, 'search', 'FROM conversion_action');

/** The categories in all audit entries, sorted. */
async function listAuditedGoals(app: AppRow): Promise<string[]> {
  const path = `/api/workspace/audit-log?type=ads.goals.created&app_id=${app.id}`;
  const { items } = (await world.call('GET', path, { as: token })).body;
  return items.flatMap(({ after }: { after: { categories: string[] } }) => after.categories).sort();
}

const page = (...parts: string[]) => `<!doctype html><title>Shop</title>${parts.join('')}`;
const load = "s.src = 'https://www.googletagmanager.com/gtag/js?id=AW-1';";
const report = (sendTo: string) => `window.gtag?.('event', 'conversion', { send_to: '${sendTo}' });`;

describe('listConversionActions', () => {
  it('answers 404 without an account', async () => {
    expect(await list(await newApp())).toMatchObject({ status: 404, body: { code: 'ads_account_not_found' } });
  });

  it('has an empty id and label until the platform publishes the tag', async () => {
    platform.configure(isLate);
    const { app } = await newAdvertisedApp();
    await build(app);
    const late = (await list(app)).body.items;
    expect(late).toHaveLength(10);
    expect(late[0]).toEqual({
      platform_action_id: expect.stringMatching(/^\d+$/),
      name: 'Plinth PHONE_CALL_LEAD',
      category: 'PHONE_CALL_LEAD',
      status: 'ENABLED',
      conversion_id: '',
      conversion_label: '',
    });
    platform.configure({ tag_delay_ms: 0 });
    expect((await list(app)).body.items[0]).toMatchObject({
      conversion_id: expect.stringMatching(/^AW-\d+$/),
      conversion_label: expect.stringMatching(/^\w+$/),
    });
  });

  it('lists them page by page', async () => {
    const { app } = await newTrackedApp();
    const first = (await list(app, '?limit=6')).body;
    const second = (await list(app, `?limit=6&cursor=${first.next_cursor}`)).body;
    const names = [...first.items, ...second.items].map(({ category }) => category);
    expect(names).toEqual(conversionTypes.toReversed());
    expect(second).toMatchObject({ has_more: false, next_cursor: null });
    expect(await list(app, '?cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('answers 503 if the platform does not answer', async () => {
    const { app } = await newAdvertisedApp();
    platform.setFaults({ call: 'search', fault: 'drop_before' });
    const unavailable = { status: 503, body: { code: 'ad_platform_unavailable' } };
    expect(await list(app)).toMatchObject(unavailable);
    expect(await call(app, 'GET', 'tracking-script')).toMatchObject(unavailable);
    expect(await build(app)).toMatchObject(unavailable);
    expect(await scan(app)).toMatchObject(unavailable);
    expect(await verify(app)).toMatchObject(unavailable);
  });
});

describe('conversion mappings', () => {
  it('are created with defaults, listed newest first, and deleted', async () => {
    const { app, accountId } = await newAdvertisedApp();
    const first = await map(app);
    expect(first).toMatchObject({
      account_id: accountId,
      entity_name: 'Order',
      trigger_action: 'create',
      conversion_type: 'PURCHASE',
      conversion_action_id: '',
      value_field: '',
      currency_field: '',
      is_enabled: true,
    });
    const second = await map(app, { trigger_action: 'delete', value_field: 'total', is_enabled: false });
    const mappings = () => call(app, 'GET', 'conversion-mappings');
    expect((await mappings()).body.items).toEqual([second, first]);
    const pages = await call(app, 'GET', 'conversion-mappings?limit=1');
    const next = await call(app, 'GET', `conversion-mappings?limit=1&cursor=${pages.body.next_cursor}`);
    expect(next.body).toMatchObject({ items: [first], has_more: false });
    const remove = () => call(app, 'DELETE', `conversion-mappings/${first.id}`);
    expect(await remove()).toMatchObject({ status: 200, body: { success: true } });
    expect(await remove()).toMatchObject({ status: 404, body: { code: 'mapping_not_found' } });
    expect((await mappings()).body.items).toEqual([second]);
    expect(await call(app, 'GET', 'conversion-mappings?cursor=x')).toMatchObject({ status: 400 });
  });

  it('need an account, which is not a parameter', async () => {
    const body = { entity_name: 'Order', conversion_type: 'PURCHASE', account_id: 'x' };
    const without = await newApp();
    const missing = { status: 404, body: { code: 'ads_account_not_found' } };
    expect(await call(without, 'POST', 'conversion-mappings', body)).toMatchObject(missing);
    expect(await call(without, 'GET', 'conversion-mappings')).toMatchObject(missing);
    const { app, accountId } = await newAdvertisedApp();
    expect(await call(app, 'POST', 'conversion-mappings', body)).toMatchObject({
      status: 200,
      headers: { 'x-ignored-fields': 'account_id' },
      body: { account_id: accountId },
    });
  });

  it.each([
    [{ entity_name: 'Nothing' }, 'entity_name', 'value_error'],
    [{ value_field: 'nothing' }, 'value_field', 'unknown_field'],
    [{ currency_field: 'nothing' }, 'currency_field', 'unknown_field'],
    [{ conversion_type: 'NOTHING' }, 'conversion_type', 'enum'],
    [{ conversion_action_id: 'x' }, 'conversion_action_id', 'string_pattern_mismatch'],
  ])('refuse %j with 422', async (change, field, type) => {
    const { app } = await newAdvertisedApp();
    const fault = { status: 422, body: { detail: [{ loc: ['body', field], type }] } };
    const body = { entity_name: 'Order', conversion_type: 'PURCHASE', ...change };
    expect(await call(app, 'POST', 'conversion-mappings', body)).toMatchObject(fault);
    const { id } = await map(app);
    expect(await call(app, 'PATCH', `conversion-mappings/${id}`, change)).toMatchObject(fault);
  });

  it('change: null keeps a value, and an empty text clears it', async () => {
    const { app } = await newAdvertisedApp();
    const mapping = await map(app, { value_field: 'total', currency_field: 'currency' });
    const change = (body: object) => call(app, 'PATCH', `conversion-mappings/${mapping.id}`, body);
    expect(await change({ value_field: null, is_enabled: null })).toMatchObject({
      headers: { 'x-changed': 'false' },
      body: mapping,
    });
    expect((await change({ value_field: '', is_enabled: false })).body).toEqual({
      ...mapping,
      value_field: '',
      is_enabled: false,
      updated_date: expect.any(String),
    });
  });

  it('can be disabled when the schema has lost their field', async () => {
    const { app } = await newAdvertisedApp();
    const { id } = await map(app, { value_field: 'total' });
    const body = { ...orders, properties: { currency: { type: 'string' } } };
    await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, { as: token, body });
    const change = (body: object) => call(app, 'PATCH', `conversion-mappings/${id}`, body);
    expect(await change({ is_enabled: false })).toMatchObject({ status: 200, body: { is_enabled: false } });
    expect(await change({ entity_name: 'Order', is_enabled: true })).toMatchObject({ status: 422 });
  });

  it('keep the schema of their entity from being deleted', async () => {
    const { app } = await newAdvertisedApp();
    const mapping = await map(app);
    const remove = () => world.call('DELETE', `/api/apps/${app.id}/entity-schemas/Order`, { as: token });
    expect(await remove()).toMatchObject({ status: 409, body: { code: 'schema_in_use', entity_names: ['Order'] } });
    await call(app, 'DELETE', `conversion-mappings/${mapping.id}`);
    expect(await remove()).toMatchObject({ status: 200 });
  });

  it('are at most 100', async () => {
    const { app } = await newAdvertisedApp();
    const { id } = await map(app);
    await sql`insert into conversion_mappings select (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid()))).*
      from conversion_mappings m, generate_series(1, 99) where m.id = ${id}`.execute(world.db);
    expect(await map(app)).toMatchObject({ code: 'limit_reached', limit: 100 });
  });
});

describe('getTrackingScript', () => {
  it('answers the base tag with the id of the account', async () => {
    const without = await newApp();
    expect(await call(without, 'GET', 'tracking-script')).toMatchObject({ status: 404 });
    const { app, id } = await newTrackedApp();
    expect((await call(app, 'GET', 'tracking-script')).body).toEqual({ conversion_id: id, script: renderTag(id) });
  });

  it('is empty until the account has a goal, and knows the id before the tags are published', async () => {
    platform.configure(isLate);
    const { app } = await newAdvertisedApp();
    expect((await call(app, 'GET', 'tracking-script')).body).toEqual({ conversion_id: '', script: '' });
    await build(app);
    const { conversion_id, script } = (await call(app, 'GET', 'tracking-script')).body;
    expect(script).toContain(`gtag('config', '${conversion_id}')`);
  });
});

describe('buildBootstrapPrompt', () => {
  it('is skipped without an account, and says nothing else', async () => {
    expect((await build(await newApp(), { wire_events: true })).body).toEqual({
      composer_prompt: '',
      skipped_reason: 'no_ads_account',
    });
  });

  it('creates the ten goals by name, once, and installs only the base tag by default', async () => {
    const { app, customerId } = await newAdvertisedApp();
    const { body } = await build(app);
    expect(body).toEqual({
      composer_prompt: expect.stringContaining(renderTag(body.conversion_id)),
      conversion_id: expect.stringMatching(/^AW-\d+$/),
      actions_created_or_existing: 10,
      wired_mappings: 0,
    });
    expect(body.composer_prompt).not.toContain('send_to');
    expect((await build(app, { wire_events: false })).body).toEqual(body);
    expect(countCalls(customerId, 'mutate')).toBe(1);
    const names = (await list(app)).body.items.map(({ name }: { name: string }) => name);
    expect(names).toEqual(conversionTypes.map((type) => `Plinth ${type}`).toReversed());
  });

  it('offers all categories if events are to be wired and no mapping is enabled', async () => {
    const { app, targetOf } = await newTrackedApp();
    await map(app, { is_enabled: false });
    const { body } = await build(app, { wire_events: true });
    expect(body.wired_mappings).toBe(10);
    for (const type of conversionTypes) expect(body.composer_prompt).toContain(`send_to: '${targetOf(type)}'`);
  });

  it('wires each enabled mapping, with its value and currency', async () => {
    const { app, targetOf } = await newTrackedApp();
    await map(app, { value_field: 'total', currency_field: 'currency' });
    await map(app, { trigger_action: 'delete', conversion_type: 'CONTACT' });
    await map(app, { conversion_type: 'SIGNUP', is_enabled: false });
    const { body } = await build(app, { wire_events: true });
    expect(body.wired_mappings).toBe(2);
    expect(body.composer_prompt).toContain(
      `(entities.Order.create), as PURCHASE: \`window.gtag?.('event', 'conversion', { send_to: '${targetOf('PURCHASE')}', value: record.total, currency: record.currency });\``,
    );
    expect(body.composer_prompt).toContain(`{ send_to: '${targetOf('CONTACT')}' }`);
    expect(body.composer_prompt).not.toContain(targetOf('SIGNUP'));
  });

  it('reports to the conversion action that a mapping names', async () => {
    const { app, targetOf } = await newTrackedApp();
    const { items } = (await list(app)).body;
    const named = items.find(({ category }: { category: string }) => category === 'CONTACT').platform_action_id;
    await map(app, { conversion_action_id: named });
    expect((await build(app, { wire_events: true })).body.composer_prompt).toContain(targetOf('CONTACT'));
  });

  it('waits until the tags of the mapped goals are published', async () => {
    platform.configure(isLate);
    const { app, customerId } = await newAdvertisedApp();
    await build(app);
    await map(app);
    const before = countReads(customerId);
    const building = build(app, { wire_events: true });
    await expect.poll(() => countReads(customerId) - before, { interval: 10 }).toBe(2);
    platform.configure({ tag_delay_ms: 0 });
    const { body } = await building;
    expect(body).toMatchObject({ conversion_id: expect.stringMatching(/^AW-/), wired_mappings: 1 });
    expect(body.composer_prompt).toContain(`send_to: '${body.conversion_id}/`);
    expect(countReads(customerId) - before).toBeLessThan(5);
  });

  it('tells the assistant to look ids up if they are not published after four more reads', async () => {
    platform.configure(isLate);
    const { app, customerId } = await newAdvertisedApp();
    await build(app);
    await map(app);
    await map(app, { trigger_action: 'delete', conversion_action_id: '7' });
    const before = countReads(customerId);
    const { status, body } = await build(app, { wire_events: true });
    expect(countReads(customerId) - before).toBe(5);
    expect(status).toBe(200);
    expect(body).toMatchObject({ conversion_id: '', actions_created_or_existing: 10, wired_mappings: 2 });
    expect(body.composer_prompt).toContain(`GET /api/apps/${app.id}/ads-platform/conversion-actions`);
    expect(body.composer_prompt).toContain(`send_to: 'CONVERSION_ID/LABEL_OF_PURCHASE'`);
    expect(body.composer_prompt).toContain(`send_to: 'CONVERSION_ID/LABEL_OF_ACTION_7'`);
  });

  const uncertain = 'Some conversion goals may have been created';
  it.each([
    ['mutate', 'duplicate', 0, 200, ''],
    ['mutate', 'drop_after', 0, 200, ''],
    ['mutate', 'error_after', 0, 200, ''],
    ['mutate', 'drop_before', 0, 503, uncertain],
    ['mutate', 'error_before', 0, 503, uncertain],
    ['mutate', 'refuse', 0, 400, 'rejected the conversion goals'],
    ['search', 'drop_before', 0, 503, "can't be reached"],
    ['search', 'drop_before', 1, 503, uncertain],
  ] as const)('after the fault of %s %s (after %i) it answers %i, and can be repeated', async (...row) => {
    const [call, fault, after, status, text] = row;
    const { app } = await newAdvertisedApp();
    platform.setFaults({ call, fault, after, times: 1 });
    const first = await build(app);
    expect(first.status).toBe(status);
    if (status !== 200) expect(first.text).toContain(text);
    if (status === 503) expect(first.body).toMatchObject({ code: 'ad_platform_unavailable', retry_safe: true });
    if (status === 400)
      expect(first.body).toMatchObject({ code: 'platform_rejected', platform_reasons: [{ code: expect.any(String) }] });
    expect((await build(app)).body).toMatchObject({ actions_created_or_existing: 10 });
    expect((await list(app)).body.items).toHaveLength(10);
    expect(await listAuditedGoals(app)).toEqual([...conversionTypes].sort());
  });

  it('records the goals that were created although one was refused, because its name is taken by another type', async () => {
    const { app, customerId } = await newAdvertisedApp();
    const taken = { name: 'Plinth PURCHASE', type: 'UPLOAD_CLICKS' };
    await client.mutate(customerId, [{ conversionActionOperation: { create: taken } }]);
    const refused = {
      status: 400,
      body: {
        code: 'platform_rejected',
        platform_reasons: [{ code: expect.stringContaining('DUPLICATE_NAME'), message: expect.any(String) }],
      },
    };
    expect(await build(app)).toMatchObject(refused);
    expect(await build(app)).toMatchObject(refused);
    expect(await listAuditedGoals(app)).toEqual(conversionTypes.filter((type) => type !== 'PURCHASE').sort());
  });

  it('records goals that a call created before it ended without an answer', async () => {
    const { app, accountId } = await newTrackedApp();
    await sql`update ads_accounts set recorded_goals = '{PURCHASE}' where id = ${accountId}`.execute(world.db);
    await build(app);
    expect((await listAuditedGoals(app)).filter((type) => type === 'PURCHASE')).toHaveLength(1);
    expect((await listAuditedGoals(app)).filter((type) => type === 'SIGNUP')).toHaveLength(2);
  });
});

describe('scanTracking', () => {
  const clean = { scanned: true, is_clean: true, gaps: [] };

  it('is skipped without an account, and is then not clean', async () => {
    expect((await scan(await newApp())).body).toEqual({
      is_clean: false,
      scanned: false,
      calls_count: 0,
      mappings_count: 0,
      enabled_mappings_count: 0,
      gaps: [],
      skipped_reason: 'no_ads_account',
    });
  });

  it('finds that the base tag is missing, and is clean once it is there', async () => {
    const { app, id } = await newTrackedApp();
    await putFiles(world, app, { 'public/index.html': page() }, token);
    expect((await scan(app)).body).toMatchObject({
      is_clean: false,
      gaps: [
        {
          id: 'missing-base-tag',
          severity: 'error',
          file_path: 'index.html',
          message: expect.stringContaining(id),
          composer_prompt: expect.stringContaining(renderTag(id)),
        },
      ],
    });
    await putFiles(world, app, { 'public/index.html': page(`<!-- ${renderTag(id)} -->`) }, token);
    expect((await scan(app)).body.is_clean).toBe(false);
    await putFiles(world, app, { 'public/index.html': page(renderTag('AW-1')) }, token);
    expect((await scan(app)).body.is_clean).toBe(false);
    await putFiles(world, app, { 'public/index.html': page(renderTag(id)) }, token);
    expect((await scan(app)).body).toMatchObject({ ...clean, calls_count: 0 });
  });

  it('warns if another page lacks the base tag, and has nothing to say about an app without pages but that', async () => {
    const { app, id } = await newTrackedApp();
    await putFiles(world, app, { 'public/index.html': page(renderTag(id)), 'public/about.html': page() }, token);
    const gap = { id: 'missing-base-tag', severity: 'warning', file_path: 'about.html' };
    expect((await scan(app)).body).toMatchObject({ is_clean: false, gaps: [gap] });
    await putFiles(world, app, { 'notes.txt': 'x' }, token);
    expect((await scan(app)).body).toMatchObject({
      gaps: [{ id: 'missing-base-tag', severity: 'error', file_path: null }],
    });
  });

  it('proposes nothing for an account without a goal', async () => {
    const { app } = await newAdvertisedApp();
    expect((await scan(app)).body.gaps).toMatchObject([{ id: 'missing-base-tag', composer_prompt: null }]);
  });

  it('compares the calls of the files with the enabled mappings', async () => {
    const { app, id, targetOf } = await newTrackedApp();
    const mapping = await map(app);
    await map(app, { conversion_type: 'SIGNUP', is_enabled: false });
    const write = (script: string) =>
      putFiles(world, app, { 'public/index.html': page(renderTag(id)), 'public/app.js': script }, token);
    await write('let a;');
    expect((await scan(app)).body).toMatchObject({
      calls_count: 0,
      mappings_count: 2,
      enabled_mappings_count: 1,
      gaps: [
        {
          id: `missing-call-${mapping.id}`,
          severity: 'error',
          file_path: null,
          composer_prompt: expect.stringContaining(targetOf('PURCHASE')),
        },
      ],
    });
    await write(report(`${id}/unknown`));
    expect((await scan(app)).body).toMatchObject({
      calls_count: 1,
      gaps: [
        {
          id: `wrong-label-${mapping.id}`,
          severity: 'error',
          file_path: 'app.js',
          composer_prompt: expect.stringContaining(
            `send_to "${id}/unknown", and change its send_to to '${targetOf('PURCHASE')}'`,
          ),
        },
      ],
    });
    await write(report('AW-1/agency'));
    expect((await scan(app)).body.gaps).toMatchObject([
      { id: `missing-call-${mapping.id}` },
      { id: 'unmapped-call-1', message: expect.stringContaining('to another account') },
    ]);
    await write(report(targetOf('PURCHASE')));
    expect((await scan(app)).body).toMatchObject({ ...clean, calls_count: 1 });
    await write([report(targetOf('PURCHASE')), report(targetOf('SIGNUP')), report('AW-1/x')].join('\n'));
    expect((await scan(app)).body).toMatchObject({
      calls_count: 3,
      gaps: [
        { id: 'unmapped-call-1', severity: 'warning', file_path: 'app.js', message: expect.stringContaining('Line 2') },
        { id: 'unmapped-call-2', severity: 'warning', file_path: 'app.js', message: expect.stringContaining('Line 3') },
      ],
    });
  });

  it('wants a call for each of two mappings of one goal', async () => {
    const { app, id, targetOf } = await newTrackedApp();
    await map(app);
    const second = await map(app, { trigger_action: 'update' });
    const call = `<script>${report(targetOf('PURCHASE'))}</script>`;
    await putFiles(world, app, { 'public/index.html': page(renderTag(id), call) }, token);
    expect((await scan(app)).body.gaps).toMatchObject([{ id: `missing-call-${second.id}` }]);
    await putFiles(world, app, { 'public/index.html': page(renderTag(id), call, call) }, token);
    expect((await scan(app)).body).toMatchObject(clean);
  });

  it('is not clean while the goal of a mapping is not published', async () => {
    const { app, id } = await newTrackedApp();
    const mapping = await map(app, { conversion_action_id: '1' });
    await putFiles(world, app, { 'public/index.html': page(renderTag(id)) }, token);
    expect((await scan(app)).body.gaps).toMatchObject([
      {
        id: `missing-call-${mapping.id}`,
        message: expect.stringContaining('has no published tag'),
        composer_prompt: null,
      },
    ]);
  });

  it('names files that it could not read, and is not clean then', async () => {
    const { app, id } = await newTrackedApp();
    const files = {
      'public/index.html': page(renderTag(id)),
      'public/broken tag.js': 'gtag(',
      'public/large.js': `gtag('${'x'.repeat(2 * 1024 * 1024)}')`,
      'public/large-library.js': `x = '${'x'.repeat(2 * 1024 * 1024)}'`, // no tag in this file
      'public/broken.js': 'let a = ;', // no tag in this file
    };
    await putFiles(world, app, files, token);
    expect(await scan(app)).toMatchObject({
      headers: {
        'x-partial-result': 'gaps',
        'x-warning': 'file_not_scanned:broken%20tag.js,file_not_scanned:large.js',
      },
      body: { scanned: true, is_clean: false, gaps: [] },
    });
  });

  it('does not claim that something is missing which may be in a file that it could not read', async () => {
    const { app } = await newTrackedApp();
    const mapping = await map(app);
    await putFiles(world, app, { 'public/index.html': page('<script>gtag(</script>') }, token);
    expect((await scan(app)).body.gaps).toMatchObject([
      { id: 'missing-base-tag', message: expect.stringContaining("can't tell"), composer_prompt: null },
      { id: `missing-call-${mapping.id}`, message: expect.stringContaining('No readable file'), composer_prompt: null },
    ]);
  });

  it('names unread files within the length of a header', async () => {
    const { app, id } = await newTrackedApp();
    const broken = Array.from({ length: 10 }, (_, n) => [`public/${n}${'ü'.repeat(100)}.js`, 'gtag(']);
    await putFiles(world, app, { 'public/index.html': page(renderTag(id)), ...Object.fromEntries(broken) }, token);
    const { headers } = await scan(app);
    expect(headers['x-warning']).toMatch(/^file_not_scanned:0.+,%E2%80%A6$/);
    expect(headers['x-warning']?.length).toBeLessThan(2_048);
  });

  it.each([
    ['is loaded with the id of another product', (id: string) => ({ html: renderTag(id).replace(id, 'G-1') }), []],
    [
      'is in a script that the page names',
      (id: string) => ({ html: '<script src="./a.js"></script>', script: `${load}gtag('config', '${id}')` }),
      [],
    ],
    [
      'is in a script that the page does not name',
      (id: string) => ({ html: '', script: `${load}gtag('config', '${id}')` }),
      [{ id: 'missing-base-tag', severity: 'warning', file_path: 'index.html', composer_prompt: null }],
    ],
  ])('knows whether the landing page has a tag that %s, and so does the verification', async (_, write, gaps) => {
    const { app, id } = await newTrackedApp();
    const { html, script = '' } = write(id) as { html: string; script?: string };
    await publishFiles(world, app, { 'public/index.html': page(html), 'public/a.js': script }, token);
    expect((await scan(app)).body.gaps).toMatchObject(gaps);
    expect((await verify(app)).body).toMatchObject({ verified: gaps.length === 0 });
  });

  it('shows at most 200 gaps, and counts all calls', async () => {
    const { app, id } = await newTrackedApp();
    const script = Array.from({ length: 250 }, () => report('AW-1/x')).join('\n');
    await putFiles(world, app, { 'public/index.html': page(renderTag(id)), 'public/app.js': script }, token);
    const got = await scan(app);
    expect(got).toMatchObject({ headers: { 'x-truncated': 'true' }, body: { calls_count: 250 } });
    expect(got.body.gaps).toHaveLength(200);
  });

  it('reads what is published, or else the current files', async () => {
    const { app, id } = await newTrackedApp();
    await publishFiles(world, app, { 'dist/index.html': page(renderTag(id)), 'public/index.html': page() }, token);
    await putFiles(world, app, { 'dist/index.html': page() }, token);
    expect((await scan(app)).body).toMatchObject(clean);
    await world.call('POST', `/api/apps/${app.id}/unpublish`, { as: token });
    expect((await scan(app)).body.is_clean).toBe(false);
  });
});

describe('verifyTracking without a browser', () => {
  const isStored = async (app: AppRow) => (await call(app, 'GET', 'launch-readiness')).body.tracking_verified;

  it('answers 404 without an account', async () => {
    expect(await verify(await newApp())).toMatchObject({ status: 404, body: { code: 'ads_account_not_found' } });
  });

  it('wants the app to be published, with the tag and the calls, and the goals too', async () => {
    platform.configure(isLate);
    const { app } = await newAdvertisedApp();
    const first = await verify(app);
    expect(first.body).toMatchObject({ verified: false, enabled_campaign_ids: [] });
    expect(first.body.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])).toEqual([
      ['base_tag_on_page', false],
      ['no_error_gaps', false],
      ['goal_published', true],
    ]);
    await build(app);
    await map(app);
    const { script } = (await call(app, 'GET', 'tracking-script')).body;
    await publishFiles(world, app, { 'public/index.html': page(script) }, token);
    expect((await verify(app)).body.checks).toMatchObject([
      { ok: true, detail: expect.stringContaining('no browser') },
      { ok: false, detail: expect.stringContaining('1 error.') },
      { ok: false, detail: expect.stringContaining('1 of 1 enabled mappings') },
    ]);
    expect(await isStored(app)).toBe(false);
  });

  it('is judged again by each request, and stores one result for what is live', async () => {
    const { app, id, targetOf } = await newTrackedApp();
    const files = { 'public/index.html': page(renderTag(id)), 'public/app.js': report(targetOf('PURCHASE')) };
    await map(app);
    await publishFiles(world, app, files, token);
    const first = await verify(app);
    expect(first.body).toMatchObject({ verified: true, enabled_campaign_ids: [] });
    const listResults = () =>
      world.db
        .selectFrom('tracking_checks')
        .where('app_id', '=', app.id)
        .select(['verified', 'deployment_id'])
        .execute();
    const stored = await listResults();
    expect(stored).toMatchObject([{ verified: true }]);
    const again = await verify(app);
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(await listResults()).toEqual(stored);
  });

  it('is stored for what is live, until something else is published or a mapping is added or changed', async () => {
    const { app, id, targetOf } = await newTrackedApp();
    const files = { 'public/index.html': page(renderTag(id)), 'public/app.js': report(targetOf('PURCHASE')) };
    const mapping = await map(app);
    await publishFiles(world, app, files, token);
    expect((await verify(app)).body).toMatchObject({ verified: true });
    expect(await isStored(app)).toBe(true);
    await publishFiles(world, app, { ...files, 'public/x.txt': 'x' }, token);
    expect(await isStored(app)).toBe(false);
    expect((await verify(app)).body).toMatchObject({ verified: true });
    expect(await isStored(app)).toBe(true);
    await call(app, 'PATCH', `conversion-mappings/${mapping.id}`, { value_field: 'total' });
    expect(await isStored(app)).toBe(false);
    await verify(app);
    await call(app, 'DELETE', `conversion-mappings/${mapping.id}`);
    expect(await isStored(app)).toBe(true);
    const setPolicy = (csp: string | null) =>
      world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: token, body: { headers: { csp } } });
    await setPolicy("default-src 'self'");
    expect(await isStored(app)).toBe(false);
    expect(await verify(app)).toMatchObject({
      headers: { 'x-partial-result': 'checks' },
      body: {
        verified: false,
        checks: [{ ok: false, detail: expect.stringContaining('Content-Security-Policy') }, {}, {}],
      },
    });
    await setPolicy(null);
    await verify(app);
    expect(await isStored(app)).toBe(true);
    await map(app, { conversion_type: 'SIGNUP' });
    expect(await isStored(app)).toBe(false);
  });

  it('is not stored if a mapping changed meanwhile, and says so', async () => {
    const { app, id } = await newTrackedApp();
    const { id: mappingId } = await map(app, { is_enabled: false });
    await publishFiles(world, app, { 'public/index.html': page(renderTag(id)) }, token);
    const verifying = await world.db.transaction().execute(async (db) => {
      await sql`select from apps where id = ${app.id} for update`.execute(db);
      const answer = verify(app); // blocks on the row before storing the result
      const isWaiting = async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db);
        return rows.length > 0;
      };
      await expect.poll(isWaiting, { interval: 20 }).toBe(true);
      await sql`update conversion_mappings set is_enabled = true where id = ${mappingId}`.execute(db);
      return { answer };
    });
    expect(await verifying.answer).toMatchObject({
      headers: { 'x-partial-result': 'checks' },
      body: {
        verified: false,
        checks: [{ ok: false, detail: expect.stringContaining('changed during the check') }, {}, {}],
      },
    });
    expect(await isStored(app)).toBe(false);
  });

  it('counts a file that the scan could not read as not verified', async () => {
    const { app, id } = await newTrackedApp();
    await publishFiles(world, app, { 'public/index.html': page(renderTag(id)), 'public/a.js': 'gtag(' }, token);
    expect((await verify(app)).body).toMatchObject({
      verified: false,
      checks: [{ ok: true }, { ok: false }, { ok: true }],
    });
  });
});
