// Tests that restoring a revision makes the app as it was, removes nothing of its history, and opens nothing that the
// caller has not named, through the API.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const as = await world.token(owner, workspace);
const newApp = (more: object = {}) => world.appOf(owner, workspace, more);
const pathOf = (app: AppRow) => `/api/apps/${app.id}`;

const send = async (method: string, path: string, body?: object) => {
  const got = await world.call(method, path, { as, body });
  if (got.status !== 200) throw new Error(`${method} ${path} answered ${got.status} ${got.text}`);
  return got.body;
};
const put = (app: AppRow, path: string, content: string, encoding = 'utf-8') =>
  send('PUT', `${pathOf(app)}/files/content?path=${path}`, { content, encoding });
const remove = (app: AppRow, path: string) => send('DELETE', `${pathOf(app)}/files/content?path=${path}`);
const putSchema = (app: AppRow, name: string, document: object) =>
  send('PUT', `${pathOf(app)}/entity-schemas/${name}`, { name, ...document });
const setHeaders = (app: AppRow, headers: object) => send('PATCH', `${pathOf(app)}/security/settings`, { headers });
const restore = (app: AppRow, revision: number, body: object = {}) =>
  world.call('POST', `${pathOf(app)}/revisions/${revision}/restore`, { as, body });
const currentRevision = async (app: AppRow) => (await send('GET', pathOf(app))).revision as number;
const hashesOf = async (app: AppRow, revision: number) =>
  (await send('GET', `${pathOf(app)}/files?revision=${revision}&limit=100`)).items.map(
    ({ path, sha256 }: Record<string, string>) => [path, sha256],
  );
const schemasOf = async (app: AppRow) =>
  (await send('GET', `${pathOf(app)}/entity-schemas`)).map(({ schema }: { schema: object }) => schema);
const entriesOf = async (app: AppRow, type: string) =>
  (await send('GET', `/api/workspace/audit-log?app_id=${app.id}&type=${type}`)).items;

const title = { type: 'string' };
const closed = { read: false, write: false };
const written = { create: true, read: false, update: false, delete: false };

describe('restoreRevision', () => {
  it('makes a new revision whose files equal those of the restored one by hash, and deletes nothing', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1'); // 2
    await put(app, 'image.png', Buffer.from([0, 255, 7]).toString('base64'), 'base64'); // 3
    await put(app, 'c.js', 'c'); // 4
    await put(app, 'a.js', '2'); // 5
    await remove(app, 'c.js'); // 6
    await put(app, 'd.js', 'd'); // 7
    for (let n = 0; n < 3; n += 1) await put(app, 'image.png', `${n}`); // 8 to 10
    const got = await restore(app, 4, { expected_revision: 10 });
    expect(got).toMatchObject({
      status: 200,
      body: {
        revision: 11,
        restored_revision: 4,
        changes: {
          files: { created: ['c.js'], updated: ['a.js', 'image.png'], deleted: ['d.js'] },
          entities: { created: [], updated: [], deleted: [] },
          headers: false,
        },
        impact: { newly_open: [], kept_entities: [] },
        left_out: ['records', 'secrets', 'users', 'settings'],
      },
    });
    expect(got.headers['x-changed']).toBeUndefined();
    expect(await hashesOf(app, 11)).toEqual(await hashesOf(app, 4));
    expect((await send('GET', `${pathOf(app)}/files/content?path=image.png`)).encoding).toBe('base64');
    expect(await hashesOf(app, 10)).not.toEqual(await hashesOf(app, 4));
    expect(await send('GET', `${pathOf(app)}/revisions/11`)).toMatchObject({
      cause: 'restore',
      restored_revision: 4,
      actor: 'owner@example.com',
      files: { added: 1, changed: 2, removed: 1 },
    });
    // What was restored from can be restored in turn.
    expect((await restore(app, 10)).body.revision).toBe(12);
    expect(await hashesOf(app, 12)).toEqual(await hashesOf(app, 10));
  });

  it('is as a copy was for every one of 20 random revisions', async () => {
    const app = await newApp();
    let seed = 11;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    for (let step = 0; step < 20; step += 1) {
      const path = `f${random(5)}.txt`;
      if (random(4) === 0) await world.call('DELETE', `${pathOf(app)}/files/content?path=${path}`, { as });
      else await put(app, path, `content ${random(3)}`);
    }
    const last = await currentRevision(app);
    for (let revision = 1; revision <= last; revision += 1) {
      const { body } = await restore(app, revision);
      expect([revision, await hashesOf(app, body.revision)]).toEqual([revision, await hashesOf(app, revision)]);
    }
  });

  it('restores schemas and headers, and only the parts that are named', async () => {
    const app = await newApp();
    await putSchema(app, 'Task', { properties: { title }, rls: closed }); // 2
    await setHeaders(app, { csp: "default-src 'self'", referrer_policy: 'no-referrer' }); // 3
    await put(app, 'a.js', '1'); // 4
    const before = await schemasOf(app);
    await putSchema(app, 'Task', { properties: { title, due: { type: 'string' } }, rls: closed }); // 5
    await putSchema(app, 'Note', { properties: { title }, rls: closed }); // 6
    await setHeaders(app, { csp: null, referrer_policy: 'origin' }); // 7
    await put(app, 'a.js', '2'); // 8
    expect((await restore(app, 4, { parts: ['headers'] })).body).toMatchObject({
      revision: 9,
      changes: { headers: true, files: { updated: [] }, entities: { updated: [], deleted: [] } },
    });
    expect((await send('GET', `${pathOf(app)}/security/settings`)).headers).toMatchObject({
      csp: "default-src 'self'",
      referrer_policy: 'no-referrer',
    });
    expect(await schemasOf(app)).toHaveLength(2);
    expect((await restore(app, 4, { parts: ['entities'] })).body.changes.entities).toEqual({
      created: [],
      updated: ['Task'],
      deleted: ['Note'],
    });
    expect(await schemasOf(app)).toEqual(before);
    expect((await send('GET', `${pathOf(app)}/files/content?path=a.js`)).content).toBe('2');
    expect((await restore(app, 8)).body.changes.entities).toEqual({
      created: ['Note'],
      updated: ['Task'],
      deleted: [],
    });
  });

  it('keeps entities that have records, and says so', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1'); // 2
    await putSchema(app, 'Note', { properties: { title }, rls: { ...written, read: true } });
    await putSchema(app, 'Empty', { properties: { title }, rls: closed });
    await send('POST', `${pathOf(app)}/entities/Note`, { title: 'keep me' });
    expect((await restore(app, 2)).body).toMatchObject({
      changes: { entities: { deleted: ['Empty'] } },
      impact: { kept_entities: ['Note'] },
    });
    expect((await send('GET', `${pathOf(app)}/entities/Note`)).items).toMatchObject([{ title: 'keep me' }]);
  });

  it('changes nothing in a dry run, and nothing if the app already is as the revision was', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1');
    await put(app, 'a.js', '2');
    const tried = await restore(app, 2, { dry_run: true });
    expect(tried).toMatchObject({
      headers: { 'x-changed': 'false' },
      body: { revision: 3, restored_revision: 2, changes: { files: { updated: ['a.js'] } } },
    });
    expect(await currentRevision(app)).toBe(3);
    expect(await restore(app, 3)).toMatchObject({ headers: { 'x-changed': 'false' }, body: { revision: 3 } });
    expect(await entriesOf(app, 'app.revision_restored')).toEqual([]);
  });

  it('writes audit entries of the restore and of what it changed', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1');
    await put(app, 'a.js', '2');
    await restore(app, 2);
    expect(await entriesOf(app, 'app.revision_restored')).toMatchObject([
      { before: { revision: 3 }, after: { revision: 4, restored_revision: 2, opens: [] } },
    ]);
    expect((await entriesOf(app, 'app.files_changed'))[0]).toMatchObject({
      after: { revision: 4, updated: { paths: ['a.js'] } },
    });
  });

  it('is refused for revisions that are not kept, and for viewers', async () => {
    const app = await newApp();
    for (const revision of ['2', '0', 'x', '99999999999'])
      expect(await world.call('POST', `${pathOf(app)}/revisions/${revision}/restore`, { as, body: {} })).toMatchObject({
        status: 404,
        body: { code: 'revision_not_found' },
      });
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    const asViewer = await world.token(viewer, workspace);
    const path = `${pathOf(app)}/revisions/1/restore`;
    expect((await world.call('POST', path, { as: asViewer, body: {} })).status).toBe(403);
  });

  it('lets one of two restores at the same time win', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1'); // 2
    await put(app, 'a.js', '2'); // 3
    await put(app, 'a.js', '3'); // 4
    const body = { expected_revision: 4 };
    const got = await Promise.all([restore(app, 2, body), restore(app, 3, body)]);
    expect(got.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(got.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'revision_conflict', revision: 5 });
    expect(await currentRevision(app)).toBe(5);
  });
});

describe('rules that a restore would open', () => {
  async function opened() {
    const app = await newApp({ public_settings: 'public_without_login' });
    await putSchema(app, 'Task', { properties: { title }, rls: { ...written, read: true } }); // 2
    await send('POST', `${pathOf(app)}/entities/Task`, { title: 'secret now' });
    await put(app, 'a.js', '1'); // 3
    await putSchema(app, 'Task', { properties: { title }, rls: written }); // 4
    await put(app, 'a.js', '2'); // 5
    const listed = async () => (await world.call('GET', `${pathOf(app)}/entities/Task`)).body.items?.length ?? 0;
    return { app, listed };
  }

  it('are listed by a dry run, and refused unless they are named; nothing else is restored either', async () => {
    const { app, listed } = await opened();
    const newly_open = [{ entity: 'Task', operation: 'read', principal: 'anonymous', before: false, after: true }];
    expect((await restore(app, 3, { dry_run: true })).body.impact).toMatchObject({ newly_open });
    expect(await restore(app, 3)).toMatchObject({
      status: 409,
      body: { code: 'restore_opens_rules', retry_safe: false, newly_open },
    });
    expect((await restore(app, 3, { opens: 'all' })).status).toBe(422);
    for (const opens of [[], [{ entity: 'Task', operation: 'update' }], [{ entity: 'Note', operation: 'read' }]])
      expect((await restore(app, 3, { opens })).status).toBe(409);
    expect(await currentRevision(app)).toBe(5);
    expect((await send('GET', `${pathOf(app)}/files/content?path=a.js`)).content).toBe('2');
    expect(await listed()).toBe(0);
  });

  it('are restored if they are named, and written to the audit log', async () => {
    const { app, listed } = await opened();
    const opens = [{ entity: 'Task', operation: 'read' }];
    expect((await restore(app, 3, { opens })).status).toBe(200);
    expect(await listed()).toBe(1);
    expect((await entriesOf(app, 'app.revision_restored'))[0].after).toMatchObject({
      opens: [{ entity: 'Task', operation: 'read', principal: 'anonymous' }],
    });
  });

  it('do not keep the files from being restored alone', async () => {
    const { app, listed } = await opened();
    expect((await restore(app, 3, { parts: ['files', 'headers'] })).status).toBe(200);
    expect((await send('GET', `${pathOf(app)}/files/content?path=a.js`)).content).toBe('1');
    expect(await listed()).toBe(0);
  });

  it('are found for an entity that was deleted with its records in the trash', async () => {
    const app = await newApp({ public_settings: 'public_without_login' });
    await putSchema(app, 'Task', { properties: { title }, rls: { ...written, read: true } }); // 2
    await send('POST', `${pathOf(app)}/entities/Task`, { title: 'once' });
    await send('DELETE', `${pathOf(app)}/entity-schemas/Task?delete_records=true`); // 3
    expect(await restore(app, 2)).toMatchObject({
      status: 409,
      body: {
        newly_open: [
          { entity: 'Task', operation: 'create' },
          { entity: 'Task', operation: 'read' },
        ],
      },
    });
  });
});

describe('the storage quota', () => {
  it('refuses a restore that would exceed it, and nothing is changed', async () => {
    const other = await world.person('full@example.com');
    const full = await world.workspace(other);
    const asOther = await world.token(other, full);
    const app = await world.appOf(other, full);
    const call = (method: string, path: string, body?: object) => world.call(method, path, { as: asOther, body });
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 600_000 }).where('id', '=', full).execute();
    await call('PUT', `${pathOf(app)}/files/content?path=a.js`, { content: 'x'.repeat(400_000) });
    await call('PUT', `${pathOf(app)}/files/content?path=a.js`, { content: 'y' });
    expect(await call('POST', `${pathOf(app)}/revisions/2/restore`, {})).toMatchObject({
      status: 402,
      body: { code: 'storage_quota_exceeded' },
    });
    expect((await call('GET', pathOf(app))).body.revision).toBe(3);
  });
});
