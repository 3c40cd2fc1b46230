// Tests workspaces, plans and operator operations through the API (docs/api/workspaces.md).
import { describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld({ environment: { ALLOW_WORKSPACE_CREATION: 'anyone' } });
const operator = await world.person('operator@example.com', { is_operator: true });
const operatorToken = await world.token(operator, await world.workspace(operator));
const operatorSession = { headers: await world.session(operator) };
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'free', 'Ours');
const as = await world.token(owner, workspace);

describe('workspaces', () => {
  it('are created, listed and read; a token is confined to its own', async () => {
    const person = await world.person('makes@example.com', { is_operator: true });
    const headers = await world.session(person);
    const created = await world.call('POST', '/api/workspaces', { headers, body: { name: 'New', country_code: 'DE' } });
    expect(created.body).toMatchObject({
      name: 'New',
      plan: 'enterprise',
      role: 'owner',
      monthly_limit: null,
      default_member_credit_limit: null,
      country_code: 'DE',
      locale: 'en',
      features: { dependency_scan: true, static_code_default: false, model_analysis: true },
    });
    const keyed = (name: string) =>
      world.call('POST', '/api/workspaces', { headers: { ...headers, 'idempotency-key': 'w' }, body: { name } });
    const once = (await keyed('Second')).body.id;
    expect((await keyed('Second')).body.id).toBe(once);
    expect((await keyed('Third')).body.code).toBe('idempotency_conflict');
    const names = (got: { body: { items: { name: string }[] } }) => got.body.items.map((item) => item.name);
    expect(names(await world.call('GET', '/api/workspaces', { headers }))).toEqual(['New', 'Second']);
    const token = await world.token(person, created.body.id);
    expect(names(await world.call('GET', '/api/workspaces', { as: token }))).toEqual(['New']);
    expect((await world.call('GET', '/api/workspace', { as: token })).body).toMatchObject({ id: created.body.id });
  });

  it('are created by operators only, unless the installation is configured otherwise', async () => {
    const byDefault = await startSecondApp(world, { environment: { ALLOW_WORKSPACE_CREATION: '' } });
    const create = async (person: { id: string }) =>
      byDefault.call('POST', '/api/workspaces', { headers: await world.session(person), body: { name: 'X' } });
    expect(await create(owner)).toMatchObject({ status: 403, body: { code: 'operator_required' } });
    const byToken = await byDefault.call('POST', '/api/workspaces', { as: operatorToken, body: { name: 'X' } });
    expect(byToken).toMatchObject({ status: 403, body: { code: 'operator_required' } });
    expect(await create(operator)).toMatchObject({ status: 200, body: { plan: 'enterprise', monthly_limit: null } });
  });

  it('of others than operators have no credits until an operator sets a plan', async () => {
    const guest = await world.person('guest@example.com');
    const headers = await world.session(guest);
    const { body } = await world.call('POST', '/api/workspaces', { headers, body: { name: 'Mine' } });
    expect(body).toMatchObject({ plan: 'free', monthly_limit: 0, role: 'owner' });
    const token = await world.token(guest, body.id);
    const credits = async () => (await world.call('GET', '/api/workspace/credits', { as: token })).body;
    expect(await credits()).toMatchObject({ monthly_limit: 0, remaining: 0 });
    const agent = await world.appOf(guest, body.id, { app_type: 'user_agent' });
    const { body: conversation } = await world.call('POST', `/api/agents/${agent.id}/conversations`, { as: token });
    const path = `/api/agents/${agent.id}/conversations/${conversation.id}/messages`;
    const send = () => world.call('POST', path, { as: token, body: { content: 'Hello' } });
    expect(await send()).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
    const change = { headers: await world.session(operator), body: { plan: 'builder' } };
    await world.call('PATCH', `/api/operator/workspaces/${body.id}`, change);
    expect(await credits()).toMatchObject({ monthly_limit: 250 });
  });

  it('are changed by admins, but not with a token limited to apps', async () => {
    const change = (token: string, body: object) => world.call('PATCH', '/api/workspace', { as: token, body });
    expect((await change(as, { name: 'Renamed', locale: 'de-AT' })).body).toMatchObject({
      name: 'Renamed',
      locale: 'de-AT',
    });
    for (const body of [{ name: 'Renamed' }, { name: 'Renamed', locale: 'de-AT' }, {}]) {
      const same = await change(as, body);
      expect(same).toMatchObject({ status: 200, body: { name: 'Renamed', locale: 'de-AT' } });
      expect(same.headers['x-changed']).toBe('false');
    }
    const entries = await world.call('GET', '/api/workspace/audit-log?type=workspace.updated', { as });
    expect(entries.body.items).toHaveLength(1);
    expect((await change(as, { country_code: 'de' })).body.detail[0].type).toBe('string_pattern_mismatch');
    const app = await world.appOf(owner, workspace);
    const limited = await world.token(owner, workspace, { app_ids: [app.id] });
    expect(await change(limited, { name: 'X' })).toMatchObject({ status: 403, body: { code: 'token_app_limited' } });
    const key = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['usage:read'],
    });
    expect((await world.call('GET', '/api/workspace', { headers: { api_key: key.token } })).body).toMatchObject({
      role: null,
    });
  });

  it('are deleted by their owner with a browser session and the name, and purged after 30 days', async () => {
    const person = await world.person('deletes@example.com');
    const place = await world.workspace(person, 'pro', 'Doomed');
    const app = await world.appOf(person, place);
    const token = await world.token(person, place);
    const headers = await world.session(person);
    const remove = (confirm_name: string) =>
      world.call('DELETE', '/api/workspace', { headers, body: { confirm_name } });
    expect((await remove('doomed')).body.detail).toEqual([
      expect.objectContaining({ loc: ['body', 'confirm_name'], type: 'value_error' }),
    ]);
    const deleted = await remove('Doomed');
    expect(new Date(deleted.body.purge_at).getTime()).toBeCloseTo(Date.now() + 30 * 24 * 60 * 60 * 1000, -5);
    expect((await world.call('GET', `/api/apps/${app.id}`, { as: token })).status).toBe(404);
    expect(await world.call('GET', '/api/workspace', { as: token })).toMatchObject({
      status: 404,
      body: { code: 'workspace_not_found' },
    });
  });
});

describe('plans', () => {
  it('list what each includes', async () => {
    const { items } = (await world.call('GET', '/api/plans', { as })).body;
    expect(items.map((item: { plan: string; monthly_credits: number }) => [item.plan, item.monthly_credits])).toEqual([
      ['free', 25],
      ['builder', 250],
      ['pro', 1000],
      ['business', 5000],
      ['enterprise', null],
    ]);
    expect(items[0].features).toEqual({
      agent_webhooks: false,
      workflows: false,
      connectors: false,
      admin_role: false,
      member_credit_limits: false,
    });
    expect(items[3].rate_multiplier).toBe(5);
  });
});

describe('operators', () => {
  const set = (body: object, id = workspace, caller: object = operatorSession) =>
    world.call('PATCH', `/api/operator/workspaces/${id}`, { ...caller, body });

  it('list all workspaces page by page', async () => {
    const first = (await world.call('GET', '/api/operator/workspaces?limit=1', operatorSession)).body;
    const second = (
      await world.call('GET', `/api/operator/workspaces?limit=1&cursor=${first.next_cursor}`, operatorSession)
    ).body;
    expect(first.items[0].id).not.toBe(second.items[0].id);
    expect(second.items[0]).toMatchObject({ member_count: 1, billing_hold: false });
    expect((await world.call('GET', '/api/operator/workspaces?limit=0', operatorSession)).status).toBe(422);
    expect((await world.call('GET', '/api/operator/workspaces?cursor=x', operatorSession)).status).toBe(400);
  });

  it('have no power over the installation by a token, which is bound to a workspace', async () => {
    const list = (caller: object) => world.call('GET', '/api/operator/workspaces', caller);
    expect(await list({ as: operatorToken })).toMatchObject({
      status: 403,
      body: { code: 'credential_kind_not_allowed', detail: expect.stringContaining('browser session') },
    });
    expect(await list({ headers: await world.session(owner) })).toMatchObject({
      status: 403,
      body: { code: 'operator_required' },
    });
    expect((await list(operatorSession)).status).toBe(200);
  });

  it('set plan, credits, multiplier, switches and hold with immediate effect and an audit entry', async () => {
    const got = await set({
      plan: 'pro',
      rate_multiplier: 2.5,
      storage_quota_bytes: 1_000,
      features: { static_code_default: true },
      billing_hold: true,
      billing_hold_reason: 'unpaid',
    });
    expect(got.body).toMatchObject({
      plan: 'pro',
      monthly_limit: 1000,
      rate_multiplier: 2.5,
      storage_quota_bytes: 1_000,
      billing_hold: true,
      billing_hold_reason: 'unpaid',
      features: { static_code_default: true, dependency_scan: true },
    });
    expect((await world.call('GET', '/api/apps', { as })).headers['ratelimit-policy']).toBe('"listApps";q=750;w=60');
    const readQuota = async () => (await world.call('GET', '/api/workspace', { as })).body.storage.quota_bytes;
    expect(await readQuota()).toBe(1_000);
    const cleared = {
      monthly_limit: null,
      rate_multiplier: null,
      storage_quota_bytes: null,
      billing_hold_reason: null,
    };
    expect((await set(cleared)).body).toMatchObject({
      monthly_limit: null,
      rate_multiplier: null,
      storage_quota_bytes: null,
      billing_hold_reason: null,
    });
    expect(await readQuota()).toBe(20_000_000_000);
    const log = (await world.call('GET', '/api/workspace/audit-log?type=operator.*', { as })).body.items;
    expect(log[1]).toMatchObject({
      actor: { email: operator.email },
      before: { plan: 'free', monthly_limit: 25 },
      after: { plan: 'pro', monthly_limit: 1000 },
    });
  });

  it('get 422 for invalid fields and 404 for unknown workspaces', async () => {
    expect((await set({ plann: 'pro' })).body.detail[0].type).toBe('extra_forbidden');
    expect((await set({ rate_multiplier: 0 })).body.detail[0].type).toBe('greater_than_equal');
    expect(await set({}, newId())).toMatchObject({ status: 404, body: { code: 'workspace_not_found' } });
  });

  it('change a limit in the ledger at once', async () => {
    const resets = async () => (await world.call('GET', '/api/workspace/credits/ledger?kind=reset', { as })).body.items;
    await set({ monthly_limit: 30 });
    const before = (await resets()).length;
    await set({ monthly_limit: 20.5 });
    const [latest, ...others] = await resets();
    expect(latest).toMatchObject({ amount: -9.5, balance_after: 20.5, operation: 'monthlyLimit', user_id: null });
    expect(others).toHaveLength(before);
    await set({ billing_hold: false });
    expect(await resets()).toHaveLength(before + 1);
  });

  it('grant credits once per idempotency key', async () => {
    await set({ monthly_limit: 100 });
    const grant = (body: object, headers = {}) =>
      world.call('POST', `/api/operator/workspaces/${workspace}/credits`, {
        body,
        headers: { ...operatorSession.headers, ...headers },
      });
    const headers = { 'idempotency-key': 'grant-1' };
    const first = await grant({ amount: 12.5, note: 'welcome' }, headers);
    expect(first.body).toMatchObject({
      kind: 'grant',
      amount: 12.5,
      note: 'welcome',
      balance_after: 112.5,
      user_id: operator.id,
    });
    expect((await grant({ amount: 12.5, note: 'welcome' }, headers)).body).toEqual(first.body);
    expect(await grant({ amount: 13, note: 'welcome' }, headers)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    expect((await grant({ amount: -2.5, note: 'correction' })).body).toMatchObject({ balance_after: 110 });
    expect((await grant({ amount: 0, note: 'x' })).body.detail[0].type).toBe('value_error');
    expect((await grant({ amount: 0.00001, note: 'x' })).body.detail[0].type).toBe('value_error');
    expect((await grant({ amount: 1e10, note: 'x' })).body.detail[0].type).toBe('less_than_equal');
    expect(
      await world.call('POST', `/api/operator/workspaces/${newId()}/credits`, { ...operatorSession, body: {} }),
    ).toMatchObject({ status: 404 });
  });
});

describe('after 31 days', () => {
  it('jobs have purged trash, deleted workspaces, sessions, reset links and expired keys', async () => {
    const person = await world.person('later@example.com');
    const place = await world.workspace(person, 'pro', 'Later');
    const doomed = await world.workspace(person, 'pro', 'Doomed later');
    const [kept, trashed] = [await world.appOf(person, place), await world.appOf(person, place)];
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', trashed.id).execute();
    await world.db.updateTable('workspaces').set({ deleted_date: new Date() }).where('id', '=', doomed).execute();
    const day = 24 * 60 * 60 * 1000;
    const credentials = {
      session: await world.credential({
        kind: 'session',
        user_id: person.id,
        workspace_id: null,
        permission: 'full_access',
        expires_at: new Date(Date.now() + 30 * day),
      }),
      expiring: await world.credential({
        kind: 'personal_token',
        user_id: person.id,
        workspace_id: place,
        permission: 'full_access',
        expires_at: new Date(Date.now() + day),
      }),
      lasting: await world.credential({
        kind: 'personal_token',
        user_id: person.id,
        workspace_id: place,
        permission: 'full_access',
      }),
    };
    await world.db
      .insertInto('password_resets')
      .values({ id: newId(), user_id: person.id, hash: Buffer.from('x'), expires_at: new Date(Date.now() + day) })
      .execute();
    world.clock.aheadMs = 31 * day;
    for (const job of world.app.background.jobs) await job.run(world.app.database.db, world.clock.now());
    world.clock.aheadMs = 0;
    const ids = async (table: 'apps' | 'workspaces' | 'credentials', among: string[]) =>
      (await world.db.selectFrom(table).where('id', 'in', among).select('id').execute()).map((row) => row.id);
    expect(await ids('apps', [kept.id, trashed.id])).toEqual([kept.id]);
    expect(await ids('workspaces', [place, doomed])).toEqual([place]);
    expect(
      await ids(
        'credentials',
        Object.values(credentials).map((each) => each.id),
      ),
    ).toEqual([credentials.lasting.id]);
    expect(
      await world.db.selectFrom('password_resets').where('user_id', '=', person.id).select('id').execute(),
    ).toEqual([]);
  });
});
