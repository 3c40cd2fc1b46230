// Tests the guard with two processes. A change to a caller's access takes effect in both processes on the next request.
// Also tests limits, addresses, keys and peppers.
import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { hashToken } from '../tokens.ts';

const world = await startWorld();
const other = await startSecondApp(world); // a second process on the same database and Redis
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const list = (at: typeof world, as: string) => at.call('GET', '/api/apps', { as });

describe('two processes', () => {
  it('both refuse a revoked token on the next request', async () => {
    const { id, token } = await world.credential({
      kind: 'personal_token',
      user_id: owner.id,
      workspace_id: workspace,
      permission: 'full_access',
    });
    for (const process of [world, other]) expect((await list(process, token)).status).toBe(200);
    await world.db.updateTable('credentials').set({ revoked_at: new Date() }).where('id', '=', id).execute();
    for (const process of [other, world]) {
      expect(await list(process, token)).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
    }
  });

  it('both apply a block and a role change on the next request', async () => {
    const member = await world.member(workspace, 'editor', 'member@example.com');
    const token = await world.token(member, workspace);
    const create = (at: typeof world) =>
      at.call('POST', '/api/app-folders', { as: token, body: { name: 'F', scope: 'workspace' } });
    const change = (set: { role?: 'viewer' | 'editor'; access_state?: 'active' | 'blocked' }) =>
      world.db
        .updateTable('memberships')
        .set(set)
        .where('workspace_id', '=', workspace)
        .where('user_id', '=', member.id)
        .execute();
    expect((await create(other)).status).toBe(200);
    await change({ role: 'viewer' });
    expect(await create(other)).toMatchObject({ status: 403, body: { code: 'role_required' } });
    await change({ role: 'editor', access_state: 'blocked' });
    expect(await create(other)).toMatchObject({ status: 403, body: { code: 'member_blocked' } });
    await change({ access_state: 'active' });
    expect((await create(other)).status).toBe(200);
  });

  it('share the counter of a limit', async () => {
    const person = await world.person('counted@example.com');
    const token = await world.token(person, await world.workspace(person, 'free'));
    const left = async (at: typeof world) =>
      Number(/r=(\d+)/.exec((await list(at, token)).headers.ratelimit ?? '')?.[1]);
    expect([await left(world), await left(other), await left(world)]).toEqual([299, 298, 297]);
  });

  it("apply a new plan's limit on the next request", async () => {
    const person = await world.person('plans@example.com');
    const workspaceId = await world.workspace(person, 'free');
    const token = await world.token(person, workspaceId);
    const policy = async () => (await list(other, token)).headers['ratelimit-policy'];
    expect(await policy()).toBe('"listApps";q=300;w=60');
    await world.db.updateTable('workspaces').set({ plan: 'business' }).where('id', '=', workspaceId).execute();
    expect(await policy()).toBe('"listApps";q=1500;w=60');
    await world.db.updateTable('workspaces').set({ rate_multiplier: 0.1 }).where('id', '=', workspaceId).execute();
    expect(await policy()).toBe('"listApps";q=30;w=60');
  });
});

describe('the counter of a request', () => {
  const left = async (headers: Record<string, string>) =>
    Number(/r=(\d+)/.exec((await world.call('GET', '/api/apps', { headers })).headers.ratelimit ?? '')?.[1]);

  it('is shared by all personal tokens and keys of a workspace, but not by sessions and workspace keys', async () => {
    const person = await world.person('shared@example.com');
    const workspaceId = await world.workspace(person, 'free');
    const colleague = await world.member(workspaceId, 'viewer', 'shared2@example.com');
    const bearer = async (who: typeof person) => ({ authorization: `Bearer ${await world.token(who, workspaceId)}` });
    const key = await world.credential({
      kind: 'personal_key',
      user_id: person.id,
      workspace_id: null,
      permission: 'read_only',
    });
    const session = await world.credential({
      kind: 'session',
      user_id: person.id,
      workspace_id: null,
      permission: 'full_access',
    });
    const wsKey = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspaceId,
      permission: 'full_access',
      scopes: ['apps:read'],
    });
    expect(await left(await bearer(person))).toBe(299);
    expect(await left(await bearer(colleague))).toBe(298);
    expect(await left({ api_key: key.token })).toBe(297);
    expect(await left({ cookie: `plinth_session=${session.token}` })).toBe(299);
    expect(await left({ api_key: wsKey.token })).toBe(299);
  });

  it('does not count requests that are refused before the limit', async () => {
    const person = await world.person('refused@example.com');
    const workspaceId = await world.workspace(person, 'free');
    const readOnly = await world.token(person, workspaceId, { permission: 'read_only' });
    const full = await world.token(person, workspaceId);
    const create = (as: string) => world.call('POST', '/api/apps', { as });
    for (let i = 0; i < 8; i += 1) expect((await create(readOnly)).status).toBe(403);
    expect((await create(full)).headers.ratelimit).toContain('r=4;');
  });
});

describe('the client address', () => {
  const left = async (at: typeof world, forwarded: string) =>
    Number(
      /r=(\d+)/.exec(
        (await at.call('GET', '/api/info', { headers: { 'x-forwarded-for': forwarded } })).headers.ratelimit ?? '',
      )?.[1],
    );

  it('comes from X-Forwarded-For only behind a trusted proxy, as its last untrusted entry', async () => {
    const trusting = await startSecondApp(world, {
      environment: { TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8', REDIS_PREFIX: `trusting:${process.pid}:` },
    });
    const first = await left(world, '198.51.100.1');
    expect(await left(world, '198.51.100.2')).toBe(first - 1);
    expect(await left(trusting, '198.51.100.1')).toBe(59);
    expect(await left(trusting, '198.51.100.2')).toBe(59);
    expect(await left(trusting, '1.2.3.4, 198.51.100.2, 10.1.1.1')).toBe(58);
  });
});

describe('personal API keys', () => {
  it("get a Deprecation header in the api_key header, and are refused from the operator's date on", async () => {
    const { token } = await world.credential({
      kind: 'personal_key',
      user_id: owner.id,
      workspace_id: null,
      permission: 'full_access',
    });
    const got = await world.call('GET', '/api/apps', { headers: { api_key: token } });
    expect(got.headers).toMatchObject({ deprecation: '@1792022400' });
    expect(got.headers.sunset).toBeUndefined();
    const soon = await startSecondApp(world, { environment: { PERSONAL_API_KEYS_UNTIL: '2999-01-01' } });
    expect((await soon.call('GET', '/api/apps', { headers: { api_key: token } })).headers.sunset).toBe(
      'Tue, 01 Jan 2999 00:00:00 GMT',
    );
    const past = await startSecondApp(world, { environment: { PERSONAL_API_KEYS_UNTIL: '2020-01-01' } });
    expect(await past.call('GET', '/api/apps', { headers: { api_key: token } })).toMatchObject({
      status: 401,
      body: { code: 'credentials_expired' },
    });
  });

  it('do not affect tokens in the api_key header, which get no Deprecation header', async () => {
    const got = await world.call('GET', '/api/apps', { headers: { api_key: await world.token(owner, workspace) } });
    expect(got.status).toBe(200);
    expect(got.headers.deprecation).toBeUndefined();
  });

  it('are used before the cookie and after Authorization', async () => {
    const good = await world.token(owner, workspace);
    expect(
      (await world.call('GET', '/api/apps', { as: good, headers: { api_key: 'bad', cookie: 'plinth_session=bad' } }))
        .status,
    ).toBe(200);
    expect((await world.call('GET', '/api/apps', { as: 'bad', headers: { api_key: good } })).status).toBe(401);
    expect(
      (await world.call('GET', '/api/apps', { headers: { api_key: 'bad', cookie: `plinth_session=${good}` } })).status,
    ).toBe(401);
  });
});

describe('peppers', () => {
  it('that are older still verify a credential, whose hash is then replaced', async () => {
    const { id, token } = await world.credential({
      kind: 'personal_token',
      user_id: owner.id,
      workspace_id: workspace,
      permission: 'full_access',
    });
    const [old] = world.config.TOKEN_PEPPERS;
    const fresh = randomBytes(32);
    const both = `new:${fresh.toString('base64')},${old?.id}:${old?.key.export().toString('base64')}`;
    const rotated = await startSecondApp(world, { environment: { TOKEN_PEPPERS: both } });
    expect((await list(rotated, token)).status).toBe(200);
    const row = await world.db
      .selectFrom('credentials')
      .where('id', '=', id)
      .select(['hash', 'pepper_id'])
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ hash: hashToken(token, { id: 'new', key: createSecretKey(fresh) }), pepper_id: 'new' });
    expect((await list(rotated, token)).status).toBe(200);
  });
});

describe('the time of last use', () => {
  it('is written at most once a minute', async () => {
    const { id, token } = await world.credential({
      kind: 'personal_token',
      user_id: owner.id,
      workspace_id: workspace,
      permission: 'full_access',
    });
    const lastUsed = async () =>
      (await world.db.selectFrom('credentials').where('id', '=', id).select('last_used_at').executeTakeFirstOrThrow())
        .last_used_at;
    await list(world, token);
    await expect.poll(lastUsed).not.toBeNull();
    const first = await lastUsed();
    await list(world, token);
    world.clock.aheadMs = 61_000;
    await list(world, token);
    await expect.poll(lastUsed).not.toEqual(first);
    world.clock.aheadMs = 0;
    expect((await lastUsed())?.getTime()).toBeGreaterThanOrEqual((first?.getTime() ?? 0) + 60_000);
  });
});
