// Tests publishing, rolling back, unpublishing and listing deployments, with a folder as the object storage.
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Files, putFiles as writeFiles } from '../../../test/support/published.ts';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';

const folder = await mkdtemp(join(tmpdir(), 'publishing-'));
const world = await startWorld({
  environment: { STORAGE_FOLDER: folder, APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example' },
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => world.resetRateLimits());

const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

const putFiles = (app: AppRow, files: Files, as = token) => writeFiles(world, app, files, as);

const publish = (app: AppRow, body?: object, more = {}) =>
  world.call('POST', `/api/apps/${app.id}/deploy`, { as: token, body, ...more });
const unpublish = (app: AppRow) => world.call('POST', `/api/apps/${app.id}/unpublish`, { as: token });
const list = (app: AppRow, query = '') => world.call('GET', `/api/apps/${app.id}/deployments${query}`, { as: token });
const getApp = async (app: AppRow) => (await world.call('GET', `/api/apps/${app.id}`, { as: token })).body;

/** The names of an app's objects in the folder. */
const listObjects = (app: AppRow): string[] => {
  try {
    return readdirSync(join(folder, 'apps', app.id)).sort();
  } catch {
    return [];
  }
};

const site: Files = { 'dist/index.html': '<h1>Hello</h1>', 'dist/assets/app.js': 'start()', 'src/main.ts': 'start()' };

async function publishedApp(files = site) {
  const app = await world.appOf(owner, workspace);
  await putFiles(app, files);
  const { body } = await publish(app);
  return { app, deploymentId: body.deployment_id as string };
}

async function readManifest(app: AppRow, deploymentId: string): Promise<string[]> {
  const row = await world.db
    .selectFrom('deployments')
    .where('app_id', '=', app.id)
    .where('id', '=', deploymentId)
    .select('files')
    .executeTakeFirstOrThrow();
  return Object.keys(row.files as object).sort();
}

describe('publishApp', () => {
  it('publishes the files in dist, without the name of the folder, and nothing else', async () => {
    const app = await world.appOf(owner, workspace);
    const revision = await putFiles(app, { ...site, 'public/robots.txt': 'x', 'functions/f.ts': 'x' });
    const got = await publish(app);
    expect(got).toMatchObject({
      status: 200,
      body: {
        app_id: app.id,
        revision,
        url: `https://${app.slug}.apps.example/`,
        changes: { added: 2, changed: 0, removed: 0 },
        warnings: [],
      },
    });
    expect(await readManifest(app, got.body.deployment_id)).toEqual(['assets/app.js', 'index.html']);
    expect(await getApp(app)).toMatchObject({
      revision,
      published: { revision, url: got.body.url, published_at: got.body.deployed_at, published_by: owner.email },
    });
  });

  it('publishes the files in public if there are none in dist', async () => {
    const { app, deploymentId } = await publishedApp({ 'public/index.html': 'x', 'src/dist/y.js': 'y' });
    expect(await readManifest(app, deploymentId)).toEqual(['index.html']);
  });

  it('refuses an app without such files, and says where to put them', async () => {
    const app = await world.appOf(owner, workspace);
    const without: Files[] = [{}, { 'src/index.html': 'x', distant: 'x', 'dist.txt': 'x' }, { 'dist/.env': 'KEY=1' }];
    for (const files of without) {
      await putFiles(app, files);
      const got = await publish(app);
      expect(got).toMatchObject({ status: 409, body: { code: 'nothing_to_publish' } });
      expect(got.body.detail).toContain('`dist`');
    }
    expect((await getApp(app)).published).toBeNull();
  });

  it('leaves out hidden files and those in the folder of the platform', async () => {
    const { app, deploymentId } = await publishedApp({
      'dist/index.html': 'x',
      'dist/.env': 'SECRET=1',
      'dist/a/.svn/config': 'x',
      'dist/.well-known/security.txt': 'x',
      'dist/.well-known/.hidden': 'x',
      'dist/_plinth/client.js': 'x',
    });
    expect(await readManifest(app, deploymentId)).toEqual(['.well-known/security.txt', 'index.html']);
  });

  it('publishes `public` if nothing in `dist` can be published', async () => {
    const { app, deploymentId } = await publishedApp({ 'dist/.gitkeep': '', 'public/index.html': 'x' });
    expect(await readManifest(app, deploymentId)).toEqual(['index.html']);
  });

  it('says that a file `_plinth` is left out', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, { 'dist/index.html': 'x', 'dist/_plinth': 'y', 'dist/_plinths': 'z' });
    const { body } = await publish(app);
    const leftOut = body.warnings.filter(({ code }: { code: string }) => code === 'file_left_out');
    expect(leftOut).toMatchObject([{ path: 'dist/_plinth' }]);
    expect(await readManifest(app, body.deployment_id)).toEqual(['_plinths', 'index.html']);
  });

  it('says how many files differ from what was live', async () => {
    const { app } = await publishedApp();
    await putFiles(app, { 'dist/index.html': '<h1>Bye</h1>', 'dist/new.css': 'a{}' });
    expect((await publish(app)).body.changes).toEqual({ added: 1, changed: 1, removed: 1 });
  });

  it('stores a content once: only what changed is uploaded', async () => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`dist/${n}.txt`, `file ${n}`]));
    const { app } = await publishedApp({ ...files, 'dist/copy.txt': 'file 1' });
    expect(listObjects(app)).toHaveLength(40);
    const before = listObjects(app);
    await putFiles(app, { ...files, 'dist/7.txt': 'changed' });
    await publish(app);
    expect(listObjects(app)).toHaveLength(41);
    expect(listObjects(app)).toEqual(expect.arrayContaining(before));
  });

  it('changes nothing if the files are live already', async () => {
    const { app, deploymentId } = await publishedApp();
    const got = await publish(app);
    expect(got).toMatchObject({
      status: 200,
      headers: { 'x-changed': 'false' },
      body: { deployment_id: deploymentId },
    });
    expect((await list(app)).body.items).toHaveLength(1);
  });

  it('rolls back to an earlier deployment, and publishes again', async () => {
    const { app, deploymentId: first } = await publishedApp();
    await putFiles(app, { ...site, 'dist/index.html': 'second' });
    const second = (await publish(app)).body;
    const back = await publish(app, { deployment_id: first });
    expect(back.body).toMatchObject({ deployment_id: first, changes: { added: 0, changed: 1, removed: 0 } });
    expect((await getApp(app)).published).toMatchObject({
      revision: back.body.revision,
      published_at: back.body.deployed_at,
    });
    const lives = async () =>
      (await list(app)).body.items.map((item: { id: string; live: boolean }) => [item.id, item.live]);
    expect(await lives()).toEqual([
      [second.deployment_id, false],
      [first, true],
    ]);
    expect(await publish(app, { deployment_id: first })).toMatchObject({
      status: 200,
      headers: { 'x-changed': 'false' },
    });
    const again = await publish(app);
    expect(again.body.revision).toBe(second.revision);
    expect(await lives()).toEqual([
      [again.body.deployment_id, true],
      [second.deployment_id, false],
      [first, false],
    ]);
  });

  it.each(['unknown', '0197a3c0-0000-7000-8000-000000000000', ''])('does not find the deployment %j', async (id) => {
    const { app } = await publishedApp();
    expect(await publish(app, { deployment_id: id })).toMatchObject({
      status: 404,
      body: { code: 'deployment_not_found' },
    });
  });

  it("does not find another app's deployment", async () => {
    const { deploymentId } = await publishedApp();
    const { app } = await publishedApp();
    expect((await publish(app, { deployment_id: deploymentId })).status).toBe(404);
  });

  it('names the workspace key that published', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    const key = await world.credential({
      kind: 'workspace_key',
      name: 'CI',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:deploy'],
    });
    expect((await publish(app, undefined, { as: key.token })).status).toBe(200);
    expect((await list(app)).body.items[0].deployed_by).toBe('workspace key CI');
  });

  it('publishes an event and writes an audit entry, in the transaction of the change', async () => {
    const { app, deploymentId } = await publishedApp();
    const event = { workspace_id: workspace, app_id: app.id, deployment_id: deploymentId, revision: 2 };
    const { rows } = await sql<{ payload: unknown }>`select payload from events
      where name = 'app.published' and payload->>'app_id' = ${app.id}`.execute(world.db);
    expect(rows.map(({ payload }) => payload)).toEqual([event]);
  });

  it('answers a repeated Idempotency-Key with the first answer', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    const headers = { 'idempotency-key': 'publish-1' };
    const first = await publish(app, {}, { headers });
    await putFiles(app, { 'dist/index.html': 'other' });
    const second = await publish(app, {}, { headers });
    expect(second).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' }, body: first.body });
    expect((await list(app)).body.items).toHaveLength(1);
  });

  it('counts published bytes towards the quota, and refuses what exceeds it', async () => {
    const small = await world.workspace(owner, 'enterprise', 'Small');
    const as = await world.token(owner, small);
    const app = await world.appOf(owner, small);
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 15_000 }).where('id', '=', small).execute();
    await putFiles(app, { 'dist/index.html': 'x'.repeat(6_000) }, as);
    const got = await publish(app, undefined, { as });
    expect(got).toMatchObject({ status: 402, body: { code: 'storage_quota_exceeded' } });
    expect(listObjects(app)).toEqual([]);
  });

  it('publishes many files of any content, in batches', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`dist/${n}.txt`, n % 50 === 0 ? `${n}`.repeat(200_000) : `${n}`]),
    );
    const { app, deploymentId } = await publishedApp({ ...files, 'dist/empty.txt': '' });
    expect(await readManifest(app, deploymentId)).toHaveLength(301);
    expect(listObjects(app)).toHaveLength(301);
  });

  it('lets two publishes of the same files run at once', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    const answers = await Promise.all([publish(app), publish(app), publish(app)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.deployment_id)).size).toBe(1);
    expect(listObjects(app)).toHaveLength(2);
  });

  it('answers 404 if the app is deleted while its files are uploaded', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    const answer = await world.db.transaction().execute(async (tx) => {
      await tx.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
      const answer = publish(app); // not committed yet, so the guard still finds the app
      await expect.poll(() => listObjects(app)).toHaveLength(2);
      return { answer };
    });
    expect(await answer.answer).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('answers 409 if the files change again and again while they are read', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    // Changes the files' hashes after the files have been listed.
    await sql`create function other_hash() returns trigger language plpgsql as $$
      begin update app_files set sha256 = gen_random_uuid()::text where app_id = new.app_id; return null; end $$`.execute(
      world.db,
    );
    await sql`create trigger other_hash after insert on app_blobs for each row execute function other_hash()`.execute(
      world.db,
    );
    const got = await publish(app);
    await sql`drop function other_hash() cascade`.execute(world.db);
    expect(got).toMatchObject({ status: 409, body: { code: 'revision_conflict', revision: 2, retry_safe: true } });
    expect((await list(app)).body.items).toEqual([]);
  });

  it('answers 409 if another publish has made a later revision live meanwhile', async () => {
    const { app, deploymentId } = await publishedApp();
    await sql`update apps set published_revision = 9 where id = ${app.id}`.execute(world.db);
    await putFiles(app, { 'dist/index.html': 'x' });
    expect(await publish(app)).toMatchObject({ status: 409, body: { code: 'revision_conflict', revision: 9 } });
    expect((await list(app)).body.items).toMatchObject([{ id: deploymentId, live: true }]);
  });

  it('answers 503 if the storage fails, and nothing is published', async () => {
    const app = await world.appOf(owner, workspace);
    await putFiles(app, site);
    // Puts a file where the app's folder should be.
    await mkdir(join(folder, 'apps'), { recursive: true });
    await writeFile(join(folder, 'apps', app.id), '');
    const got = await publish(app);
    expect(got).toMatchObject({ status: 503, body: { code: 'service_unavailable', retry_safe: true } });
    expect(got.headers['retry-after']).toBeDefined();
    expect((await getApp(app)).published).toBeNull();
    // Contents that were not uploaded do not count towards the quota.
    expect(await world.db.selectFrom('app_blobs').where('app_id', '=', app.id).selectAll().execute()).toEqual([]);
    await rm(join(folder, 'apps', app.id));
    expect((await publish(app)).status).toBe(200);
  });

  it('keeps the last 50 deployments', async () => {
    const { app, deploymentId } = await publishedApp();
    const insert = sql`insert into deployments (workspace_id, app_id, id, revision, files, files_bytes, created_date, created_by)
      select workspace_id, app_id, ('0197a3c0-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, files, files_bytes,
        created_date, created_by from deployments, generate_series(1, 60) n where app_id = ${app.id}`;
    await insert.execute(world.db);
    await putFiles(app, { 'dist/index.html': 'new' });
    const latest = (await publish(app)).body.deployment_id;
    const ids = (await list(app, '?limit=100')).body.items.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(50);
    expect(ids.slice(0, 3)).toEqual([latest, deploymentId, '0197a3c0-0000-7000-8000-000000000060']);
  });
});

describe('unpublishApp', () => {
  it('takes the app off the web and keeps its deployments', async () => {
    const { app, deploymentId } = await publishedApp();
    expect(await unpublish(app)).toMatchObject({ status: 200, body: { success: true } });
    expect((await getApp(app)).published).toBeNull();
    expect((await list(app)).body.items).toMatchObject([{ id: deploymentId, live: false }]);
  });

  it('changes nothing the second time', async () => {
    const { app } = await publishedApp();
    await unpublish(app);
    expect(await unpublish(app)).toMatchObject({
      status: 200,
      headers: { 'x-changed': 'false' },
      body: { success: true },
    });
  });

  it('lets the same revision be published again', async () => {
    const { app, deploymentId } = await publishedApp();
    await unpublish(app);
    const again = await publish(app);
    expect(again.body.deployment_id).not.toBe(deploymentId);
    expect(again.body.changes).toEqual({ added: 2, changed: 0, removed: 0 });
  });
});

describe('listDeployments', () => {
  it('lists them newest first, in pages', async () => {
    const { app } = await publishedApp();
    for (const content of ['2', '3']) {
      await putFiles(app, { 'dist/index.html': content });
      await publish(app);
    }
    const first = await list(app, '?limit=2');
    expect(first.body).toMatchObject({
      has_more: true,
      items: [
        { revision: 4, live: true, deployed_by: owner.email },
        { revision: 3, live: false },
      ],
    });
    const rest = await list(app, `?limit=2&cursor=${first.body.next_cursor}`);
    expect(rest.body).toMatchObject({ has_more: false, items: [{ revision: 2, live: false }] });
    expect(await list(app, '?cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});

describe('a deleted app', () => {
  it('is unpublished at once, and restored unpublished', async () => {
    const { app, deploymentId } = await publishedApp();
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    const row = await world.db.selectFrom('apps').where('id', '=', app.id).selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ live_deployment_id: null, published_at: null });
    const restored = await world.call('POST', `/api/apps/${app.id}/restore`, { as: token });
    expect(restored.body.published).toBeNull();
    expect((await publish(app, { deployment_id: deploymentId })).status).toBe(200);
  });
});
