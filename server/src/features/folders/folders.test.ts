// Tests folders through the API, with one `describe` per operation (docs/api/folders.md).
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const editor = await world.member(workspace, 'editor', 'editor@example.com');
const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
const ownerToken = await world.token(owner, workspace);
const editorToken = await world.token(editor, workspace);
const viewerToken = await world.token(viewer, workspace);

const create = (as: string, body: object) => world.call('POST', '/api/app-folders', { as, body });
const folder = async (body: object = {}, as = ownerToken): Promise<string> =>
  (await create(as, { name: 'Folder', scope: 'workspace', ...body })).body.id;
const add = (id: string, app_ids: string[], as = ownerToken) =>
  world.call('POST', `/api/app-folders/${id}/items`, { as, body: { app_ids } });
const remove = (folderId: string, appId: string, as = ownerToken) =>
  world.call('DELETE', `/api/app-folders/${folderId}/items/${appId}`, { as });
const tree = (as: string, query = '?limit=100') => world.call('GET', `/api/app-folders/tree${query}`, { as });
const read = async (id: string, as = ownerToken) =>
  (await tree(as)).body.items.find((item: { id: string }) => item.id === id);

describe('createFolder', () => {
  it('creates a personal folder by default and returns every documented field', async () => {
    const { status, body } = await create(viewerToken, {
      name: '  Mine  ',
      position: 3,
      color: '#a1B2c3',
      icon: 'star',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Mine',
      scope: 'personal',
      parent_folder_id: null,
      position: 3,
      color: '#a1B2c3',
      icon: 'star',
      app_type: 'user_app',
      item_count: 0,
      created_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_date: body.created_date,
    });
  });

  it('requires an editor for a workspace folder', async () => {
    const refused = await create(viewerToken, { name: 'Ours', scope: 'workspace' });
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_required', required_role: 'editor' } });
    expect((await create(editorToken, { name: 'Ours', scope: 'workspace' })).status).toBe(200);
  });

  it('answers folder_not_found for a parent of another scope, kind, owner or workspace', async () => {
    const personal = (await create(viewerToken, { name: 'P' })).body.id;
    const agents = await folder({ app_type: 'user_agent' });
    for (const parent_folder_id of [personal, agents, newId(), 'nonsense']) {
      const got = await create(ownerToken, { name: 'X', scope: 'workspace', parent_folder_id });
      expect(got).toMatchObject({ status: 404, body: { code: 'folder_not_found' } });
    }
  });

  it('allows 20 levels and refuses the next', async () => {
    let parent_folder_id = await folder();
    for (let level = 2; level <= 20; level += 1) parent_folder_id = await folder({ parent_folder_id });
    const deeper = await create(ownerToken, { name: 'X', scope: 'workspace', parent_folder_id });
    expect(deeper).toMatchObject({ status: 409, body: { code: 'folder_too_deep', retry_safe: true } });
  });

  it('allows 500 folders per workspace, even when they are created at once', async () => {
    const person = await world.person('many@example.com');
    const many = await world.workspace(person);
    await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', many).execute();
    const token = await world.token(person, many);
    const now = new Date();
    const rows = Array.from({ length: 495 }, () => ({
      id: newId(),
      workspace_id: many,
      scope: 'workspace' as const,
      app_type: 'user_app' as const,
      name: 'F',
      position: 0,
      created_date: now,
      updated_date: now,
    }));
    await world.db.insertInto('folders').values(rows).execute();
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(token, { name: 'F' })));
    expect(answers.filter((got) => got.status === 200)).toHaveLength(5);
    expect(answers.find((got) => got.status === 409)?.body).toMatchObject({
      code: 'limit_reached',
      limit: 500,
      resource: 'folders',
    });
  });

  it('reports every validation error at once, in the order of the body', async () => {
    const { status, body } = await create(ownerToken, {
      color: 'red',
      position: 1.5,
      icon: 'x'.repeat(41),
      scope: 'ours',
    });
    expect(status).toBe(422);
    expect(body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join('.'), type])).toEqual([
      ['body.name', 'missing'],
      ['body.color', 'string_pattern_mismatch'],
      ['body.position', 'int_from_float'],
      ['body.icon', 'string_too_long'],
      ['body.scope', 'enum'],
    ]);
  });

  it('says that the name is required, and names the misspelt field beside it', async () => {
    const got = await create(ownerToken, { nmae: 'X' });
    expect(got.body).toEqual({
      detail: [{ loc: ['body', 'name'], msg: 'is required', type: 'missing' }],
      code: 'validation',
      request_id: got.headers['x-request-id'],
    });
    expect(got.headers['x-ignored-fields']).toBe('nmae');
  });

  it('ignores unknown fields and names them in X-Ignored-Fields', async () => {
    const got = await create(ownerToken, { name: 'X', colour: '#fff', 'ß,x': 1 });
    expect(got.status).toBe(200);
    expect(got.headers['x-ignored-fields']).toBe('colour,%C3%9F%2Cx');
  });
});

describe('listFolders', () => {
  it("returns workspace folders and the caller's own, by position and name", async () => {
    const person = await world.person('lister@example.com');
    const place = await world.workspace(person);
    const other = await world.member(place, 'editor', 'lister2@example.com');
    const [mine, theirs] = [await world.token(person, place), await world.token(other, place)];
    await create(mine, { name: 'b', scope: 'workspace', position: 1 });
    await create(mine, { name: 'a', scope: 'workspace', position: 1 });
    await create(mine, { name: 'z', position: 0 });
    await create(theirs, { name: 'hidden', position: 0 });
    await create(mine, { name: 'agents', app_type: 'user_agent' });
    expect((await tree(mine)).body.items.map((item: { name: string }) => item.name)).toEqual(['z', 'a', 'b']);
    expect((await tree(mine, '?app_type=user_agent')).body.items.map((item: { name: string }) => item.name)).toEqual([
      'agents',
    ]);
    const first = (await tree(mine, '?limit=2')).body;
    expect(first).toMatchObject({ has_more: true, items: [{ name: 'z' }, { name: 'a' }] });
    const second = (await tree(mine, `?limit=2&cursor=${first.next_cursor}`)).body;
    expect(second).toMatchObject({ has_more: false, next_cursor: null, items: [{ name: 'b' }] });
    expect(await tree(theirs, `?limit=2&cursor=${first.next_cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
    expect(await tree(mine, `?app_type=user_agent&cursor=${first.next_cursor}`)).toMatchObject({ status: 400 });
    expect(await tree(mine, '?cursor=forged.cursor')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    world.clock.aheadMs = 25 * 60 * 60 * 1000;
    expect(await tree(mine, `?limit=2&cursor=${first.next_cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
    world.clock.aheadMs = 0;
  });

  it('counts only the apps the caller can see', async () => {
    const secret = await world.appOf(owner, workspace, { visibility: 'private' });
    const seen = await world.appOf(owner, workspace);
    const id = await folder();
    await add(id, [secret.id, seen.id]);
    expect((await read(id)).item_count).toBe(2);
    expect((await read(id, viewerToken)).item_count).toBe(1);
    expect((await read(id, await world.token(owner, workspace, { app_ids: [secret.id] }))).item_count).toBe(1);
  });
});

describe('updateFolder', () => {
  const change = (id: string, body: object, as = ownerToken) =>
    world.call('PATCH', `/api/app-folders/${id}`, { as, body });

  it('changes the fields that are sent, keeps the others, and clears those sent as null', async () => {
    const parent_folder_id = await folder();
    const id = await folder({ color: '#000000', icon: 'x', parent_folder_id });
    const { status, body } = await change(id, { name: 'New', icon: null, parent_folder_id: null, position: null });
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: 'New', icon: null, color: '#000000', parent_folder_id: null, position: 0 });
  });

  it('refuses a name that is empty', async () => {
    const got = await change(await folder(), { name: '' });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'name'] }] } });
  });

  it('refuses to move a folder into itself or a subfolder', async () => {
    const top = await folder();
    const middle = await folder({ parent_folder_id: top });
    const bottom = await folder({ parent_folder_id: middle });
    for (const parent_folder_id of [top, middle, bottom]) {
      expect(await change(top, { parent_folder_id })).toMatchObject({ status: 409, body: { code: 'folder_cycle' } });
    }
    expect((await change(bottom, { parent_folder_id: top })).status).toBe(200);
  });

  it('counts the levels inside the folder that moves', async () => {
    let deep = await folder();
    for (let level = 2; level <= 18; level += 1) deep = await folder({ parent_folder_id: deep });
    const top = await folder();
    const below = await folder({ parent_folder_id: top });
    await folder({ parent_folder_id: below });
    expect(await change(top, { parent_folder_id: deep })).toMatchObject({
      status: 409,
      body: { code: 'folder_too_deep' },
    });
    expect((await change(below, { parent_folder_id: deep })).status).toBe(200);
  });
});

describe('deleteFolder', () => {
  it('deletes subfolders and keeps the apps', async () => {
    const app = await world.appOf(owner, workspace);
    const top = await folder();
    const below = await folder({ parent_folder_id: top });
    await add(below, [app.id]);
    const got = await world.call('DELETE', `/api/app-folders/${top}`, { as: editorToken });
    expect(got).toMatchObject({ status: 200, body: { deleted: true, folder_id: top } });
    expect(await read(below)).toBeUndefined();
    expect((await world.call('GET', `/api/apps/${app.id}`, { as: ownerToken })).status).toBe(200);
    expect(await world.call('DELETE', `/api/app-folders/${top}`, { as: ownerToken })).toMatchObject({ status: 404 });
  });
});

describe('addFolderItems', () => {
  it('keeps an app in one workspace folder and, per person, in one personal folder', async () => {
    const app = await world.appOf(owner, workspace);
    const [one, two] = [await folder(), await folder()];
    const mine = (await create(ownerToken, { name: 'Mine' })).body.id;
    const theirs = (await create(editorToken, { name: 'Theirs' })).body.id;
    expect((await add(one, [app.id])).body).toEqual({ linked: 1, moved: 0, folder_id: one, ignored_app_ids: [] });
    expect((await add(two, [app.id])).body).toMatchObject({ linked: 0, moved: 1 });
    expect((await add(two, [app.id])).body).toMatchObject({ linked: 0, moved: 0 });
    expect((await add(mine, [app.id])).body).toMatchObject({ linked: 1, moved: 0 });
    expect((await add(theirs, [app.id], editorToken)).body).toMatchObject({ linked: 1, moved: 0 });
    expect([(await read(one)).item_count, (await read(two)).item_count, (await read(mine)).item_count]).toEqual([
      0, 1, 1,
    ]);
  });

  it("ignores apps that the caller can't reach and lists them", async () => {
    const app = await world.appOf(owner, workspace);
    const stranger = await world.person('far@example.com');
    const far = await world.appOf(stranger, await world.workspace(stranger));
    const unknown = [newId(), far.id, 'nonsense'];
    expect((await add(await folder(), [app.id, ...unknown])).body).toMatchObject({
      linked: 1,
      ignored_app_ids: unknown,
    });
    expect((await add(await folder(), unknown)).body).toMatchObject({ linked: 0, ignored_app_ids: unknown });
  });

  it('adds nothing if one app is of another kind', async () => {
    const app = await world.appOf(owner, workspace);
    const imported = await world.appOf(owner, workspace, { app_type: 'imported_app' });
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    const id = await folder();
    expect(await add(id, [app.id, agent.id])).toMatchObject({ status: 400, body: { code: 'app_kind_mismatch' } });
    expect((await read(id)).item_count).toBe(0);
    expect((await add(id, [app.id, imported.id])).body).toMatchObject({ linked: 2 });
  });
});

describe('removeFolderItem', () => {
  it('removes the app from the folder and keeps the app', async () => {
    const app = await world.appOf(owner, workspace);
    const id = await folder();
    await add(id, [app.id]);
    const got = await remove(id, app.id, editorToken);
    expect(got).toMatchObject({ status: 200, body: { unlinked: true, folder_id: id, app_id: app.id } });
    expect(got.headers['x-changed']).toBeUndefined();
    expect((await read(id)).item_count).toBe(0);
    expect((await world.call('GET', `/api/apps/${app.id}`, { as: ownerToken })).status).toBe(200);
  });

  it('changes nothing for an app that is not in the folder, unknown or out of reach', async () => {
    const id = await folder();
    const elsewhere = await world.appOf(owner, workspace);
    for (const appId of [elsewhere.id, newId(), 'nonsense']) {
      const got = await remove(id, appId);
      expect(got).toMatchObject({
        status: 200,
        body: { unlinked: true, folder_id: id, app_id: appId },
        headers: { 'x-changed': 'false' },
      });
    }
  });

  it("answers folder_not_found for a missing folder and for another person's personal folder", async () => {
    const app = await world.appOf(owner, workspace);
    const theirs = (await create(editorToken, { name: 'Theirs' })).body.id;
    for (const id of [newId(), theirs])
      expect(await remove(id, app.id)).toMatchObject({ status: 404, body: { code: 'folder_not_found' } });
  });

  it('answers 404 to a token that is limited to other apps', async () => {
    const [inside, outside] = [await world.appOf(owner, workspace), await world.appOf(owner, workspace)];
    const id = await folder();
    await add(id, [inside.id, outside.id]);
    const limited = await world.token(owner, workspace, { app_ids: [inside.id] });
    expect(await remove(id, outside.id, limited)).toMatchObject({ status: 404, body: { code: 'folder_not_found' } });
    expect(await remove(id, inside.id, limited)).toMatchObject({ status: 200 });
    expect((await read(id)).item_count).toBe(1);
  });

  it('refuses viewers on workspace folders, and read-only tokens everywhere', async () => {
    const app = await world.appOf(owner, workspace);
    const id = await folder();
    await add(id, [app.id]);
    expect(await remove(id, app.id, viewerToken)).toMatchObject({
      status: 403,
      body: { code: 'role_required', required_role: 'editor' },
    });
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    expect(await remove(id, app.id, readOnly)).toMatchObject({
      status: 403,
      body: { code: 'read_only_credential_route_not_allowed' },
    });
    expect((await read(id)).item_count).toBe(1);
  });

  it('allows 600 calls a minute on every plan, counted for all tokens of a workspace together', async () => {
    const person = await world.person('limit@example.com');
    const place = await world.workspace(person, 'enterprise');
    const other = await world.member(place, 'editor', 'limit2@example.com');
    const id = (await create(await world.token(person, place), { name: 'F', scope: 'workspace' })).body.id;
    const first = await remove(id, newId(), await world.token(person, place));
    const second = await remove(id, newId(), await world.token(other, place));
    expect(first.headers['ratelimit-policy']).toBe('"removeFolderItem";q=600;w=60');
    expect(first.headers.ratelimit).toContain('r=599;');
    expect(second.headers.ratelimit).toContain('r=598;');
    await world.db.updateTable('workspaces').set({ rate_multiplier: 0.5 }).where('id', '=', place).execute();
    expect((await remove(id, newId(), await world.token(person, place))).headers['ratelimit-policy']).toBe(
      '"removeFolderItem";q=300;w=60',
    );
  });
});
