// Tests the login of a program with a code.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { hashPassword, savePassword } from '../../../core/identity/passwords.ts';
import { newId } from '../../../kit/ids.ts';
import { lifetimeSeconds } from './contract.ts';
import { removeExpiredLogins } from './store.ts';

const world = await startWorld();
const ada = await world.person('ada@example.com');
const workspace = await world.workspace(ada, 'enterprise', 'Corner Bakery');
const app = await world.appOf(ada, workspace);

beforeEach(async () => {
  await world.resetRateLimits();
  await sql`delete from device_logins`.execute(world.db);
});

const start = async (body: object = { client_name: 'plinthctl' }) =>
  (await world.call('POST', '/api/auth/device', { body })).body;
const poll = (device_code: string) => world.call('POST', '/api/auth/device/token', { body: { device_code } });
const read = async (code: string, person = ada) =>
  world.call('GET', `/api/auth/device/${code}`, { headers: await world.session(person) });
const answer = (code: string, headers: Record<string, string>, body: object, query = '') =>
  world.call('POST', `/api/auth/device/${code}/answer${query}`, { headers, body });
const approve = async (code: string, more: object = {}) =>
  answer(code, await world.session(ada), { approve: true, ...more });
const listEntries = async (type: string) =>
  (await world.db.selectFrom('audit_pending').where('workspace_id', '=', workspace).selectAll().execute())
    .map(({ entry }) => entry as unknown as { type: string; actor: object; after: object })
    .filter((entry) => entry.type === type);
const advance = (seconds: number) => {
  world.clock.aheadMs += seconds * 1000;
};

describe('a login', () => {
  it('gives the program a token once somebody has approved', async () => {
    const { device_code, user_code, ...rest } = await start();
    expect(rest).toEqual({
      verification_url: `${world.config.BASE_URL}/device`,
      expires_in_seconds: 600,
      interval_seconds: 5,
    });
    expect(user_code).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
    const pending = await poll(device_code);
    expect(pending).toMatchObject({ status: 409, body: { code: 'device_login_pending', retry_safe: true } });
    expect(pending.headers['retry-after']).toBe('5');
    expect(await read(user_code)).toMatchObject({
      status: 200,
      body: { client_name: 'plinthctl', address: '127.0.0.1', permission: 'read_only', app_ids: null },
    });
    expect(await approve(user_code)).toMatchObject({ status: 200, body: { success: true } });
    const { status, body } = await poll(device_code);
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: 'plinthctl', permission: 'read_only', app_ids: null, workspace_id: workspace });
    const days = (new Date(body.expires_at).getTime() - world.clock.now().getTime()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    const me = await world.call('GET', '/api/auth/me', { as: body.token });
    expect(me.body.user.email).toBe(ada.email);
    expect(await listEntries('device_login.answered')).toMatchObject([
      { after: { approved: true, client_name: 'plinthctl', permission: 'read_only' } },
    ]);
    expect(await listEntries('token.created')).toMatchObject([{ actor: { kind: 'user', id: ada.id } }]);
  });

  it('gives one token, even to programs that ask at the same time', async () => {
    const { device_code, user_code } = await start();
    await approve(user_code);
    const got = await Promise.all([1, 2, 3, 4].map(() => poll(device_code)));
    expect(got.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410]);
    expect((await poll(device_code)).body.code).toBe('device_login_expired');
  });

  it('is found with small letters and without the hyphen', async () => {
    const { user_code } = await start();
    expect((await read(user_code.toLowerCase().replace('-', ''))).status).toBe(200);
    expect((await read(encodeURIComponent(user_code.replace('-', ' ')))).status).toBe(200);
  });

  it('ends after ten minutes, approved or not', async () => {
    const [waiting, approved] = [await start(), await start()];
    await approve(approved.user_code);
    advance(lifetimeSeconds + 1);
    for (const { device_code } of [waiting, approved]) expect((await poll(device_code)).status).toBe(410);
    expect((await read(waiting.user_code)).body.code).toBe('device_login_not_found');
    expect((await approve(waiting.user_code)).body.code).toBe('device_login_not_found');
    expect(await removeExpiredLogins(world.db, world.clock.now())).toBe(2);
  });

  it.each(['nonsense', 'BBBB-BBBB', ''])('is not found by another code: %j', async (code) => {
    expect((await poll(code || 'x')).body.code).toBe('device_login_expired');
    if (code !== '') expect((await read(code)).body.code).toBe('device_login_not_found');
  });
});

describe('an answer', () => {
  it('can deny', async () => {
    const { device_code, user_code } = await start();
    const headers = await world.session(ada);
    expect((await answer(user_code, headers, { approve: false })).status).toBe(200);
    expect(await poll(device_code)).toMatchObject({ status: 403, body: { code: 'device_login_denied' } });
  });

  it('can be narrowed and withdrawn until the token is fetched', async () => {
    const { device_code, user_code } = await start({ client_name: 'ci', permission: 'full_access' });
    const headers = await world.session(ada);
    const second = await world.workspace(ada, 'free', 'Narrow');
    await answer(user_code, headers, { approve: true });
    const narrowed = { approve: true, permission: 'read_only', expires_in_days: 1 };
    const got = await answer(user_code, headers, narrowed, `?workspaceId=${second}`);
    expect([got.status, got.headers['x-changed']]).toEqual([200, undefined]);
    const again = await answer(user_code, headers, narrowed, `?workspaceId=${second}`);
    expect(again.headers['x-changed']).toBe('false');
    expect((await poll(device_code)).body).toMatchObject({ permission: 'read_only', workspace_id: second });
    const other = await start();
    await answer(other.user_code, headers, { approve: true });
    await answer(other.user_code, headers, { approve: false });
    expect((await poll(other.device_code)).body.code).toBe('device_login_denied');
  });

  it('can be repeated, but a denial is final, and nobody else can answer', async () => {
    const eve = await world.person('eve@example.com');
    await world.workspace(eve, 'free', 'Other');
    const { device_code, user_code } = await start();
    const headers = await world.session(ada);
    await answer(user_code, headers, { approve: false });
    const again = await answer(user_code, headers, { approve: false });
    expect(again).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect((await answer(user_code, headers, { approve: true })).body.code).toBe('device_login_not_found');
    expect((await answer(user_code, await world.session(eve), { approve: true })).status).toBe(404);
    expect((await read(user_code, eve)).status).toBe(404);
    expect((await poll(device_code)).status).toBe(403);
  });

  it('may grant less than the program asked for', async () => {
    const { device_code, user_code } = await start({ client_name: 'ci', permission: 'full_access' });
    await approve(user_code, { permission: 'read_only', app_ids: [app.id], expires_in_days: 1 });
    const { body } = await poll(device_code);
    expect(body).toMatchObject({ permission: 'read_only', app_ids: [app.id] });
    expect(new Date(body.expires_at).getTime() - world.clock.now().getTime()).toBeLessThanOrEqual(86_400_000);
  });

  it('never grants more', async () => {
    const { user_code } = await start({ client_name: 'ci', app_ids: [app.id] });
    const other = await world.appOf(ada, workspace);
    for (const more of [{ permission: 'full_access' }, { app_ids: [app.id, other.id] }]) {
      const got = await approve(user_code, more);
      expect([got.status, got.body.detail[0].loc]).toEqual([422, ['body', Object.keys(more)[0]]]);
    }
  });

  it('names apps that the person can see', async () => {
    const { user_code } = await start({ client_name: 'ci', app_ids: [newId()] });
    expect((await approve(user_code)).body.code).toBe('app_not_found');
  });

  it('chooses the workspace, of which the person must be a member', async () => {
    const second = await world.workspace(ada, 'free', 'Second');
    const { device_code, user_code } = await start();
    const headers = await world.session(ada);
    const refused = await answer(user_code, headers, { approve: true }, `?workspaceId=${newId()}`);
    expect(refused.body.code).toBe('workspace_not_found');
    await answer(user_code, headers, { approve: true }, `?workspaceId=${second}`);
    expect((await poll(device_code)).body.workspace_id).toBe(second);
  });

  it('needs a session, from a page of this installation', async () => {
    const { user_code } = await start();
    const token = await world.token(ada, workspace);
    const path = `/api/auth/device/${user_code}/answer`;
    const body = { approve: true };
    expect((await world.call('POST', path, { as: token, body })).body.code).toBe('credential_kind_not_allowed');
    const headers = { ...(await world.session(ada)), origin: 'https://elsewhere.example' };
    expect((await world.call('POST', path, { headers, body })).body.code).toBe('origin_not_allowed');
  });
});

describe('an approval', () => {
  const approved = async () => {
    const headers = await world.session(ada);
    const { device_code, user_code } = await start();
    await answer(user_code, headers, { approve: true });
    return { headers, device_code };
  };

  it('counts for nothing once its session has ended', async () => {
    const { headers, device_code } = await approved();
    await world.call('POST', '/api/auth/sign-out', { headers });
    expect((await poll(device_code)).body.code).toBe('device_login_denied');
  });

  it('counts for nothing once the password has been changed, even in the same session', async () => {
    const password = 'a long enough password';
    const grace = await world.person('hopper@example.com');
    await savePassword(world.db, grace.id, await hashPassword(password, { ip: '127.0.0.1' }), new Date());
    await world.workspace(grace, 'free', 'Own');
    const headers = await world.session(grace);
    const { device_code, user_code } = await start();
    await answer(user_code, headers, { approve: true });
    const body = { current_password: password, new_password: 'another long password' };
    expect((await world.call('POST', '/api/auth/password', { headers, body })).status).toBe(200);
    expect((await poll(device_code)).body.code).toBe('device_login_denied');
  });

  it('counts for nothing once the person has been blocked', async () => {
    const { device_code } = await approved();
    const setState = (access_state: 'blocked' | 'active') =>
      world.db.updateTable('memberships').set({ access_state }).where('user_id', '=', ada.id).execute();
    await setState('blocked');
    expect((await poll(device_code)).body.code).toBe('device_login_denied');
    await setState('active');
  });
});

describe('fetching the token', () => {
  it('is refused if the person can no longer see an app of it', async () => {
    const own = await world.appOf(ada, workspace);
    const { device_code, user_code } = await start({ client_name: 'ci', app_ids: [own.id] });
    await approve(user_code);
    await world.call('DELETE', `/api/apps/${own.id}`, { as: await world.token(ada, workspace) });
    expect(await poll(device_code)).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('is refused if the person has 50 tokens, and works once one is revoked', async () => {
    const grace = await world.person('grace@example.com');
    const own = await world.workspace(grace, 'free', 'Own');
    const headers = await world.session(grace);
    const { device_code, user_code } = await start();
    await answer(user_code, headers, { approve: true });
    const { id } = await world.credential({
      kind: 'personal_token',
      user_id: grace.id,
      workspace_id: own,
      permission: 'read_only',
    });
    await sql`insert into credentials (id, kind, hash, pepper_id, last4, name, user_id, workspace_id, permission, created_date)
      select gen_random_uuid(), kind, hash || int4send(n), pepper_id, last4, name, user_id, workspace_id, permission, created_date
      from credentials, generate_series(1, 49) n where id = ${id}`.execute(world.db);
    expect(await poll(device_code)).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 50 } });
    await world.call('DELETE', `/api/auth/tokens/${id}`, { headers });
    expect((await poll(device_code)).status).toBe(200);
  });
});

describe('starting', () => {
  it('is refused while 10,000 logins are open', async () => {
    await sql`insert into device_logins (id, device_hash, user_code, client_name, address, permission, created_date, expires_at)
      select gen_random_uuid(), int4send(n), n::text, 'x', 'x', 'read_only', now(), now() + interval '1 day'
      from generate_series(1, 9999) n`.execute(world.db);
    expect((await start()).user_code).toBeDefined();
    const got = await world.call('POST', '/api/auth/device', { body: { client_name: 'x' } });
    expect(got).toMatchObject({ status: 503, body: { code: 'service_unavailable', retry_safe: true } });
  });

  it('validates what is asked for', async () => {
    const got = await world.call('POST', '/api/auth/device', { body: { client_name: '', app_ids: [], admin: true } });
    const nul = await world.call('POST', '/api/auth/device', { body: { client_name: 'x', app_ids: ['\0'] } });
    expect(nul.status).toBe(422);
    expect(got.body.detail.map(({ type }: { type: string }) => type).sort()).toEqual(
      expect.arrayContaining(['extra_forbidden', 'string_too_short', 'too_short']),
    );
  });
});
