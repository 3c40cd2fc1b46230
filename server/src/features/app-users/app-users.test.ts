// Tests app users and their tokens through the API.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';
import { removeExpiredTokens } from './store/users.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const other = await world.appOf(owner, workspace);

const at = (id = app.id) => `/api/apps/${id}/users`;
const create = (body: object, id?: string, headers?: Record<string, string>) =>
  world.call('POST', at(id), { as: token, body, headers });
const change = (id: string, body: object) => world.call('PATCH', `${at()}/${id}`, { as: token, body });
const list = (query = '', id?: string) => world.call('GET', at(id) + query, { as: token });
const faultOf = (got: { body: { detail: { loc: unknown; type: string }[] } }) => {
  const [{ loc, type }] = got.body.detail as [{ loc: unknown; type: string }];
  return { loc, type };
};

describe('createAppUser', () => {
  it('stores the fields that are sent and defaults for the others', async () => {
    const { status, body } = await create({ email: ' Ann@Customers.Example ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: body.id,
      email: 'ann@customers.example',
      full_name: '',
      role: 'user',
      data: {},
      created_date: body.created_date,
      updated_date: body.created_date,
    });
    const data = { team: 'blue', seats: [1, { two: null }], left: null };
    const all = await create({ email: 'bo@customers.example', full_name: ' Bo ', role: 'admin', data });
    expect(all.body).toMatchObject({
      full_name: 'Bo',
      role: 'admin',
      data: { team: 'blue', seats: [1, { two: null }] },
    });
    expect(Object.keys(all.body.data)).not.toContain('left');
  });

  it('refuses an e-mail address that another user of the same app has, ignoring case', async () => {
    const got = await create({ email: 'ANN@customers.example' });
    expect(got).toMatchObject({ status: 409, body: { code: 'unique_conflict', fields: ['email'] } });
    expect((await create({ email: 'ann@customers.example' }, other.id)).status).toBe(200);
  });

  it('refuses invalid fields, and data over 16 KiB of JSON', async () => {
    const email = 'large@customers.example';
    expect(faultOf(await create({}))).toEqual({ loc: ['body', 'email'], type: 'missing' });
    expect(faultOf(await create({ email: 'nobody' }))).toEqual({ loc: ['body', 'email'], type: 'email_parsing' });
    expect(faultOf(await create({ email, role: 'owner' }))).toEqual({ loc: ['body', 'role'], type: 'enum' });
    expect(faultOf(await create({ email, data: [] }))).toEqual({ loc: ['body', 'data'], type: 'dict_type' });
    expect(faultOf(await create({ email, data: { a: '\0' } })).type).toBe('string_pattern_mismatch');
    const endless = await world.call('POST', at(), { as: token, body: `{"email":"${email}","data":{"a":[1e999]}}` });
    expect(faultOf(endless)).toEqual({ loc: ['body', 'data'], type: 'finite_number' });
    const full = { a: 'x'.repeat(16 * 1024 - 8) };
    expect(faultOf(await create({ email, data: { ...full, b: 1 } }))).toEqual({
      loc: ['body', 'data'],
      type: 'value_error',
    });
    expect((await create({ email, data: full })).status).toBe(200);
  });

  it('creates one user per Idempotency-Key, however often the request is repeated', async () => {
    const key = { 'idempotency-key': 'cy' };
    const first = await create({ email: 'cy@customers.example' }, app.id, key);
    const again = await create({ email: 'cy@customers.example' }, app.id, key);
    expect(again.body).toEqual(first.body);
    expect(await create({ email: 'dy@customers.example' }, app.id, key)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
  });
});

describe('listAppUsers', () => {
  it("returns the app's users, newest first, page by page", async () => {
    const place = await world.appOf(owner, workspace);
    const created: string[] = [];
    for (const name of ['a', 'b', 'c'])
      created.unshift((await create({ email: `${name}@pages.example` }, place.id)).body.id);
    const first = (await list('?limit=2', place.id)).body;
    const second = (await list(`?limit=2&cursor=${first.next_cursor}`, place.id)).body;
    expect([...first.items, ...second.items].map((user) => user.id)).toEqual(created);
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
    const elsewhere = await list(`?limit=2&cursor=${first.next_cursor}`, other.id);
    expect(elsewhere).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('searches for literal parts of the e-mail address and the name', async () => {
    const place = await world.appOf(owner, workspace);
    await create({ email: 'x_1@search.example', full_name: 'Zoë 100%' }, place.id);
    await create({ email: 'xy1@search.example', full_name: 'Yan' }, place.id);
    const found = async (search: string) =>
      (await list(`?search=${encodeURIComponent(search)}`, place.id)).body.items.map(
        (user: { email: string }) => user.email[1],
      );
    expect(await found('SEARCH.ex')).toEqual(['y', '_']);
    expect(await found('x_1')).toEqual(['_']);
    expect(await found('zoë 100%')).toEqual(['_']);
    expect(await found('yan')).toEqual(['y']);
    expect(await found('%')).toEqual(['_']);
    expect(await found('\\')).toEqual([]);
  });
});

describe('updateAppUser', () => {
  it('changes the fields that are sent and merges data key by key, where null removes a key', async () => {
    const created = await create({ email: 'ed@customers.example', full_name: 'Ed', data: { a: 1, b: { c: 2 }, d: 3 } });
    world.clock.aheadMs = 1000;
    const got = await change(created.body.id, { role: 'admin', data: { b: { e: 4 }, d: null, f: false } });
    world.clock.aheadMs = 0;
    const expected = {
      ...created.body,
      role: 'admin',
      data: { a: 1, b: { e: 4 }, f: false },
      updated_date: got.body.updated_date,
    };
    expect(got).toMatchObject({ status: 200, body: expected });
    expect(got.body).toEqual(expected);
    expect(got.body.updated_date > created.body.updated_date).toBe(true);
  });

  it('reports when nothing changed, and leaves the row untouched', async () => {
    const { body } = await create({ email: 'fay@customers.example', data: { a: [1] } });
    world.clock.aheadMs = 1000;
    for (const same of [
      {},
      { role: 'user', data: { a: [1], gone: null } },
      { email: 'FAY@customers.example', data: null },
    ]) {
      const got = await change(body.id, same);
      expect(got.headers['x-changed']).toBe('false');
      expect(got.body).toEqual(body);
    }
    world.clock.aheadMs = 0;
  });

  it("refuses data that is too large after merging, and another user's e-mail address, without storing anything", async () => {
    const { body } = await create({ email: 'gus@customers.example', data: { a: 'x'.repeat(9_000) } });
    const large = await change(body.id, { full_name: 'Gus', data: { b: 'x'.repeat(9_000) } });
    expect(faultOf(large)).toEqual({ loc: ['body', 'data'], type: 'value_error' });
    const taken = await change(body.id, { full_name: 'Gus', email: 'ann@customers.example' });
    expect(taken).toMatchObject({ status: 409, body: { code: 'unique_conflict', fields: ['email'] } });
    expect((await change(body.id, {})).body).toEqual(body);
  });

  it('applies both of two concurrent changes', async () => {
    const { body } = await create({ email: 'hal@customers.example' });
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => change(body.id, { data: { [key]: 1 } })));
    expect(Object.keys((await change(body.id, {})).body.data).sort()).toEqual(keys);
  });

  it('does not find users of another app', async () => {
    const stranger = await create({ email: 'ida@customers.example' }, other.id);
    for (const id of [stranger.body.id, newId(), 'nonsense']) {
      expect(await change(id, {})).toMatchObject({ status: 404, body: { code: 'app_user_not_found' } });
    }
  });
});

describe('tokens', () => {
  const createToken = (id: string, body: object = {}) =>
    world.call('POST', `${at()}/${id}/tokens`, { as: token, body });
  const credentialsOf = (app_user_id: string) =>
    world.db.selectFrom('credentials').where('app_user_id', '=', app_user_id).selectAll().execute();
  // The error code shows that the token is valid but of the wrong kind.
  const isKnown = async (text: string) => (await world.call('GET', '/api/apps', { as: text })).body.code;

  it('are valid for an hour, or as long as requested, up to a day', async () => {
    const { id } = (await create({ email: 'joe@customers.example' })).body;
    const lasts = async (body: object) => {
      const before = Date.now();
      const got = await createToken(id, body);
      expect(got.body).toEqual({
        token: expect.stringMatching(/^plu_[0-9A-Za-z]{40}$/),
        expires_at: expect.any(String),
      });
      const seconds = (Date.parse(got.body.expires_at) - before) / 1000;
      return Math.round(seconds / 30) * 30;
    };
    expect([
      await lasts({}),
      await lasts({ expires_in_seconds: 60 }),
      await lasts({ expires_in_seconds: 86_400 }),
    ]).toEqual([3_600, 60, 86_400]);
    expect(faultOf(await createToken(id, { expires_in_seconds: 59 })).type).toBe('greater_than_equal');
    expect(faultOf(await createToken(id, { expires_in_seconds: 86_401 })).type).toBe('less_than_equal');
  });

  it('are refused outside their app, expire, and stop working when their user is deleted', async () => {
    const { id } = (await create({ email: 'kim@customers.example' })).body;
    const userToken = (await createToken(id, { expires_in_seconds: 60 })).body.token;
    expect(await isKnown(userToken)).toBe('credential_kind_not_allowed');
    world.clock.aheadMs = 61_000;
    expect(await isKnown(userToken)).toBe('credentials_expired');
    world.clock.aheadMs = 0;
    expect((await world.call('DELETE', `${at()}/${id}`, { as: token })).body).toEqual({ success: true });
    expect(await isKnown(userToken)).toBe('credentials_invalid');
    expect(await credentialsOf(id)).toEqual([]);
    for (const [method, path] of [
      ['DELETE', id],
      ['POST', `${id}/tokens`],
    ] as const) {
      const again = await world.call(method, `${at()}/${path}`, { as: token });
      expect(again).toMatchObject({ status: 404, body: { code: 'app_user_not_found' } });
    }
  });

  it('are purged a day after they expired, not earlier; other credentials stay', async () => {
    const { id } = (await create({ email: 'lee@customers.example' })).body;
    await createToken(id, { expires_in_seconds: 60 });
    await createToken(id, { expires_in_seconds: 86_400 });
    const old = await world.token(owner, workspace, { expires_at: new Date(Date.now() - 2 * 86_400_000) });
    const day = 86_400_000;
    await removeExpiredTokens(world.app.database.db, new Date(Date.now() + day));
    expect(await credentialsOf(id)).toHaveLength(2);
    await removeExpiredTokens(world.app.database.db, new Date(Date.now() + day + 61_000));
    expect(await credentialsOf(id)).toHaveLength(1);
    expect(await isKnown(old)).toBe('credentials_expired');
    const sweep = world.app.background.jobs.find((job) => job.name === 'remove expired app user tokens');
    expect(await sweep?.run(world.app.database.db, new Date(Date.now() + 3 * day))).toBeGreaterThan(0);
    expect(await credentialsOf(id)).toHaveLength(0);
  });

  it('are not created for a user who is deleted concurrently', async () => {
    const { id } = (await create({ email: 'may@customers.example' })).body;
    const answers = await Promise.all([
      world.call('DELETE', `${at()}/${id}`, { as: token }),
      ...Array.from({ length: 5 }, () => createToken(id)),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 404)).toEqual([]);
    expect(await credentialsOf(id)).toEqual([]);
  });
});

it('the audit log records each change of an app user and conceals their data', async () => {
  const { id } = (await create({ email: 'ned@customers.example', data: { secret: 'pineapple' } })).body;
  await change(id, { role: 'admin', data: { secret: 'mango' } });
  const { expires_at } = (await world.call('POST', `${at()}/${id}/tokens`, { as: token })).body;
  await world.call('DELETE', `${at()}/${id}`, { as: token });
  const got = await world.call('GET', '/api/workspace/audit-log?type=app_user.*&limit=4', { as: token });
  const entries = got.body.items.map(({ type, target, app_id, before, after }: Record<string, unknown>) => ({
    type,
    target,
    app_id,
    before,
    after,
  }));
  const about = { target: { kind: 'app_user', id }, app_id: app.id };
  const fields = { email: 'ned@customers.example', full_name: '' };
  expect(entries).toEqual([
    { ...about, type: 'app_user.deleted', before: { ...fields, role: 'admin' }, after: null },
    { ...about, type: 'app_user.token_created', before: null, after: { expires_at } },
    {
      ...about,
      type: 'app_user.updated',
      before: { role: 'user', data: { changed: true } },
      after: { role: 'admin', data: { changed: true } },
    },
    { ...about, type: 'app_user.created', before: null, after: { ...fields, role: 'user', data: { changed: true } } },
  ]);
  expect(got.text).not.toMatch(/pineapple|mango/);
});
