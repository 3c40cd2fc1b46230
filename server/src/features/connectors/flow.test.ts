// Tests the browser side of connecting: which user and browser can finish a connection, and that it works only once.
import { describe, expect, it } from 'vitest';
import { startConnectorScene, withoutClients } from '../../../test/support/connectors.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import { createSecrets } from '../../kit/secrets.ts';
import { openTokens } from './sealed.ts';

const scene = await startConnectorScene();
const { world, sandbox, owner, editor, viewer, start, open, comeBack, connect, status } = scene;

const html = { accept: 'text/html' };
const refused = { status: 400, body: { code: 'connection_state_invalid' } };
const pending = { status: 'PENDING', error: null };
const failed = (error: string) => ({ status: 'FAILED', error });

const readRow = (connectionId: string) =>
  world.db.selectFrom('connections').where('id', '=', connectionId).selectAll().executeTakeFirstOrThrow();

/** Starts an attempt and opens it, so the browser is on the service's site. */
async function begin(body: object = {}) {
  const app = await scene.createApp();
  const started = await start(app, owner, body);
  return { app, ...started, ...(await open(started)) };
}

describe('a connection', () => {
  it('is made by the person who started it, in their browser, once', async () => {
    const { app, url, cookie, connectionId } = await begin();
    expect(await status(app)).toEqual(pending);
    const back = await sandbox.consent(url);
    expect(await comeBack(back, cookie)).toMatchObject({ status: 200 });
    expect(await status(app)).toEqual({ status: 'ACTIVE', error: null });
    const row = await readRow(connectionId);
    expect(row).toMatchObject({ status: 'active', user_id: owner.id, scopes: ['read_user', 'api'], last_error: null });
    expect(row.expires_at?.getTime()).toBeGreaterThan(row.next_refresh_at?.getTime() ?? Number.POSITIVE_INFINITY);
    expect(JSON.stringify(row)).not.toContain(back.searchParams.get('code'));
    expect(await comeBack(back, cookie)).toMatchObject(refused);
  });

  it('goes to the service with PKCE, the redirect URI, and a cookie for the callback only', async () => {
    const app = await scene.createApp();
    const { state } = await start(app);
    const got = await world.call('GET', `/connect/${state}`, { headers: owner.session });
    expect(got).toMatchObject({ status: 302, text: '', headers: { 'referrer-policy': 'no-referrer' } });
    expect(String(got.headers['set-cookie'])).toMatch(
      /^plinth_connect_\w{16}=[\w-]{32}; HttpOnly; SameSite=Lax; Path=\/api\/external-auth\/callback; Max-Age=600$/,
    );
    const { searchParams } = new URL(got.headers.location ?? '');
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'sandbox-gitlab',
      redirect_uri: 'http://127.0.0.1:8080/api/external-auth/callback',
      code_challenge_method: 'S256',
      scope: 'read_user api',
      state,
    });
  });

  it('ends at the return URL, with its outcome', async () => {
    const return_url = 'http://127.0.0.1:8080/settings?tab=services';
    const good = await begin({ return_url });
    const got = await comeBack(await sandbox.consent(good.url), good.cookie);
    expect(got.status).toBe(302);
    expect(got.headers.location).toBe(`${return_url}&status=ACTIVE&connection_id=${good.connectionId}`);
    const bad = await begin({ return_url });
    const denied = await comeBack(await sandbox.consent(bad.url, 'deny'), bad.cookie);
    expect(denied.headers.location).toBe(
      `${return_url}&status=FAILED&connection_id=${bad.connectionId}&error=access_denied`,
    );
  });

  it('can be opened twice in one browser, which then has the newer cookie', async () => {
    const app = await scene.createApp();
    const started = await start(app);
    const first = await open(started);
    const second = await open(started);
    const back = await sandbox.consent(first.url);
    expect(await comeBack(back, first.cookie)).toMatchObject(refused);
    expect(await comeBack(back, second.cookie)).toMatchObject({ status: 200 });
  });
});

describe('openConnection', () => {
  it('refuses a browser without a session, as a page', async () => {
    const { state } = await start(await scene.createApp());
    const got = await world.call('GET', `/connect/${state}`, { headers: html });
    expect(got).toMatchObject({ status: 401, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(got.text).toContain('Sign in on the start page');
  });

  it("refuses another person's session: a stolen state is of no use", async () => {
    const { state } = await start(await scene.createApp());
    const got = await world.call('GET', `/connect/${state}`, { headers: { ...editor.session, ...html } });
    expect(got.status).toBe(403);
    expect(got.text).toContain('Another user started this connection');
    expect(got.headers['set-cookie']).toBeUndefined();
  });

  it.each(['unknown', 'forged', 'replaced', 'expired'] as const)('answers 404 to a state that is %s', async (kind) => {
    const app = await scene.createApp();
    const { state } = await start(app);
    const [text, signature] = state.split('.');
    const states = {
      unknown: 'x',
      forged: `${'A'.repeat(text?.length ?? 0)}.${signature}`,
      replaced: state,
      expired: state,
    };
    if (kind === 'replaced') await start(app);
    if (kind === 'expired') world.clock.aheadMs += 10 * 60 * 1000;
    const got = await world.call('GET', `/connect/${states[kind]}`, { headers: owner.session });
    world.clock.aheadMs = 0;
    expect(got).toMatchObject({ status: 404, body: { code: 'connection_not_found' } });
  });

  it('answers 503 if the operator has removed the client meanwhile', async () => {
    const { state } = await start(await scene.createApp());
    const without = await startSecondApp(world, { environment: withoutClients });
    const got = await without.call('GET', `/connect/${state}`, { headers: owner.session });
    expect(got).toMatchObject({ status: 503, body: { code: 'connector_not_configured' } });
  });
});

describe('oauthCallback', () => {
  it('refuses a browser without the cookie, or with that of another attempt, and keeps the state for the right one', async () => {
    const { url, cookie, app } = await begin();
    const other = await begin();
    const back = await sandbox.consent(url);
    const [name] = cookie.split('=');
    for (const cookies of [undefined, owner.session.cookie, other.cookie, `${name}=`, `${name}=${'A'.repeat(32)}`])
      expect(await comeBack(back, cookies)).toMatchObject(refused);
    expect(await status(app)).toEqual(pending);
    expect(await comeBack(back, `a=b; ${cookie}; ${owner.session.cookie}`)).toMatchObject({ status: 200 });
  });

  it('refuses as a page', async () => {
    const got = await world.call('GET', '/api/external-auth/callback?state=x&code=y', { headers: html });
    expect(got).toMatchObject({ status: 400, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(got.text).toContain('This connection was started in another browser');
  });

  it('refuses a state that is too long', async () => {
    const got = await world.call('GET', `/api/external-auth/callback?state=${'a'.repeat(201)}`);
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'state'] }] } });
  });

  it.each(['missing', 'forged', 'expired', 'replaced'] as const)('refuses a state that is %s', async (kind) => {
    const { app, url, cookie } = await begin();
    const back = await sandbox.consent(url);
    const state = back.searchParams.get('state') ?? '';
    if (kind === 'missing') back.searchParams.delete('state');
    if (kind === 'forged') back.searchParams.set('state', `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`);
    if (kind === 'expired') world.clock.aheadMs += 10 * 60 * 1000;
    if (kind === 'replaced') await start(app);
    expect(await comeBack(back, cookie)).toMatchObject(refused);
    if (kind === 'expired') expect(await status(app)).toEqual(failed('expired'));
    world.clock.aheadMs = 0;
    expect(
      (await world.db.selectFrom('connections').where('app_id', '=', app.id).selectAll().execute())[0],
    ).toMatchObject({
      status: 'pending',
      access_token_sealed: null,
    });
  });

  it('exchanges a code only once, although two callbacks arrive at the same time', async () => {
    const { url, cookie } = await begin();
    const back = await sandbox.consent(url);
    const got = await Promise.all(Array.from({ length: 5 }, () => comeBack(back, cookie)));
    expect(got.map(({ status: each }) => each).sort()).toEqual([200, 400, 400, 400, 400]);
  });

  it('refuses the code of another service, by what that service says it is, without sending it anywhere', async () => {
    const slack = await begin({ integration_type: 'slack' });
    const github = await begin({ integration_type: 'github' });
    const mixed = await sandbox.consent(slack.url);
    mixed.searchParams.set('state', github.state);
    const before = sandbox.journal.length;
    expect((await comeBack(mixed, github.cookie)).text).toContain('Not connected to GitHub');
    expect(await status(github.app, 'github')).toEqual(failed('exchange_failed'));
    expect(sandbox.journal.slice(before)).toEqual([]);
  });

  it('sends the code of another service only to the service of the state, which refuses it', async () => {
    const slack = await begin({ integration_type: 'slack' });
    const github = await begin({ integration_type: 'github' });
    const mixed = await sandbox.consent(slack.url);
    mixed.searchParams.set('state', github.state);
    mixed.searchParams.delete('iss');
    const before = sandbox.journal.length;
    await comeBack(mixed, github.cookie);
    expect(await status(github.app, 'github')).toEqual(failed('exchange_failed'));
    expect(new Set(sandbox.journal.slice(before).map(({ connector }) => connector))).toEqual(new Set(['github']));
  });

  it('records that access was denied', async () => {
    const { app, url, cookie } = await begin();
    const got = await comeBack(await sandbox.consent(url, 'deny'), cookie);
    expect(got.status).toBe(200);
    expect(got.text).toContain('Access to the service was denied');
    expect(await status(app)).toEqual(failed('access_denied'));
  });

  it.each(['down', 'garbage', 'refuse', 'drop'] as const)(
    'records a failed exchange if the service behaves %s',
    async (how) => {
      const { app, url, cookie } = await begin();
      const back = await sandbox.consent(url);
      sandbox.behave(how, 'gitlab');
      await comeBack(back, cookie);
      sandbox.behave('well', 'gitlab');
      expect(await status(app)).toEqual(failed('exchange_failed'));
    },
  );

  it('records a failed exchange if the service sends another error, or no code', async () => {
    for (const change of [{ error: 'server_error' }, {}]) {
      const { app, url, cookie } = await begin();
      const back = await sandbox.consent(url);
      back.searchParams.delete('code');
      for (const [name, value] of Object.entries(change)) back.searchParams.set(name, value);
      await comeBack(back, cookie);
      expect(await status(app)).toEqual(failed('exchange_failed'));
    }
  });

  it('stores nothing if a scope is missing, and revokes the tokens', async () => {
    const { app, url, cookie, connectionId } = await begin();
    const before = sandbox.journal.length;
    await comeBack(await sandbox.consent(url, 'allow', ['api']), cookie);
    expect(await status(app)).toEqual(failed('scope_missing'));
    expect((await readRow(connectionId)).access_token_sealed).toBeNull();
    expect(sandbox.journal.slice(before).map(({ event }) => event)).toContain('revoked');
  });

  it('leaves a connection as it was if an attempt to change it fails', async () => {
    const app = await scene.createApp();
    const id = await connect(app);
    const before = await readRow(id);
    const { url, cookie } = await open(await start(app, owner, { scopes: ['read_user', 'sudo'] }));
    expect(await status(app)).toEqual(pending);
    expect(await readRow(id)).toEqual(before);
    await comeBack(await sandbox.consent(url, 'deny'), cookie);
    expect(await readRow(id)).toEqual(before);
    expect(await status(app)).toEqual(failed('access_denied'));
  });
});

describe('an attempt that fails after the service has issued tokens', () => {
  it('leaves the tokens of the active connection valid', async () => {
    const app = await scene.createApp();
    const id = await connect(app);
    const before = await readRow(id);
    const { url, cookie } = await open(await start(app, owner, { scopes: ['read_user', 'api', 'sudo'] }));
    const mark = sandbox.journal.length;
    await comeBack(await sandbox.consent(url, 'allow', ['api']), cookie);
    expect(await status(app)).toEqual(failed('scope_missing'));
    expect(await readRow(id)).toEqual(before);
    expect(sandbox.journal.slice(mark).map(({ event }) => event)).not.toContain('revoked');
    const { accessToken } = openTokens(createSecrets(world.config.MASTER_KEYS), before) ?? {};
    const headers = { authorization: `Bearer ${accessToken}` };
    expect((await fetch(`${sandbox.url}/gitlab/api/me`, { headers })).status).toBe(200);
  });

  it('has failed, and not only the request, if the server has an error', async () => {
    const { app, url, cookie, connectionId } = await begin();
    await world.db
      .updateTable('connection_attempts')
      .set({ code_verifier_sealed: 'unreadable' })
      .where('connection_id', '=', connectionId)
      .execute();
    expect((await comeBack(await sandbox.consent(url), cookie)).status).toBe(500);
    expect(await status(app)).toEqual(failed('exchange_failed'));
  });
});

describe("replacing another person's connection", () => {
  it('revokes the tokens of that person', async () => {
    const app = await scene.createApp();
    await connect(app, editor);
    const mark = sandbox.journal.length;
    await connect(app, owner, { force_reconnect: true });
    expect(sandbox.journal.slice(mark).map(({ event }) => event)).toContain('revoked');
    const again = sandbox.journal.length;
    await connect(app, owner, { force_reconnect: true });
    expect(sandbox.journal.slice(again).map(({ event }) => event)).not.toContain('revoked');
  });
});

describe('while the browser is at the service,', () => {
  it('the app is moved to the trash: nothing is stored', async () => {
    const { app, url, cookie, connectionId } = await begin();
    const back = await sandbox.consent(url);
    expect((await world.call('DELETE', `/api/apps/${app.id}`, { as: owner.token })).status).toBe(200);
    expect(await comeBack(back, cookie)).toMatchObject(refused);
    expect(await readRow(connectionId)).toMatchObject({ status: 'pending', access_token_sealed: null });
  });

  it('the person loses their role: nothing is stored', async () => {
    const app = await scene.createApp();
    const member = await world.member(scene.workspace, 'editor', 'leaver@example.com');
    const actor = {
      ...member,
      token: await world.token(member, scene.workspace),
      session: await world.session(member),
    };
    const { url, cookie } = await open(await start(app, actor), actor);
    const back = await sandbox.consent(url);
    await world.db.updateTable('memberships').set({ role: 'viewer' }).where('user_id', '=', member.id).execute();
    expect(await comeBack(back, cookie)).toMatchObject(refused);
  });

  it('the connection is removed while the service answers: the tokens are revoked', async () => {
    const { app, url, cookie } = await begin();
    const back = await sandbox.consent(url);
    const before = sandbox.journal.length;
    sandbox.behave('hold', 'gitlab');
    const callback = comeBack(back, cookie);
    await expect.poll(() => sandbox.journal.slice(before).map(({ event }) => event)).toContain('issued');
    const path = `/api/apps/${app.id}/external-auth/integrations/gitlab/remove`;
    expect((await world.call('DELETE', path, { as: owner.token })).status).toBe(200);
    sandbox.behave('well', 'gitlab');
    expect(await callback).toMatchObject(refused);
    expect(sandbox.journal.slice(before).map(({ event }) => event)).toContain('revoked');
    expect(await status(app)).toMatchObject({ code: 'connection_not_found' });
  });
});

it('nobody but an editor can start a connection', async () => {
  const app = await scene.createApp();
  const body = { integration_type: 'gitlab' };
  const got = await world.call('POST', `/api/apps/${app.id}/external-auth/initiate`, { as: viewer.token, body });
  expect(got).toMatchObject({ status: 403, body: { code: 'role_required' } });
});

it('tokens, codes, verifiers, states and cookies are in no log, audit entry or table as they are', async () => {
  const { url, cookie, state } = await begin();
  const back = await sandbox.consent(url);
  await comeBack(back, cookie);
  const secrets = [back.searchParams.get('code') ?? '', state, cookie.split('=')[1] ?? ''];
  const { rows } = await world.app.database.pool.query(
    `/* service */ select entry::text as text from audit_pending union all select c::text from connections c
     union all select a::text from connection_attempts a`,
  );
  const texts = [...world.logLines, ...rows.map(({ text }) => text)].join('\n');
  for (const secret of secrets) expect(texts.includes(secret)).toBe(false);
});
