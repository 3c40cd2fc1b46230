// Tests the operations on connectors and connections: reading, starting, changing scopes, disconnecting and removing.
import { describe, expect, it } from 'vitest';
import { sandboxApiKeys } from '../../../../sandbox/src/authorization-server-api.ts';
import { type Actor, startConnectorScene, withoutClients } from '../../../test/support/connectors.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';

const scene = await startConnectorScene();
const { world, sandbox, workspace, owner, editor, viewer, createApp, start, open, comeBack, connect, status } = scene;
const at = (app: AppRow, rest: string) => `/api/apps/${app.id}/external-auth/${rest}`;
const send = (method: string, app: AppRow, rest: string, body?: object, as: Actor = owner) =>
  world.call(method, at(app, rest), { as: as.token, body });
const initiate = (app: AppRow, body: object, as?: Actor) => send('POST', app, 'initiate', body, as);
const listed = async (app: AppRow) => (await send('GET', app, 'list', undefined, viewer)).body.items;
const nothing = {
  redirect_url: null,
  connection_id: null,
  already_authorized: false,
  error: null,
  error_message: null,
  other_user_email: null,
};

describe('listConnectors', () => {
  it('lists the catalogue by type, page by page', async () => {
    const app = await createApp();
    const all = (await send('GET', app, 'available-integrations', undefined, viewer)).body;
    expect(all).toMatchObject({ has_more: false, next_cursor: null });
    expect(all.items).toHaveLength(27);
    // Each OAuth service has two client settings, and the sandbox provides values for both.
    expect(all.items.filter((item: { configured: boolean }) => !item.configured)).toEqual([]);
    const zendesk = all.items.find((item: { integration_type: string }) => item.integration_type === 'zendesk');
    expect(zendesk).toEqual({
      integration_type: 'zendesk',
      display_name: 'Zendesk',
      description: 'Read and change tickets in Zendesk.',
      auth: 'oauth2',
      default_scopes: ['read', 'write'],
      connection_config_fields: [
        expect.objectContaining({ name: 'subdomain', placeholder: 'acme-prod', required: true }),
      ],
      credential_fields: [],
      configured: true,
      notes: null,
      usage_guide: null,
    });
    const first = (await send('GET', app, 'available-integrations?limit=20')).body;
    const second = (await send('GET', app, `available-integrations?limit=20&cursor=${first.next_cursor}`)).body;
    expect([...first.items, ...second.items]).toEqual(all.items);
    const broken = await send('GET', app, 'available-integrations?cursor=x');
    expect(broken).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('says which services the operator has registered a client for', async () => {
    const app = await createApp();
    const environment = { ...withoutClients, CONNECTOR_BOX_CLIENT_ID: 'a', CONNECTOR_BOX_CLIENT_SECRET: 'b' };
    const other = await startSecondApp(world, { environment });
    const got = await other.call('GET', at(app, 'available-integrations'), { as: owner.token });
    const configured = got.body.items.filter((item: { configured: boolean }) => item.configured);
    expect(configured.map((item: { integration_type: string }) => item.integration_type)).toEqual([
      'box',
      'sendgrid',
      'twilio',
    ]);
    for (const [method, rest, body] of [
      ['POST', 'initiate', { integration_type: 'slack' }],
      ['PUT', 'integrations/slack', { scopes: [] }],
    ] as const) {
      const refused = await other.call(method, at(app, rest), { as: owner.token, body });
      expect(refused).toMatchObject({ status: 503, body: { code: 'connector_not_configured', retry_safe: true } });
      expect(refused.headers['retry-after']).toBe('3600');
    }
  });
});

describe('getConnectionConfig', () => {
  it('has the fields, and the saved values while there is a connection', async () => {
    const app = await createApp();
    const read = async () => (await send('GET', app, 'connection-config/Zendesk', undefined, viewer)).body;
    const before = await read();
    expect(before).toEqual({
      fields: [
        {
          name: 'subdomain',
          display_name: 'Subdomain',
          description: 'The first part of your address, such as acme-prod in acme-prod.zendesk.com.',
          placeholder: 'acme-prod',
          required: true,
          validation_pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
          validation_error: 'must be only the first part of your address, such as acme-prod',
        },
      ],
      connection_config: {},
    });
    await connect(app, owner, { integration_type: 'zendesk', connection_config: { subdomain: 'acme' } });
    expect(await read()).toEqual({ ...before, connection_config: { subdomain: 'acme' } });
    await send('POST', app, 'integrations/zendesk/disconnect');
    expect(await read()).toEqual(before);
  });

  it('has no fields for a service that needs none, and no unknown service', async () => {
    const app = await createApp();
    expect((await send('GET', app, 'connection-config/slack')).body).toEqual({ fields: [], connection_config: {} });
    const unknown = await send('GET', app, 'connection-config/myspace');
    expect(unknown).toMatchObject({ status: 404, body: { code: 'connector_not_found' } });
  });
});

describe('startConnection', () => {
  it('leads to this installation, never to the service itself', async () => {
    const app = await createApp();
    const got = await initiate(app, { integration_type: 'SLACK' }, editor);
    expect(got).toMatchObject({
      status: 200,
      body: { ...nothing, connection_id: expect.any(String), redirect_url: expect.any(String) },
    });
    expect(got.body.redirect_url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/connect\/[\w-]{32}\.[\w-]{22}$/);
    expect(await listed(app)).toEqual([]);
  });

  it('answers a repeated request with the same key as before, without the redirect URL', async () => {
    const app = await createApp();
    const headers = { 'idempotency-key': 'start-1' };
    const once = () =>
      world.call('POST', at(app, 'initiate'), { as: owner.token, body: { integration_type: 'slack' }, headers });
    const first = await once();
    const second = await once();
    expect(second.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-warning': 'secret_withheld' });
    expect(second.body).toEqual({ ...first.body, redirect_url: null });
  });

  it.each([
    [{}, ['body', 'integration_type'], 'missing', 'is required'],
    [{ integration_type: 'zendesk' }, ['body', 'connection_config', 'subdomain'], 'missing', 'is required'],
    [
      { integration_type: 'zendesk', connection_config: { subdomain: 'acme.zendesk.com' } },
      ['body', 'connection_config', 'subdomain'],
      'string_pattern_mismatch',
      'must be only the first part of your address, such as acme-prod',
    ],
    [
      { integration_type: 'zendesk', connection_config: { subdomain: 'a'.repeat(201) } },
      ['body', 'connection_config', 'subdomain'],
      'string_too_long',
      'must have at most 200 characters',
    ],
    [
      { integration_type: 'zendesk', connection_config: { subdomain: 7 } },
      ['body', 'connection_config', 'subdomain'],
      'string_type',
      'must be a string',
    ],
    [
      { integration_type: 'outlook', connection_config: { tenant: 'a/b' } },
      ['body', 'connection_config', 'tenant'],
      'string_pattern_mismatch',
      "must be your tenant's id or domain, such as acme.onmicrosoft.com",
    ],
    [
      { integration_type: 'sendgrid', credentials: { api_key: 'nope' } },
      ['body', 'credentials', 'api_key'],
      'string_pattern_mismatch',
      'must be a SendGrid API key, which starts with SG. and contains two dots',
    ],
    [{ integration_type: 'sendgrid' }, ['body', 'credentials', 'api_key'], 'missing', 'is required'],
    [
      { integration_type: 'slack', scopes: ['a b'] },
      ['body', 'scopes', 0],
      'string_pattern_mismatch',
      'must be a scope without spaces, commas, quotation marks or backslashes',
    ],
    [
      { integration_type: 'slack', scopes: ['a', 'a'] },
      ['body', 'scopes'],
      'duplicate_items',
      'must not contain duplicate items',
    ],
    [
      { integration_type: 'slack', return_url: 'https://evil.example.com/' },
      ['body', 'return_url'],
      'value_error',
      'must be a URL on this installation or the published app',
    ],
    [
      { integration_type: 'slack', return_url: 'http://127.0.0.1:8080@evil.example.com/' },
      ['body', 'return_url'],
      'value_error',
      'must be a URL on this installation or the published app',
    ],
  ])('refuses %j', async (body, loc, type, msg) => {
    const app = await createApp();
    expect(await initiate(app, body)).toMatchObject({ status: 422, body: { detail: [{ loc, msg, type }] } });
  });

  it('refuses more than 100 scopes and an unknown service', async () => {
    const app = await createApp();
    const scopes = Array.from({ length: 101 }, (_, index) => `s${index}`);
    expect(await initiate(app, { integration_type: 'slack', scopes })).toMatchObject({ status: 422 });
    const unknown = await initiate(app, { integration_type: 'constructor' });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'connector_not_found' } });
  });

  it('names values that the service has no field for', async () => {
    const body = { integration_type: 'slack', connection_config: { team: 'x' }, credentials: { token: 'x' } };
    const got = await initiate(await createApp(), body);
    expect(got.headers['x-ignored-fields']).toBe('connection_config.team,credentials.token');
  });

  it('needs the plan builder', async () => {
    const free = await world.workspace(owner, 'free', 'Free');
    const app = await world.appOf(owner, free);
    const as = await world.token(owner, free);
    for (const [method, rest, body] of [
      ['POST', 'initiate', { integration_type: 'slack' }],
      ['PUT', 'integrations/slack', { scopes: [] }],
    ] as const)
      expect(await world.call(method, at(app, rest), { as, body })).toMatchObject({
        status: 402,
        body: { code: 'plan_required', required_plan: 'builder' },
      });
    expect(await world.call('GET', at(app, 'list'), { as })).toMatchObject({ status: 200 });
  });

  it('says that it is authorized already, with the same scopes and configuration', async () => {
    const app = await createApp();
    const id = await connect(app);
    const again = await initiate(app, { integration_type: 'gitlab' });
    expect(again).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(again.body).toEqual({ ...nothing, connection_id: id, already_authorized: true });
    expect((await initiate(app, { integration_type: 'gitlab', scopes: ['sudo'] })).body.redirect_url).not.toBeNull();
    expect(
      (await initiate(app, { integration_type: 'gitlab', force_reconnect: true })).body.redirect_url,
    ).not.toBeNull();
  });

  it('leaves the connection of another person alone, unless an owner of the app replaces it', async () => {
    const app = await createApp();
    const id = await connect(app, editor);
    const different = {
      ...nothing,
      connection_id: id,
      error: 'different_user',
      error_message: expect.stringContaining('another person'),
      other_user_email: editor.email,
    };
    expect((await initiate(app, { integration_type: 'gitlab' })).body).toEqual(different);
    const scopes = await send('PUT', app, 'integrations/gitlab', { scopes: ['sudo'] });
    expect(scopes.body).toEqual(different);
    const second = await world.member(workspace, 'editor', 'second@example.com');
    const force = { integration_type: 'gitlab', force_reconnect: true };
    const token = await world.token(second, workspace);
    const byEditor = await world.call('POST', at(app, 'initiate'), { as: token, body: force });
    expect(byEditor.body).toEqual(different);
    expect(await listed(app)).toMatchObject([{ user_email: editor.email, status: 'active' }]);
    await connect(app, owner, force);
    expect(await listed(app)).toMatchObject([{ connection_id: id, user_email: owner.email, status: 'active' }]);
  });

  it('waits for another person who is connecting, for ten minutes', async () => {
    const app = await createApp();
    await start(app, editor);
    const got = await initiate(app, { integration_type: 'gitlab' });
    expect(got).toMatchObject({ status: 409, body: { code: 'connection_in_progress', retry_safe: true } });
    world.clock.aheadMs = 10 * 60 * 1000;
    await start(app);
    world.clock.aheadMs = 0;
  });

  it('is started by one of two people who start at the same time', async () => {
    const app = await createApp();
    const got = await Promise.all([owner, editor].map((as) => initiate(app, { integration_type: 'slack' }, as)));
    expect(got.map((each) => each.status).sort()).toEqual([200, 409]);
  });
});

describe('a service with API keys', () => {
  const { account_sid, auth_token } = sandboxApiKeys.twilio;
  const twilio = { integration_type: 'twilio', connection_config: { account_sid }, credentials: { auth_token } };
  const sendgrid = { integration_type: 'sendgrid', credentials: sandboxApiKeys.sendgrid };

  it.each([twilio, sendgrid])('is connected at once if it accepts them: $integration_type', async (body) => {
    const app = await createApp();
    const got = await initiate(app, body, editor);
    expect(got.body).toEqual({ ...nothing, connection_id: expect.any(String) });
    expect(await listed(app)).toMatchObject([
      {
        integration_type: body.integration_type,
        status: 'active',
        scopes: [],
        expires_at: null,
        user_email: editor.email,
      },
    ]);
    expect(await status(app, body.integration_type)).toEqual({ status: 'ACTIVE', error: null });
    const row = await world.db
      .selectFrom('connections')
      .where('app_id', '=', app.id)
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain(Object.values(body.credentials)[0]);
  });

  it('is not connected if it rejects them', async () => {
    const app = await createApp();
    const wrong = { ...twilio, credentials: { auth_token: 'f'.repeat(32) } };
    const got = await initiate(app, wrong);
    expect(got.body).toEqual({ ...nothing, error: 'credentials_rejected', error_message: expect.any(String) });
    expect(await listed(app)).toEqual([]);
    await initiate(app, twilio);
    await initiate(app, wrong);
    expect(await listed(app)).toMatchObject([{ status: 'active' }]);
  });

  it('is not connected if it cannot be reached', async () => {
    const app = await createApp();
    sandbox.behave('down', 'twilio');
    const got = await initiate(app, twilio);
    sandbox.behave('well', 'twilio');
    expect(got).toMatchObject({ status: 503, body: { code: 'connector_unavailable' } });
    expect(await listed(app)).toEqual([]);
  });

  it('gets no credentials for a connection that cannot be made', async () => {
    const app = await createApp();
    await initiate(app, twilio, editor);
    const before = sandbox.journal.length;
    expect((await initiate(app, twilio)).body).toMatchObject({ error: 'different_user' });
    expect(sandbox.journal).toHaveLength(before);
  });

  it('is not connected with credentials that were not checked, because another person had the connection', async () => {
    const app = await createApp();
    await initiate(app, twilio, editor);
    const client = await world.app.database.pool.connect();
    await client.query('begin');
    await client.query('/* service */ select from apps where id = $1 for update', [app.id]);
    const answer = initiate(app, twilio);
    // At this point the request has found the editor's connection and is waiting for the app's lock.
    await expect
      .poll(async () => {
        const waiting = `/* service */ select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
        return (await client.query(waiting)).rowCount;
      })
      .toBeGreaterThan(0);
    await client.query(
      `/* service */ update connections set status = 'disconnected', credentials_sealed = null where app_id = $1`,
      [app.id],
    );
    await client.query('commit');
    client.release();
    expect(await answer).toMatchObject({ status: 503, body: { code: 'connector_unavailable' } });
    expect(await listed(app)).toMatchObject([{ status: 'disconnected' }]);
  });

  it('has no scopes', async () => {
    const app = await createApp();
    const started = await initiate(app, { ...sendgrid, scopes: ['x'], return_url: 'https://elsewhere.test/' });
    expect(started.headers['x-ignored-fields']).toBe('scopes,return_url');
    const got = await send('PUT', app, 'integrations/sendgrid', { scopes: [] });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'scopes'], type: 'value_error' }] } });
  });
});

describe('getConnectionStatus', () => {
  it('knows only connections of this app', async () => {
    const app = await createApp();
    const { connectionId } = await start(app);
    const read = (rest: string) => send('GET', app, `status?${rest}`, undefined, viewer);
    expect((await read(`integration_type=gitlab&connection_id=${connectionId}`)).body).toEqual({
      status: 'PENDING',
      error: null,
    });
    for (const rest of ['integration_type=slack', 'integration_type=gitlab&connection_id=x'])
      expect(await read(rest)).toMatchObject({ status: 404, body: { code: 'connection_not_found' } });
    expect(await read('integration_type=x')).toMatchObject({ status: 404, body: { code: 'connector_not_found' } });
    expect(await read('')).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'integration_type'] }] } });
  });

  it('says that a connection was disconnected, or has expired', async () => {
    const app = await createApp();
    await connect(app);
    await send('POST', app, 'integrations/gitlab/disconnect');
    expect(await status(app)).toEqual({ status: 'FAILED', error: 'disconnected' });
    await world.db.updateTable('connections').set({ status: 'expired' }).where('app_id', '=', app.id).execute();
    expect(await status(app)).toEqual({ status: 'FAILED', error: 'connection_expired' });
  });
});

describe('setConnectorScopes', () => {
  const change = (app: AppRow, body: object, as?: Actor) => send('PUT', app, 'integrations/gitlab', body, as);

  it('records narrower scopes, and asks for consent to wider ones', async () => {
    const app = await createApp();
    const id = await connect(app);
    const narrower = await change(app, { scopes: ['api'] });
    expect(narrower.body).toEqual({ ...nothing, connection_id: id, already_authorized: true });
    expect(await listed(app)).toMatchObject([{ scopes: ['api'] }]);
    expect((await change(app, { scopes: ['api'] })).headers['x-changed']).toBe('false');
    const wider = await change(app, { scopes: ['api', 'sudo'] });
    const state = new URL(wider.body.redirect_url).pathname.slice('/connect/'.length);
    const { url, cookie } = await open({ state, connectionId: id });
    expect((await comeBack(await sandbox.consent(url), cookie)).status).toBe(200);
    expect(await listed(app)).toMatchObject([{ connection_id: id, scopes: ['api', 'sudo'], status: 'active' }]);
  });

  it('keeps the configuration, or asks for consent to another', async () => {
    const app = await createApp();
    const config = { subdomain: 'acme' };
    await connect(app, owner, { integration_type: 'zendesk', connection_config: config });
    const scopes = ['read', 'write'];
    const same = await send('PUT', app, 'integrations/zendesk', { scopes });
    expect(same.body).toMatchObject({ already_authorized: true });
    const other = await send('PUT', app, 'integrations/zendesk', { scopes, connection_config: { subdomain: 'b' } });
    expect(other.body.redirect_url).not.toBeNull();
    const wrong = await send('PUT', app, 'integrations/zendesk', { scopes, connection_config: { subdomain: '-' } });
    expect(wrong).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'connection_config', 'subdomain'] }] },
    });
  });

  it('needs a connection, that nobody else is changing', async () => {
    const app = await createApp();
    const scopes = ['api'];
    expect(await change(app, { scopes })).toMatchObject({ status: 404, body: { code: 'connection_not_found' } });
    await connect(app);
    await send('POST', app, 'integrations/gitlab/disconnect');
    await start(app, editor);
    expect(await change(app, { scopes })).toMatchObject({ status: 409, body: { code: 'connection_in_progress' } });
    expect(await change(app, { scopes }, editor)).toMatchObject({ status: 200, body: { already_authorized: false } });
  });
});

describe('disconnectConnector', () => {
  it('erases and revokes the tokens, keeps the rest, and ends an attempt', async () => {
    const app = await createApp();
    const id = await connect(app);
    const before = sandbox.journal.length;
    const { state } = await start(app, owner, { force_reconnect: true });
    const got = await send('POST', app, 'integrations/GitLab/disconnect', undefined, editor);
    expect(got).toMatchObject({ status: 200, body: { status: 'disconnected', integration_type: 'gitlab' } });
    expect(sandbox.journal.slice(before).map(({ event }) => event)).toContain('revoked');
    const row = await world.db.selectFrom('connections').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ access_token_sealed: null, refresh_token_sealed: null, next_refresh_at: null });
    expect(await listed(app)).toMatchObject([{ status: 'disconnected', expires_at: null, user_email: owner.email }]);
    expect((await world.call('GET', `/connect/${state}`, { headers: owner.session })).status).toBe(404);
    const again = await send('POST', app, 'integrations/gitlab/disconnect');
    expect(again).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(await connect(app, editor)).toBe(id);
  });

  it('changes nothing if it is repeated', async () => {
    const app = await createApp();
    const id = await connect(app);
    expect((await send('POST', app, 'integrations/gitlab/disconnect')).status).toBe(200);
    const readEffects = async () => {
      const path = `/api/workspace/audit-log?type=connection.*&app_id=${app.id}`;
      const { items } = (await world.call('GET', path, { as: owner.token })).body;
      const row = await world.db.selectFrom('connections').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
      return { row, entries: items.length, requests: sandbox.journal.length };
    };
    const before = await readEffects();
    const again = await send('POST', app, 'integrations/gitlab/disconnect');
    expect(again).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(await readEffects()).toEqual(before);
  });

  it('erases the tokens even if the service does not answer well', async () => {
    const app = await createApp();
    await connect(app);
    sandbox.behave('down', 'gitlab');
    expect((await send('POST', app, 'integrations/gitlab/disconnect')).status).toBe(200);
    sandbox.behave('well', 'gitlab');
    expect(await listed(app)).toMatchObject([{ status: 'disconnected' }]);
  });

  it('needs a connection', async () => {
    const app = await createApp();
    const got = await send('POST', app, 'integrations/gitlab/disconnect');
    expect(got).toMatchObject({ status: 404, body: { code: 'connection_not_found' } });
  });
});

describe('removeConnector', () => {
  it('erases everything, once', async () => {
    const app = await createApp();
    await connect(app);
    const got = await send('DELETE', app, 'integrations/gitlab/remove', undefined, editor);
    expect(got).toMatchObject({ status: 200, body: { status: 'removed', integration_type: 'gitlab' } });
    expect(await listed(app)).toEqual([]);
    const again = await send('DELETE', app, 'integrations/gitlab/remove');
    expect(again).toMatchObject({ status: 404, body: { code: 'connection_not_found' } });
  });
});

describe('the list of connections', () => {
  it('is in pages, by type', async () => {
    const app = await createApp();
    for (const integration_type of ['slack', 'gitlab', 'github']) await connect(app, owner, { integration_type });
    const first = (await send('GET', app, 'list?limit=2')).body;
    expect(first).toMatchObject({
      has_more: true,
      items: [{ integration_type: 'github' }, { integration_type: 'gitlab' }],
    });
    const second = (await send('GET', app, `list?limit=2&cursor=${first.next_cursor}`)).body;
    expect(second).toMatchObject({ has_more: false, items: [{ integration_type: 'slack' }] });
    expect(await send('GET', app, 'list?cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});

describe('attempts that nobody finished', () => {
  it('are removed after a day, and connections that were never made', async () => {
    const app = await createApp();
    const other = await createApp();
    await start(app);
    await connect(other);
    await start(other, owner, { force_reconnect: true });
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old attempts to connect');
    const run = (hours: number) => job?.run(world.app.database.db, new Date(Date.now() + hours * 3_600_000));
    await run(1);
    expect(await status(app)).toEqual({ status: 'PENDING', error: null });
    await run(25);
    expect(await status(app)).toMatchObject({ code: 'connection_not_found' });
    expect(await status(other)).toEqual({ status: 'ACTIVE', error: null });
  });
});
