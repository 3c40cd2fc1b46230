// Tests creating, listing and reading apps through the API.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);

const create = (body?: object, headers: Record<string, string> = {}) =>
  world.call('POST', '/api/apps', { as: token, body, headers });
const list = async (query = '', as = token) => world.call('GET', `/api/apps${query}`, { as });
const names = (got: { body: { items: { name: string }[] } }) => got.body.items.map((item) => item.name);

describe('createApp', () => {
  it('creates an app with an empty body or none', async () => {
    for (const body of [undefined, {}]) {
      const got = await create(body);
      expect(got.status).toBe(200);
      expect(got.body).toMatchObject({
        name: 'Untitled app',
        app_type: 'user_app',
        workspace_id: workspace,
        owner_id: owner.id,
        owner_email: owner.email,
        visibility: 'workspace',
        public_settings: 'public_with_login',
        status: { state: 'ready', message: '', error_source: null },
        revision: 1,
        published: null,
        deleted_date: null,
      });
    }
  });

  it('derives the slug from the name and six characters', async () => {
    for (const name of ['Ünïcödé Shop!', '日本', '---', 'x'.repeat(100)]) {
      expect((await create({ name })).body.slug).toMatch(/^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/);
    }
    expect((await create({ name: 'Ünïcödé Shop!' })).body.slug).toMatch(/^unicode-shop-[0-9a-f]{6}$/);
  });

  it('counts characters, not bytes, and trims names', async () => {
    expect((await create({ name: '😀'.repeat(100) })).status).toBe(200);
    expect((await create({ name: '😀'.repeat(101) })).body.detail).toEqual([
      { loc: ['body', 'name'], msg: 'must have at most 100 characters', type: 'string_too_long' },
    ]);
    expect((await create({ name: '   ' })).body.detail[0].type).toBe('string_too_short');
  });

  it("makes the workspace owner the app's owner if a workspace key creates it", async () => {
    const key = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:write'],
    });
    const got = await world.call('POST', '/api/apps', { headers: { api_key: key.token } });
    expect(got).toMatchObject({ status: 200, body: { owner_id: owner.id } });
  });
});

describe('Idempotency-Key on createApp', () => {
  const count = async () =>
    (await world.db.selectFrom('apps').where('workspace_id', '=', workspace).select('id').execute()).length;

  it('creates one app, however often the request is repeated', async () => {
    const before = await count();
    const headers = { 'idempotency-key': 'once:1' };
    const first = await create({ name: 'Once' }, headers);
    const again = await create({ name: 'Once' }, headers);
    expect(again.body).toEqual(first.body);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await count()).toBe(before + 1);
  });

  it('creates one app for two concurrent requests', async () => {
    const before = await count();
    const sent = await Promise.all(
      Array.from({ length: 8 }, () => create({ name: 'Race' }, { 'idempotency-key': 'race' })),
    );
    expect(await count()).toBe(before + 1);
    for (const got of sent.filter((got) => got.status !== 200)) {
      expect(got).toMatchObject({
        status: 409,
        body: { code: 'idempotency_in_progress', retry_safe: true },
        headers: { 'retry-after': '1' },
      });
    }
  });

  it('refuses the same key with a different body', async () => {
    const headers = { 'idempotency-key': 'other' };
    await create({ name: 'A' }, headers);
    expect(await create({ name: 'B' }, headers)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict', retry_safe: false },
    });
  });

  it('releases the key if the request was refused, and after a day', async () => {
    const headers = { 'idempotency-key': 'freed' };
    expect((await create({ name: '' }, headers)).status).toBe(422);
    const first = await create({ name: 'Good' }, headers);
    expect(first.status).toBe(200);
    world.clock.aheadMs = 25 * 60 * 60 * 1000;
    const later = await create({ name: 'Good' }, headers);
    world.clock.aheadMs = 0;
    expect(later.status).toBe(200);
    expect(later.body.id).not.toBe(first.body.id);
  });

  it('is scoped to caller and path', async () => {
    const other = await world.member(workspace, 'editor', 'second@example.com');
    const headers = { 'idempotency-key': 'shared' };
    const first = await create({ name: 'Same' }, headers);
    const theirs = await world.call('POST', '/api/apps', {
      as: await world.token(other, workspace),
      body: { name: 'Same' },
      headers,
    });
    expect(theirs.body.id).not.toBe(first.body.id);
  });

  it.each([
    ['', 'string_too_short'],
    ['x'.repeat(201), 'string_too_long'],
    ['with space', 'string_pattern_mismatch'],
  ])('refuses the key %j as %s', async (key, type) => {
    const got = await create({}, { 'idempotency-key': key });
    expect(got.status).toBe(422);
    expect(got.body.detail[0]).toMatchObject({ loc: ['header', 'Idempotency-Key'], type });
  });
});

describe('listApps', () => {
  it('sorts, filters, searches and pages without losing or repeating an app', async () => {
    const person = await world.person('list@example.com');
    const place = await world.workspace(person);
    const as = await world.token(person, place);
    for (const name of ['delta', 'Alpha', 'charlie', 'Bravo', '100%']) {
      world.clock.aheadMs += 1000;
      await world.appOf(person, place, { name });
    }
    world.clock.aheadMs = 0;
    await world.appOf(person, place, { name: 'agent', app_type: 'user_agent' });
    expect(names(await list('?sort=name', as))).toEqual(['100%', 'Alpha', 'Bravo', 'charlie', 'delta']);
    expect(names(await list('', as))).toEqual(['100%', 'Bravo', 'charlie', 'Alpha', 'delta']);
    expect(names(await list('?app_type=user_agent', as))).toEqual(['agent']);
    expect(names(await list('?search=%25', as))).toEqual(['100%']);
    expect(names(await list('?search=AL', as))).toEqual(['Alpha']);
    for (const sort of ['updated_date', '-updated_date', 'created_date', '-created_date', 'name', '-name']) {
      const expected = names(await list(`?sort=${sort}`, as));
      const walked: string[] = [];
      let cursor = '';
      do {
        const page = (await list(`?sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`, as)).body;
        walked.push(...page.items.map((item: { name: string }) => item.name));
        cursor = page.next_cursor ?? '';
      } while (cursor);
      expect(walked).toEqual(expected);
    }
  });

  it('shows only what the caller can see', async () => {
    const hidden = await world.appOf(owner, workspace, { name: 'hidden', visibility: 'private' });
    const shared = await world.appOf(owner, workspace, { name: 'shared', visibility: 'private' });
    const viewer = await world.member(workspace, 'viewer', 'v@example.com');
    const guest = await world.member(workspace, 'guest', 'g@example.com');
    await world.share(shared, viewer, 'viewer');
    await world.share(shared, guest, 'viewer');
    const seenByViewer = names(await list('?limit=100', await world.token(viewer, workspace)));
    expect(seenByViewer).toContain('shared');
    expect(seenByViewer).not.toContain('hidden');
    expect(names(await list('', await world.token(guest, workspace)))).toEqual(['shared']);
    expect(names(await list('', await world.token(owner, workspace, { app_ids: [hidden.id] })))).toEqual(['hidden']);
  });

  it("filters by workspace folder and own personal folder, and finds nothing in another user's folder", async () => {
    const app = await world.appOf(owner, workspace, { name: 'filed' });
    const editor = await world.member(workspace, 'editor', 'e@example.com');
    const mine = (await world.call('POST', '/api/app-folders', { as: token, body: { name: 'Mine' } })).body.id;
    await world.call('POST', `/api/app-folders/${mine}/items`, { as: token, body: { app_ids: [app.id] } });
    expect(names(await list(`?folder_id=${mine}`))).toEqual(['filed']);
    expect(names(await list(`?folder_id=${mine}`, await world.token(editor, workspace)))).toEqual([]);
    expect(names(await list('?folder_id=nonsense'))).toEqual([]);
  });

  it('reports query parameters that had no effect', async () => {
    expect((await list('?serach=x')).headers['x-ignored-fields']).toBe('serach');
  });

  it.each([
    ['limit=0', 'greater_than_equal'],
    ['limit=101', 'less_than_equal'],
    ['limit=ten', 'int_parsing'],
    ['deleted=maybe', 'bool_parsing'],
    ['sort=size', 'enum'],
    ['app_type=user_app,robot', 'enum'],
    [`search=${'x'.repeat(257)}`, 'string_too_long'],
  ])('refuses ?%s as %s', async (query, type) => {
    const got = await list(`?${query}`);
    expect(got.status).toBe(422);
    expect(got.body.detail[0].type).toBe(type);
    expect(got.body.detail[0].loc[0]).toBe('query');
  });

  it('refuses a cursor of another list', async () => {
    expect(await list('?cursor=nonsense')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});

describe('getApp', () => {
  it('reads an app by id with GET and HEAD', async () => {
    const app = await world.appOf(owner, workspace, {
      name: 'One',
      user_description: 'a ‚text‘ with "quotes" and \u2028',
    });
    const got = await world.call('GET', `/api/apps/${app.id}`, { as: token });
    expect(got).toMatchObject({
      status: 200,
      body: { id: app.id, user_description: app.user_description, owner_email: owner.email },
    });
    const head = await world.call('HEAD', `/api/apps/${app.id}`, { as: token });
    expect(head).toMatchObject({ status: 200, text: '' });
  });
});
