// Tests the guard for an app's data on two dedicated operations: the principal, refusals, limits, idempotency and CORS.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CallOptions } from '../../../../test/support/client.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { body, optional } from '../../../kit/http/shapes.ts';
import { audit } from '../../audit/audit.ts';
import { readCredentials, writeCredentials } from '../credentials.ts';
import { perMinute } from '../limits.ts';
import type { DataAccess } from '../proofs.ts';
import { type Route, route } from '../route.ts';
import { appData } from './app-data.ts';

const presentAccess = ({ principal, app_role, app, caller, workspace_id, plan }: DataAccess) => ({
  principal,
  app_role,
  app_id: app.id,
  kind: caller.kind,
  workspace_id,
  plan,
});
let handledCount = 0;

const probes: Route[] = [
  route({
    name: 'lookAround',
    method: 'GET',
    path: '/api/apps/{app_id}/around',
    summary: "Returns the caller's access",
    credentials: { ...readCredentials, appUser: true },
    access: appData(),
    limit: perMinute(200, 'caller+app'),
    answers: { 200: z.unknown() },
    handle: ({ access }) => presentAccess(access),
  }),
  route({
    name: 'lookAroundWithKey',
    method: 'GET',
    path: '/api/apps/{app_id}/around/key',
    summary: "Returns a workspace key's access",
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appData(),
    limit: perMinute(200, 'caller+app'),
    answers: { 200: z.unknown() },
    handle: ({ access }) => presentAccess(access),
  }),
  route({
    name: 'leaveTrace',
    method: 'POST',
    path: '/api/apps/{app_id}/around',
    summary: 'Writes an audit entry',
    credentials: { ...writeCredentials, appUser: true },
    access: appData(),
    limit: perMinute(200, 'caller+app'),
    idempotency: 'optional',
    body: body({ note: optional(z.string()) }),
    audits: ['record.purged'],
    answers: { 200: z.unknown() },
    handle: async ({ db, access, now }) => {
      handledCount += 1;
      await audit(db, access, { type: 'record.purged', target: { kind: 'app', id: access.app.id } }, now);
      return { handled: handledCount };
    },
  }),
  route({
    name: 'knock',
    method: 'GET',
    path: '/api/apps/{app_id}/door',
    summary: 'Does nothing, rarely',
    credentials: { ...readCredentials, appUser: true },
    access: appData(),
    limit: perMinute(5, 'caller+app'),
    answers: { 200: z.unknown() },
    handle: () => ({}),
  }),
];

const statements: string[] = [];
const world = await startWorld({
  routes: (routes) => [...routes, ...probes],
  onStatement: (text) => statements.push(text),
});
const owner = await world.person('owner@example.com', { full_name: 'Olive Owner' });
const workspace = await world.workspace(owner, 'free');
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const app = await world.appOf(owner, workspace);
const other = await world.appOf(owner, workspace);
const openApp = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const user = await world.appUser(app, 'ann@customers.example', {
  full_name: 'Ann',
  role: 'admin',
  data: JSON.stringify({ team: 'blue', seats: [1, { two: null }] }),
});
const token = await world.appUserToken(app, user);

const callRead = (at: { id: string }, sent?: CallOptions) => world.call('GET', `/api/apps/${at.id}/around`, sent);
const callWrite = (at: { id: string }, sent?: CallOptions) => world.call('POST', `/api/apps/${at.id}/around`, sent);

describe('the principal', () => {
  it('is the app user, for an app user token', async () => {
    expect((await callRead(app, { as: token })).body).toEqual({
      principal: {
        kind: 'signed_in',
        isManager: false,
        id: user.id,
        email: 'ann@customers.example',
        full_name: 'Ann',
        role: 'admin',
        data: { team: 'blue', seats: [1, { two: null }] },
      },
      app_role: null,
      app_id: app.id,
      kind: 'app_user_token',
      workspace_id: workspace,
      plan: 'free',
    });
  });

  it('is a member with the role admin if they may edit the app, and user if they may view it', async () => {
    const seen: Record<string, unknown> = {};
    for (const role of ['owner', 'admin', 'editor', 'viewer'] as const) {
      const person = role === 'owner' ? owner : await world.member(workspace, role, `${role}@members.example`);
      const got = await callRead(app, { as: await world.token(person, workspace) });
      expect(got.body.principal).toMatchObject({ id: person.id, email: person.email, data: {} });
      seen[role] = [got.body.app_role, got.body.principal.role];
    }
    expect(seen).toEqual({
      owner: ['owner', 'admin'],
      admin: ['owner', 'admin'],
      editor: ['editor', 'admin'],
      viewer: ['viewer', 'user'],
    });
  });

  it('takes only the data of an app user with the same e-mail address as the member', async () => {
    const alike = await world.appUser(app, owner.email, {
      full_name: 'Someone else',
      role: 'user',
      data: JSON.stringify({ team: 'red' }),
    });
    const got = await callRead(app, { as: await world.token(owner, workspace) });
    expect(alike.id).not.toBe(owner.id);
    expect(got.body.principal).toEqual({
      kind: 'signed_in',
      isManager: true,
      id: owner.id,
      email: owner.email,
      full_name: 'Olive Owner',
      role: 'admin',
      data: { team: 'red' },
    });
    expect((await callRead(other, { as: await world.token(owner, workspace) })).body.principal.data).toEqual({});
  });

  it('takes no data of an app user if the address of the member is not proven', async () => {
    const person = await world.member(workspace, 'viewer', 'unproven@customers.example');
    await world.appUser(app, person.email, { data: JSON.stringify({ team: 'red' }) });
    const data = async () => (await callRead(app, { as: await world.token(person, workspace) })).body.principal.data;
    expect(await data()).toEqual({ team: 'red' });
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', person.id).execute();
    expect(await data()).toEqual({});
  });

  it('is anonymous for a workspace key, which acts for no person but manages the app', async () => {
    const about = { user_id: null, workspace_id: workspace, permission: 'full_access', scopes: ['apps:read'] } as const;
    const key = await world.credential({ kind: 'workspace_key', ...about });
    const got = await world.call('GET', `/api/apps/${app.id}/around/key`, { as: key.token });
    expect(got).toMatchObject({ status: 200, body: { principal: { kind: 'anonymous', isManager: true } } });
  });

  it('is anonymous without credentials, if the app is open without login', async () => {
    expect(await callRead(openApp)).toMatchObject({
      status: 200,
      body: {
        principal: { kind: 'anonymous', isManager: false },
        app_role: null,
        app_id: openApp.id,
        kind: 'anonymous',
        plan: 'free',
      },
    });
  });
});

describe("the guard of an app's data", () => {
  it('refuses a caller without credentials with the same 401 at a closed and at an unknown app', async () => {
    const answers = [];
    for (const id of [app.id, other.id, '00000000-0000-0000-0000-000000000001', 'nonsense']) {
      const { status, headers, body } = await callRead({ id });
      answers.push({ status, body: { ...body, request_id: '' }, limits: headers.ratelimit });
    }
    expect(answers[0]).toMatchObject({ status: 401, body: { code: 'credentials_missing' }, limits: undefined });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  it('refuses malformed credentials also at an app that is open without login', async () => {
    expect(await callRead(openApp, { as: 'nonsense' })).toMatchObject({
      status: 401,
      body: { code: 'credentials_invalid' },
    });
  });

  it('answers 404 to a token of another app, also at an app that is open without login', async () => {
    for (const at of [other, openApp, { id: 'nonsense' }]) {
      expect(await callRead(at, { as: token })).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
    }
  });

  it('refuses an expired token with 401 credentials_expired', async () => {
    const old = await world.appUserToken(app, user, { expires_at: new Date(Date.now() - 1000) });
    expect(await callRead(app, { as: old })).toMatchObject({ status: 401, body: { code: 'credentials_expired' } });
  });

  it('refuses an app user token in the api_key header with 401', async () => {
    const got = await callRead(app, { headers: { api_key: token } });
    expect(got).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
  });

  it('refuses an app user token with 403 at operations that are not for app users', async () => {
    for (const path of [`/api/apps/${app.id}`, '/api/apps', '/api/auth/me']) {
      const got = await world.call('GET', path, { as: token });
      expect(got).toMatchObject({ status: 403, body: { code: 'credential_kind_not_allowed' } });
    }
  });

  it('refuses strangers, blocked members and workspace keys', async () => {
    const stranger = await world.person('stranger@example.com');
    const strangers = await world.token(stranger, await world.workspace(stranger));
    expect(await callRead(openApp, { as: strangers })).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
    const blocked = await world.member(workspace, 'editor', 'blocked@example.com');
    await world.db
      .updateTable('memberships')
      .set({ access_state: 'blocked' })
      .where('workspace_id', '=', workspace)
      .where('user_id', '=', blocked.id)
      .execute();
    const got = await callRead(app, { as: await world.token(blocked, workspace) });
    expect(got).toMatchObject({ status: 403, body: { code: 'member_blocked' } });
    const key = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:read'],
    });
    expect((await callRead(app, { as: key.token })).body.code).toBe('workspace_key_not_allowed');
  });

  it('refuses everybody at an app in the trash, and old tokens also after it is restored', async () => {
    const doomed = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
    const member = await world.appUser(doomed, 'bo@customers.example');
    const held = await world.appUserToken(doomed, member);
    const asOwner = await world.token(owner, workspace);
    expect((await callRead(doomed, { as: held })).status).toBe(200);
    await world.call('DELETE', `/api/apps/${doomed.id}`, { as: asOwner });
    expect((await callRead(doomed)).status).toBe(401);
    expect((await callRead(doomed, { as: held })).status).toBe(404);
    await world.call('POST', `/api/apps/${doomed.id}/restore`, { as: asOwner });
    expect((await callRead(doomed)).status).toBe(200);
    expect((await callRead(doomed, { as: held })).status).toBe(401);
    expect((await callRead(doomed, { as: await world.appUserToken(doomed, member) })).status).toBe(200);
  });
});

describe('rate limits', () => {
  const policies = (got: { headers: Readonly<Record<string, string | undefined>> }) => [
    got.headers['ratelimit-policy'],
    Number(/r=(\d+)/.exec(got.headers.ratelimit ?? '')?.[1]),
  ];

  it('allow an app user 600 requests a minute over all operations and tokens, on every plan', async () => {
    const cy = await world.appUser(app, 'cy@customers.example');
    const [first, second] = [await world.appUserToken(app, cy), await world.appUserToken(app, cy)];
    expect(policies(await callRead(app, { as: first }))).toEqual(['"runtime";q=600;w=60', 599]);
    expect(policies(await callWrite(app, { as: second }))).toEqual(['"runtime";q=600;w=60', 598]);
    // The process now has a hint for this token. Refused requests are counted too.
    expect(policies(await callRead(other, { as: first }))).toEqual(['"runtime";q=600;w=60', 597]);
    expect(policies(await callRead(app, { as: await world.token(owner, workspace) }))[0]).toBe(
      '"lookAround";q=200000;w=60',
    );
  });

  it('allow anonymous callers 120 requests a minute per address and app', async () => {
    const quiet = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
    expect(policies(await callRead(quiet))).toEqual(['"runtime";q=120;w=60', 119]);
    expect(policies(await callWrite(quiet))).toEqual(['"runtime";q=120;w=60', 118]);
    const all = await Promise.all(Array.from({ length: 119 }, () => callRead(quiet)));
    expect(all.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await callRead(openApp)).status).toBe(200);
  });

  it('of the operation apply to app users, scaled by the plan, and to anonymous callers, if they are the smaller ones', async () => {
    const place = await world.workspace(owner, 'pro');
    const shop = await world.appOf(owner, place, { public_settings: 'public_without_login' });
    const as = await world.appUserToken(shop, await world.appUser(shop, 'gus@customers.example'));
    for (const [caller, quota] of [
      [{ as }, 15],
      [{}, 5],
    ] as const) {
      const knock = () => world.call('GET', `/api/apps/${shop.id}/door`, caller);
      expect(policies(await knock())).toEqual([`"knock";q=${quota};w=60`, quota - 1]);
      for (let n = 1; n < quota; n += 1) expect((await knock()).status).toBe(200);
      const refused = await knock();
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: quota } });
      expect(policies(refused)).toEqual([`"knock";q=${quota};w=60`, 0]);
      expect((await callRead(shop, caller)).status).toBe(200);
    }
  });
});

describe('an Idempotency-Key', () => {
  beforeEach(() => {
    handledCount = 0;
  });

  it('belongs to the app user, whichever of their tokens they use', async () => {
    const [di, ed] = [
      await world.appUser(app, 'di@customers.example'),
      await world.appUser(app, 'ed@customers.example'),
    ];
    const keyed = async (person: typeof di) =>
      callWrite(app, { as: await world.appUserToken(app, person), headers: { 'idempotency-key': 'once' } });
    const first = await keyed(di);
    const again = await keyed(di);
    expect([first.body, again.body]).toEqual([{ handled: 1 }, { handled: 1 }]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await keyed(ed)).body).toEqual({ handled: 2 });
  });

  it('of an anonymous caller is ignored, even if it is malformed', async () => {
    for (const key of ['once', 'once', 'not well-formed']) {
      expect((await callWrite(openApp, { headers: { 'idempotency-key': key } })).status).toBe(200);
    }
    expect(handledCount).toBe(3);
  });
});

describe('pages of other origins', () => {
  const page = 'https://shop.example';
  const allowed = (got: { headers: Readonly<Record<string, string | undefined>> }) =>
    got.headers['access-control-allow-origin'];
  const preflight = (path: string, origin = page) =>
    world.call('OPTIONS', path, { headers: { origin, 'access-control-request-method': 'POST' } });
  const listed = world.db.updateTable('apps').set({ public_origins: [page, 'https://other.example'] });

  it('may call operations for app users if the app lists their origin', async () => {
    await listed.where('id', 'in', [app.id, openApp.id]).execute();
    const got = await preflight(`/api/apps/${app.id}/around`);
    expect(got).toMatchObject({
      status: 204,
      text: '',
      headers: {
        'access-control-allow-origin': page,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
        vary: 'Origin',
      },
    });
    for (const [at, as] of [
      [app, token],
      [openApp, undefined],
    ] as const) {
      const answer = await callRead(at, { as, headers: { origin: page } });
      expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': page, vary: 'Origin' } });
      const readable = answer.headers['access-control-expose-headers']?.toLowerCase().split(', ') ?? [];
      const own = Object.keys(answer.headers).filter((name) => /^(x-(?!content-type-options)|ratelimit)/.test(name));
      expect(own.length).toBeGreaterThan(2);
      expect(readable).toEqual(expect.arrayContaining(own));
    }
  });

  it('may read refusals', async () => {
    const old = await world.appUserToken(app, user, { expires_at: new Date(Date.now() - 1000) });
    const headers = { origin: page };
    const refusals = [
      await callRead(app, { headers }),
      await callRead(app, { as: old, headers }),
      await callRead(app, {
        as: await world.appUserToken(other, await world.appUser(other, 'fi@customers.example')),
        headers,
      }),
      await callWrite(app, { as: token, headers, body: { note: 1 } }),
      await callWrite(app, { as: token, headers, body: Buffer.alloc(1024 * 1024 + 1, 0x20) }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 404, 422, 413]);
    for (const refusal of refusals) expect(allowed(refusal)).toBe(page);
  });

  it('get no CORS headers if the app does not list them or does not exist, and may never send cookies', async () => {
    const strange = 'https://strange.example';
    for (const origin of [strange, 'null', `${page}.evil.example`, 'http://shop.example']) {
      expect(allowed(await preflight(`/api/apps/${app.id}/around`, origin))).toBeUndefined();
      expect(allowed(await callRead(app, { as: token, headers: { origin } }))).toBeUndefined();
    }
    const [closed, none] = [
      await preflight(`/api/apps/${other.id}/around`),
      await preflight('/api/apps/nonsense/around'),
    ];
    for (const got of [closed, none]) {
      expect(got.status).toBe(204);
      expect(Object.keys(got.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    const got = await callRead(app, { as: token, headers: { origin: page } });
    expect(got.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('may not call management operations', async () => {
    const path = `/api/apps/${app.id}`;
    expect(await preflight(path)).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    const got = await world.call('GET', path, { as: await world.token(owner, workspace), headers: { origin: page } });
    expect(got.status).toBe(200);
    expect(Object.keys(got.headers).filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual([]);
  });

  it('need no second statement', async () => {
    statements.length = 0;
    expect(allowed(await callRead(app, { as: token, headers: { origin: page } }))).toBe(page);
    expect(statements.filter((text) => text.startsWith('/* lookup */'))).toHaveLength(1);
  });
});

it('the audit log names app users, and anonymous callers as such', async () => {
  await callWrite(app, { as: token, headers: { 'x-request-id': 'by-ann' } });
  await callWrite(openApp, { headers: { 'x-request-id': 'by-nobody' } });
  const { items } = (
    await world.call('GET', '/api/workspace/audit-log?type=record.purged', { as: await world.token(owner, workspace) })
  ).body;
  const of = (id: string) => items.find((entry: { request_id: string }) => entry.request_id === id);
  expect(of('by-ann').actor).toEqual({ kind: 'app_user', id: user.id, email: user.email });
  expect(of('by-ann').credential_id).not.toBeNull();
  expect(of('by-nobody')).toMatchObject({ actor: { kind: 'anonymous', id: null, email: null }, credential_id: null });
});

it('the guard needs one statement for every kind of caller', async () => {
  const { id, token: asOwner } = await world.credential({
    kind: 'personal_token',
    user_id: owner.id,
    workspace_id: workspace,
    permission: 'full_access',
  });
  await callRead(app, { as: asOwner });
  // Only a credential's first use is recorded, and the response does not wait for it.
  const noted = () => world.db.selectFrom('credentials').where('id', '=', id).select('last_used_at').executeTakeFirst();
  await expect.poll(async () => (await noted())?.last_used_at).not.toBeNull();
  for (const { at, as } of [{ at: app, as: token }, { at: app, as: asOwner }, { at: openApp }]) {
    statements.length = 0;
    expect((await callRead(at, { as })).status).toBe(200);
    expect(statements.filter((text) => !text.includes('member_activity'))).toHaveLength(1);
  }
});
