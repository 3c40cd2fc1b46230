// Tests what the specification says about removing an app from a folder.
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { newId } from '../../src/kit/ids.ts';
import { type Person, startWorld } from '../support/world.ts';
import { expectLimit, expectOk, overrideLimits } from './support.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const tokenOf = async (role: 'admin' | 'editor' | 'viewer' | 'guest') =>
  world.token(await world.member(workspace, role, `${role}-${newId()}@example.com`), workspace);
beforeEach(() => world.resetRateLimits());

const newApp = (more: object = {}) => world.appOf(owner, workspace, more);
const createFolder = async (body: object = {}, as = token): Promise<string> =>
  expectOk(await world.call('POST', '/api/app-folders', { as, body: { name: 'F', scope: 'workspace', ...body } })).id;
const add = async (folder: string, app: AppRow, as = token) =>
  expectOk(await world.call('POST', `/api/app-folders/${folder}/items`, { as, body: { app_ids: [app.id] } }));
const remove = (folder: string, app: string, as = token) =>
  world.call('DELETE', `/api/app-folders/${folder}/items/${app}`, { as });
const countItems = async (folder: string, as = token): Promise<number> => {
  const { items } = expectOk(await world.call('GET', '/api/app-folders/tree?limit=100', { as }));
  return items.find(({ id }: { id: string }) => id === folder).item_count;
};
/** Creates a workspace folder with an app in it. */
async function newFolder() {
  const [app, folder] = [await newApp(), await createFolder()];
  await add(folder, app);
  return { app, folder };
}

describe('What the service does', () => {
  it('Through it a caller can remove an app from a folder', async () => {
    const { app, folder } = await newFolder();
    expect(await countItems(folder)).toBe(1);
    expectOk(await remove(folder, app.id));
    expect(await countItems(folder)).toBe(0);
  });
});

describe('Endpoints: DELETE /api/app-folders/{folder_id}/items/{app_id}', () => {
  it('Removes an app from a folder; the app stays in the workspace', async () => {
    const { app, folder } = await newFolder();
    expectOk(await remove(folder, app.id));
    expect(await countItems(folder)).toBe(0);
    expect(expectOk(await world.call('GET', `/api/apps/${app.id}`, { as: token })).id).toBe(app.id);
  });

  it('Removing an app not in the folder succeeds with no change', async () => {
    const { folder } = await newFolder();
    const other = await newApp();
    const answer = { unlinked: true, folder_id: folder };
    for (const id of [other.id, newId(), 'unknown'])
      expect(expectOk(await remove(folder, id))).toEqual({ ...answer, app_id: id });
    expect(await countItems(folder)).toBe(1);
    // For a caller who can't see an app, it is in no folder.
    const hidden = await newApp({ visibility: 'private' });
    await add(folder, hidden);
    const got = await remove(folder, hidden.id, await tokenOf('editor'));
    expect(expectOk(got)).toEqual({ ...answer, app_id: hidden.id });
    expect(got.headers['x-changed']).toBe('false');
    expect(await countItems(folder)).toBe(2);
  });

  it('Response 200: unlinked (boolean, true), folder_id (string), app_id (string)', async () => {
    const { app, folder } = await newFolder();
    expect(expectOk(await remove(folder, app.id))).toEqual({ unlinked: true, folder_id: folder, app_id: app.id });
  });

  it('Personal folders belong to their owner; workspace folders can be changed by any editor or higher', async () => {
    for (const role of ['admin', 'editor'] as const) {
      const { app, folder } = await newFolder();
      expectOk(await remove(folder, app.id, await tokenOf(role)));
      expect(await countItems(folder)).toBe(0);
    }
    for (const role of ['viewer', 'guest'] as const) {
      const { app, folder } = await newFolder();
      expect((await remove(folder, app.id, await tokenOf(role))).status).toBe(403);
      expect(await countItems(folder)).toBe(1);
    }
    const viewer = await tokenOf('viewer');
    const own = await createFolder({ scope: 'personal' }, viewer);
    const app = await newApp();
    await add(own, app, viewer);
    expect((await remove(own, app.id, token)).status).toBe(404);
    expect(await countItems(own, viewer)).toBe(1);
    expectOk(await remove(own, app.id, viewer));
    expect(await countItems(own, viewer)).toBe(0);
  });
});

/** A token of the owner that can use only this app. */
const limitedTo = (app: AppRow) => world.token(owner, workspace, { app_ids: [app.id] });

describe('Authentication', () => {
  it('A token limited to selected apps can use only those apps; any other app ID returns 404 on folder item removal', async () => {
    const { app, folder } = await newFolder();
    const other = await newApp();
    await add(folder, other);
    const as = await limitedTo(app);
    expectOk(await world.call('GET', `/api/apps/${app.id}`, { as }));
    expect((await world.call('GET', `/api/apps/${other.id}`, { as })).status).toBe(404);
    for (const id of [other.id, newId(), 'unknown']) expect((await remove(folder, id, as)).status).toBe(404);
    expectOk(await remove(folder, app.id, as));
    expect(await countItems(folder)).toBe(1);
  });
});

describe('Errors', () => {
  it("Folder item removal: 404; code folder_not_found for a missing folder or another user's personal folder; also for an app ID outside a limited token's apps", async () => {
    const { app, folder } = await newFolder();
    const personal = await createFolder({ scope: 'personal' }, await tokenOf('editor'));
    for (const got of [
      await remove(newId(), app.id),
      await remove('unknown', app.id),
      await remove(personal, app.id),
      await remove(folder, (await newApp()).id, await limitedTo(app)),
    ])
      expect(got).toMatchObject({ status: 404, body: { code: 'folder_not_found' } });
  });
});

describe('Limits', () => {
  it('Folder item removal: 600 requests per minute; a signed-in session has its own limit and all personal tokens of the workspace share one; some workspaces differ', async () => {
    for (const plan of ['free', 'pro', 'enterprise'] as const) {
      const person: Person = await world.person(`${plan}@example.com`);
      const own = await world.workspace(person, plan);
      const tokens = [await world.token(person, own), await world.token(person, own)];
      const session = { headers: { ...(await world.session(person)), 'x-active-workspace-id': own } };
      const send = (sent: object) => world.call('DELETE', `/api/app-folders/${newId()}/items/${newId()}`, sent);
      await expectLimit(world, 600, () => send({ as: tokens.reverse()[0] }));
      expect((await send(session)).status).toBe(404);
      await expectLimit(world, 600, () => send(session));
      expect((await send({ as: tokens[0] })).status).toBe(404);
      await overrideLimits(world, own, 0.5);
      await expectLimit(world, 300, () => send({ as: tokens[0] }));
    }
  });
});
