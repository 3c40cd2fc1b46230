// Tests workspace keys through the API: scopes, expiry, and the token that created a key (docs/api/accounts.md).
import { describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld();
const dayMs = 24 * 60 * 60 * 1000;

const addWorkspace = async () => {
  const owner = await world.person(`${newId()}@example.com`);
  return { owner, id: await world.workspace(owner) };
};
const sessionOf = async (person: Person) => ({ headers: await world.session(person) });
const tokenOf = (person: Person, workspace_id: string, expires_at: Date | null = null) =>
  world.credential({ kind: 'personal_token', user_id: person.id, workspace_id, permission: 'full_access', expires_at });

type Caller = { as: string } | { headers: Record<string, string> };
const create = (caller: Caller, body: object = {}) =>
  world.call('POST', '/api/workspace/api-keys', { ...caller, body: { name: 'K', scopes: ['apps:read'], ...body } });
const use = async (key: string) => (await world.call('GET', '/api/apps', { headers: { api_key: key } })).status;

describe('workspace keys', () => {
  it('act within their scopes and apps, not for a user, and stay valid when their creator leaves', async () => {
    const workspace = await addWorkspace();
    const admin = await world.member(workspace.id, 'admin', `${newId()}@example.com`);
    const [one, two] = [
      await world.appOf(workspace.owner, workspace.id),
      await world.appOf(workspace.owner, workspace.id, { visibility: 'private' }),
    ];
    const created = (await create(await sessionOf(admin), { scopes: ['apps:read', 'apps:read'], app_ids: [one.id] }))
      .body;
    expect(created).toMatchObject({
      scopes: ['apps:read'],
      created_by: admin.email,
      description: '',
      parent_id: null,
      expires_at: null,
    });
    const read = async (id: string) =>
      (await world.call('GET', `/api/apps/${id}`, { headers: { api_key: created.token } })).status;
    expect([await read(one.id), await read(two.id)]).toEqual([200, 404]);
    const as = await world.token(workspace.owner, workspace.id);
    expect((await world.call('DELETE', `/api/workspace/members/${admin.email}`, { as })).status).toBe(200);
    expect(await read(one.id)).toBe(200);
    const change = await world.call('PATCH', `/api/workspace/api-keys/${created.id}`, {
      as,
      body: { description: 'for CI', scopes: ['apps:write'] },
    });
    expect(change).toMatchObject({
      body: { description: 'for CI', scopes: ['apps:read'] },
      headers: { 'x-ignored-fields': 'scopes' },
    });
    expect((await world.call('GET', '/api/workspace/api-keys', { as })).body).toHaveLength(1);
    const rename = await world.call('PATCH', `/api/workspace/api-keys/${created.id}`, { as, body: { name: '' } });
    expect(rename.status).toBe(422);
    expect((await world.call('DELETE', `/api/workspace/api-keys/${created.id}`, { as })).status).toBe(200);
    expect(await read(one.id)).toBe(401);
  });

  it('are limited to ten, with known scopes and apps', async () => {
    const workspace = await addWorkspace();
    const as = await world.token(workspace.owner, workspace.id);
    expect((await create({ as }, { scopes: [] })).body.detail[0].type).toBe('too_short');
    expect((await create({ as }, { scopes: ['apps:own'] })).body.detail[0].type).toBe('enum');
    expect(await create({ as }, { app_ids: ['nonsense'] })).toMatchObject({
      status: 404,
      body: { code: 'app_not_found' },
    });
    for (let created = 0; created < 10; created += 1)
      await world.credential({
        kind: 'workspace_key',
        user_id: null,
        workspace_id: workspace.id,
        permission: 'full_access',
        scopes: ['apps:read'],
      });
    expect(await create({ as })).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 10 } });
  });

  it('expire after the days that were requested, and are then no longer listed', async () => {
    const workspace = await addWorkspace();
    const session = await sessionOf(workspace.owner);
    expect((await create(session, { expires_in_days: 366 })).status).toBe(422);
    const created = (await create(session, { expires_in_days: 2 })).body;
    expect(new Date(created.expires_at).getTime()).toBeCloseTo(Date.now() + 2 * dayMs, -5);
    expect(await use(created.token)).toBe(200);
    world.clock.aheadMs = 2 * dayMs;
    const late = await world.call('GET', '/api/apps', { headers: { api_key: created.token } });
    const listed = await world.call('GET', '/api/workspace/api-keys', session);
    world.clock.aheadMs = 0;
    expect(late).toMatchObject({ status: 401, body: { code: 'credentials_expired' } });
    expect(listed.body).toEqual([]);
  });
});

describe('workspace keys created with a token', () => {
  it('expire no later than the token', async () => {
    const workspace = await addWorkspace();
    const expires_at = new Date(world.clock.now().getTime() + 10 * dayMs);
    const { id, token: as } = await tokenOf(workspace.owner, workspace.id, expires_at);
    for (const expires_in_days of [11, null]) {
      expect(await create({ as }, { expires_in_days })).toMatchObject({
        status: 403,
        body: { code: 'token_wider_than_parent' },
      });
    }
    expect((await create({ as }, { expires_in_days: 9 })).status).toBe(200);
    const asLongAsPossible = (await create({ as })).body;
    expect(asLongAsPossible).toMatchObject({ parent_id: id, expires_at: expires_at.toISOString() });
  });

  it('are revoked with the token and with the token that created it', async () => {
    const workspace = await addWorkspace();
    const session = await sessionOf(workspace.owner);
    const parent = await tokenOf(workspace.owner, workspace.id);
    const child = await world.call('POST', '/api/auth/tokens', {
      as: parent.token,
      body: { name: 'child', permission: 'full_access' },
    });
    const keys = [(await create({ as: parent.token })).body, (await create({ as: child.body.token })).body];
    const other = (await create(session)).body;
    expect(await Promise.all(keys.map((key) => use(key.token)))).toEqual([200, 200]);
    expect((await world.call('DELETE', `/api/auth/tokens/${parent.id}`, session)).status).toBe(200);
    expect(await Promise.all(keys.map((key) => use(key.token)))).toEqual([401, 401]);
    expect(await use(other.token)).toBe(200);
  });

  it('are revoked when the owner of the token leaves the workspace', async () => {
    const workspace = await addWorkspace();
    const admin = await world.member(workspace.id, 'admin', `${newId()}@example.com`);
    const { token } = await tokenOf(admin, workspace.id);
    const key = (await create({ as: token })).body;
    const session = await sessionOf(workspace.owner);
    expect(await use(key.token)).toBe(200);
    expect((await world.call('DELETE', `/api/workspace/members/${admin.email}`, session)).status).toBe(200);
    expect(await use(key.token)).toBe(401);
  });

  it("don't survive a revocation of the token at the same time", async () => {
    const workspace = await addWorkspace();
    const session = await sessionOf(workspace.owner);
    for (let round = 0; round < 10; round += 1) {
      await world.resetRateLimits();
      const parent = await tokenOf(workspace.owner, workspace.id);
      const [key] = await Promise.all([
        create({ as: parent.token }),
        world.call('DELETE', `/api/auth/tokens/${parent.id}`, session),
      ]);
      expect([200, 401]).toContain(key.status);
      if (key.status === 200) expect(await use(key.body.token)).toBe(401);
    }
  });
});
