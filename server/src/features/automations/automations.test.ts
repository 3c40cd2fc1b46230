// Tests the operations on automations (docs/api/automations.md).
import { describe, expect, it } from 'vitest';
import { startAutomationScene } from '../../../test/support/automation-scene.ts';
import { waitUntilBlocked } from '../../../test/support/waiting.ts';
import type { Plan } from '../../core/auth/plans.ts';

const { world, owner, workspace, call, url, createApp, createAutomation } = await startAutomationScene();

const request = (more: object = {}) => ({ type: 'http_request', url: url('/'), ...more });
const ofOrders = { name: 'Orders', type: 'entity', entity_name: 'Order', event_types: ['create'] };
const scheduled = { name: 'Daily', type: 'scheduled', schedule: { every_minutes: 60 } };
const app = await createApp();
const base = `/api/apps/${app.id}/automations`;
const create = (body: object) => call('POST', base, body);
const faultsOf = async (body: object) => {
  const got = await create(body);
  expect(got.status, got.text).toBe(422);
  return got.body.detail;
};

async function entriesOf(id: string) {
  const rows = await world.db.selectFrom('audit_pending').select('entry').execute();
  const entries = rows.map(({ entry }) => (typeof entry === 'string' ? JSON.parse(entry) : entry));
  return entries.filter((entry) => entry.target.id === id);
}

describe('createAutomation', () => {
  it('returns the automation, with null for what it does not have', async () => {
    const got = await create({ ...ofOrders, condition: '.data.total > 100', action: request({ body: '{a: .id}' }) });
    expect(got).toMatchObject({ status: 200 });
    expect(got.body).toEqual({
      id: expect.any(String),
      ...ofOrders,
      description: null,
      condition: '.data.total > 100',
      schedule: null,
      action: { type: 'http_request', url: url('/'), body: '{a: .id}' },
      is_active: true,
      last_run_at: null,
      last_error: null,
      consecutive_failures: 0,
    });
    expect((await call('GET', base)).body.items[0]).toEqual(got.body);
  });

  it('requires the fields of the type and refuses those of the other', async () => {
    expect(await faultsOf({ name: 'A', type: 'entity', schedule: { every_minutes: 5 }, action: request() })).toEqual([
      { loc: ['body', 'entity_name'], msg: 'is required if `type` is `entity`', type: 'missing' },
      { loc: ['body', 'event_types'], msg: 'is required if `type` is `entity`', type: 'missing' },
      { loc: ['body', 'schedule'], msg: 'is only allowed if `type` is `scheduled`', type: 'value_error' },
    ]);
    expect(await faultsOf({ ...ofOrders, type: 'scheduled', action: request() })).toMatchObject([
      { loc: ['body', 'schedule'], type: 'missing' },
      { loc: ['body', 'entity_name'], type: 'value_error' },
      { loc: ['body', 'event_types'], type: 'value_error' },
    ]);
  });

  it('requires the fields of the action and refuses those of the other', async () => {
    expect(await faultsOf({ ...ofOrders, action: { type: 'run_workflow', url: url('/') } })).toEqual([
      { loc: ['body', 'action', 'workflow_id'], msg: 'is required', type: 'missing' },
      { loc: ['body', 'action', 'url'], msg: 'is only allowed if `type` is `http_request`', type: 'value_error' },
    ]);
    expect(await faultsOf({ ...ofOrders, action: { type: 'http_request' } })).toMatchObject([
      { loc: ['body', 'action', 'url'], type: 'missing' },
    ]);
  });

  it('refuses unknown fields, because a misspelled condition would be none', async () => {
    expect(await faultsOf({ ...ofOrders, conditon: '.a', action: request() })).toMatchObject([
      { loc: ['body', 'conditon'], type: 'extra_forbidden' },
    ]);
  });

  it('refuses headers that each request has, that are no headers, or that repeat one', async () => {
    const refused = async (headers: object) => (await faultsOf({ ...ofOrders, action: request({ headers }) }))[0];
    for (const name of ['Host', 'content-length', 'Content-Type', 'Idempotency-Key', 'user-agent', 'Transfer-Encoding'])
      expect(await refused({ [name]: 'x' })).toMatchObject({
        loc: ['body', 'action', 'headers', name],
        type: 'value_error',
      });
    expect(await refused({ 'a b': 'x' })).toMatchObject({ loc: ['body', 'action', 'headers', 'a b'] });
    expect(await refused({ 'X-A': 'x', 'x-a': 'y' })).toMatchObject({ type: 'duplicate_items' });
    expect(await refused({ 'X-A': 'a\r\nb: c' })).toMatchObject({ type: 'string_pattern_mismatch' });
    expect(await refused({ 'X-A': '{{secrets.lower}}' })).toMatchObject({ type: 'string_pattern_mismatch' });
    expect(await refused({ 'X-A': '{{ user.id }}' })).toMatchObject({ type: 'string_pattern_mismatch' });
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, 'x']));
    expect(await refused(many)).toMatchObject({ loc: ['body', 'action', 'headers'], type: 'too_long' });
  });

  it('refuses a URL that is not public, and expressions that do not compile or reach outside', async () => {
    expect(await faultsOf({ ...ofOrders, action: request({ url: 'https://inner.outside.test/' }) })).toMatchObject([
      { loc: ['body', 'action', 'url'], type: 'url_not_public' },
    ]);
    expect(await faultsOf({ ...ofOrders, action: request({ url: 'https://10.0.0.1/' }) })).toMatchObject([
      { loc: ['body', 'action', 'url'], type: 'url_not_public' },
    ]);
    expect(await faultsOf({ ...ofOrders, condition: 'env', action: request({ body: '{' }) })).toMatchObject([
      { loc: ['body', 'condition'], type: 'expression_syntax', msg: 'must not use env' },
      { loc: ['body', 'action', 'body'], type: 'expression_syntax' },
    ]);
    expect(await faultsOf({ ...ofOrders, condition: '$nothing', action: request() })).toMatchObject([
      { loc: ['body', 'condition'], type: 'expression_syntax' },
    ]);
  });

  it('answers 404 for an entity or a workflow that the app does not have', async () => {
    expect(await create({ ...ofOrders, entity_name: 'Missing', action: request() })).toMatchObject({
      status: 404,
      body: { code: 'entity_not_found' },
    });
    for (const workflow_id of ['x', '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6'])
      expect(await create({ ...ofOrders, action: { type: 'run_workflow', workflow_id } })).toMatchObject({
        status: 404,
        body: { code: 'workflow_not_found' },
      });
    expect(await create({ ...ofOrders, entity_name: 'User', action: request() })).toMatchObject({ status: 200 });
  });

  it('refuses a schedule without a time in the future', async () => {
    const past = new Date(Date.now() - 60_000).toISOString();
    expect(await faultsOf({ ...scheduled, schedule: { at: past }, action: request() })).toMatchObject([
      { loc: ['body', 'schedule'], type: 'value_error' },
    ]);
  });

  it('allows at most 100 per app', async () => {
    const full = await createApp();
    const first = await createAutomation({}, {}, full);
    await world.db.transaction().execute(async (db) => {
      const row = await db.selectFrom('automations').selectAll().where('id', '=', first.id).executeTakeFirstOrThrow();
      for (let count = 1; count < 100; count += 1)
        await db
          .insertInto('automations')
          .values({ ...row, id: crypto.randomUUID(), action: JSON.stringify(row.action), schedule: null })
          .execute();
    });
    const got = await call('POST', `/api/apps/${full.id}/automations`, { ...ofOrders, action: request() });
    expect(got).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 100, resource: 'automations' } });
  });

  it('requires a plan that includes workflows', async () => {
    await world.resetRateLimits();
    const free = await world.workspace(owner, 'free');
    const freeApp = await world.appOf(owner, free);
    const as = await world.token(owner, free);
    const body = { ...ofOrders, entity_name: 'User', action: request() };
    expect(await world.call('POST', `/api/apps/${freeApp.id}/automations`, { as, body })).toMatchObject({
      status: 402,
      body: { code: 'plan_required', required_plan: 'builder' },
    });
  });

  it('has an audit entry with the names of the headers and not their values', async () => {
    const headers = { Authorization: 'Bearer plain-text-credential' };
    const { body } = await create({ ...ofOrders, action: request({ headers }) });
    const entries = await entriesOf(body.id);
    expect(entries).toMatchObject([{ type: 'automation.created', after: { action: { headers: ['Authorization'] } } }]);
    expect(JSON.stringify(entries)).not.toContain('plain-text-credential');
  });
});

describe('updateAutomation', () => {
  it('changes the fields that are sent, clears those that are null, and keeps the others', async () => {
    const automation = await createAutomation({ condition: '.data.total > 1', description: 'first' });
    const got = await automation.patch({ name: 'Other', condition: null });
    expect(got).toMatchObject({ status: 200, body: { name: 'Other', condition: null, description: 'first' } });
    expect(await automation.get()).toEqual(got.body);
  });

  it('says so if nothing changed, and writes no entry', async () => {
    const automation = await createAutomation();
    const got = await automation.patch({ name: 'Orders', event_types: ['create'] });
    expect(got.headers['x-changed']).toBe('false');
    expect((await entriesOf(automation.id)).map((entry) => entry.type)).toEqual(['automation.created']);
  });

  it('clears the fields of the other type when the type changes', async () => {
    const automation = await createAutomation();
    const toSchedule = await automation.patch({ type: 'scheduled', schedule: { every_minutes: 30 } });
    expect(toSchedule).toMatchObject({
      status: 200,
      body: { type: 'scheduled', entity_name: null, event_types: null, schedule: { every_minutes: 30 } },
    });
    expect(await automation.patch({ type: 'entity' })).toMatchObject({ status: 422 });
    const back = await automation.patch({ type: 'entity', entity_name: 'Order', event_types: ['delete', 'create'] });
    expect(back).toMatchObject({ status: 200, body: { schedule: null, event_types: ['create', 'delete'] } });
  });

  it('replaces the action as a whole', async () => {
    const automation = await createAutomation({}, { headers: { 'X-A': 'a' }, body: '.id' });
    const { body } = await automation.patch({ action: request() });
    expect(body.action).toEqual(request());
  });

  it('of is_active to true resets the failures', async () => {
    const automation = await createAutomation();
    await world.db
      .updateTable('automations')
      .set({ consecutive_failures: 20, last_error: 'x', is_active: false })
      .where('id', '=', automation.id)
      .execute();
    expect(await automation.patch({ is_active: true })).toMatchObject({
      status: 200,
      body: { is_active: true, consecutive_failures: 0, last_error: null },
    });
  });

  it('requires a plan that includes workflows if the automation is active then', async () => {
    const automation = await createAutomation();
    const setPlan = (plan: Plan) =>
      world.db.updateTable('workspaces').set({ plan }).where('id', '=', workspace).execute();
    const { plan } = await world.db
      .selectFrom('workspaces')
      .select('plan')
      .where('id', '=', workspace)
      .executeTakeFirstOrThrow();
    const refused = { status: 402, body: { code: 'plan_required', required_plan: 'builder' } };
    await setPlan('free');
    try {
      expect(await automation.patch({ name: 'Renamed' })).toMatchObject(refused);
      expect(await automation.patch({ name: 'Off', is_active: false })).toMatchObject({ status: 200 });
      expect(await automation.patch({ name: 'Renamed' })).toMatchObject({ status: 200 });
      expect(await automation.patch({ is_active: true })).toMatchObject(refused);
      expect(await automation.get()).toMatchObject({ name: 'Renamed', is_active: false });
    } finally {
      await setPlan(plan);
    }
  });

  it('answers 404 for the automation of another app', async () => {
    const automation = await createAutomation();
    expect(await call('PATCH', `${base}/${automation.id}`, { name: 'A' })).toMatchObject({
      status: 404,
      body: { code: 'automation_not_found' },
    });
  });
});

describe('listAutomations', () => {
  it('returns pages, newest first', async () => {
    const listed = await createApp();
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await createAutomation({}, {}, listed)).id);
    const path = `/api/apps/${listed.id}/automations?limit=2`;
    const first = await call('GET', path);
    expect(first.body).toMatchObject({ has_more: true, items: [{ id: ids[0] }, { id: ids[1] }] });
    const second = await call('GET', `${path}&cursor=${first.body.next_cursor}`);
    expect(second.body).toMatchObject({ has_more: false, items: [{ id: ids[2] }] });
    expect(await call('GET', `${path}&cursor=x.y`)).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});

describe('deleteAutomation', () => {
  it('removes the automation', async () => {
    const automation = await createAutomation();
    expect(await call('DELETE', automation.path)).toMatchObject({ status: 200, body: { success: true } });
    expect(await automation.get()).toBeUndefined();
    expect(await automation.patch({ name: 'A' })).toMatchObject({ status: 404 });
  });
});

describe('an entity that an automation names', () => {
  it("can't be deleted, also not by a sync, until the automation is", async () => {
    const automation = await createAutomation();
    const schemas = `/api/apps/${automation.app.id}/entity-schemas`;
    const inUse = { status: 409, body: { code: 'schema_in_use', entity_names: ['Order'] } };
    expect(await call('DELETE', `${schemas}/Order`)).toMatchObject(inUse);
    expect(await call('PUT', schemas, { schemas: [], delete_missing: true })).toMatchObject(inUse);
    await call('DELETE', automation.path);
    expect(await call('DELETE', `${schemas}/Order`)).toMatchObject({ status: 200 });
  });
});

describe('an app in the trash', () => {
  it('gets no active automation by a request that began before', async () => {
    const automation = await createAutomation({ is_active: false });
    const { id } = automation.app;
    const requests = [
      () => call('POST', `/api/apps/${id}/automations`, { ...ofOrders, action: request() }),
      () => automation.patch({ is_active: true }),
    ];
    for (const send of requests) {
      // Other transactions see the unchanged app until this transaction ends.
      const sent = await world.db.transaction().execute(async (db) => {
        await db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', id).execute();
        const answer = send();
        await Promise.race([waitUntilBlocked(db), answer]);
        return { answer };
      });
      expect(await sent.answer).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
      await world.db.updateTable('apps').set({ deleted_date: null }).where('id', '=', id).execute();
    }
    expect(await automation.get()).toMatchObject({ is_active: false });
    expect((await call('GET', `/api/apps/${id}/automations`)).body.items).toHaveLength(1);
  });

  it('has its automations turned off, and they stay off when it is restored', async () => {
    const first = await createAutomation();
    const daily = await createAutomation(scheduled, {}, first.app);
    await call('DELETE', `/api/apps/${first.app.id}`);
    await call('POST', `/api/apps/${first.app.id}/restore`);
    expect(await first.get()).toMatchObject({ is_active: false });
    expect(await daily.get()).toMatchObject({ is_active: false });
    expect((await entriesOf(first.id)).map((entry) => entry.type)).toEqual([
      'automation.created',
      'automation.disabled',
    ]);
    expect(await daily.patch({ is_active: true })).toMatchObject({ status: 200, body: { is_active: true } });
  });
});

it('is visible to viewers, who can change nothing', async () => {
  const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
  const as = await world.token(viewer, workspace);
  expect(await call('GET', base, undefined, as)).toMatchObject({ status: 200 });
  expect(await call('POST', base, { ...ofOrders, action: request() }, as)).toMatchObject({ status: 403 });
});
