// Tests changing, trashing and sharing apps, and their files and secrets, through the API.
import { describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import { createSecrets } from '../../kit/secrets.ts';
import { rewrapSecrets } from './secrets.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const as = await world.token(owner, workspace);
const editor = await world.member(workspace, 'editor', 'editor@example.com');
const editorToken = await world.token(editor, workspace);
const newApp = () => world.appOf(owner, workspace);
const get = (id: string, token = as) => world.call('GET', `/api/apps/${id}`, { as: token });

describe('updateApp', () => {
  const change = (id: string, body: object, token = as) => world.call('PUT', `/api/apps/${id}`, { as: token, body });

  it('changes nothing if it repeats what is stored', async () => {
    const app = await newApp();
    const fields = { name: 'Same', public_origins: ['https://a.example'], logo_url: null };
    const first = await change(app.id, fields);
    expect(first.headers['x-changed']).toBeUndefined();
    for (const body of [fields, {}, { owner_email: first.body.owner_email }]) {
      const got = await change(app.id, body);
      expect(got.headers['x-changed']).toBe('false');
      expect(got.body).toEqual(first.body);
    }
    const path = `/api/workspace/audit-log?type=app.updated&app_id=${app.id}`;
    expect((await world.call('GET', path, { as })).body.items).toHaveLength(1);
  });

  it('changes the fields that are sent and keeps the others', async () => {
    const app = await newApp();
    const got = await change(app.id, {
      name: 'New',
      logo_url: 'https://example.com/l.png',
      public_origins: ['https://a.example'],
      hide_authorship: true,
    });
    expect(got.body).toMatchObject({
      name: 'New',
      slug: app.slug,
      logo_url: 'https://example.com/l.png',
      hide_authorship: true,
      revision: 1,
    });
    expect((await change(app.id, { logo_url: null, name: null })).body).toMatchObject({ name: 'New', logo_url: null });
  });

  it('refuses a taken or malformed slug, and malformed URLs and origins', async () => {
    const [one, two] = [await newApp(), await newApp()];
    expect(await change(one.id, { slug: two.slug })).toMatchObject({ status: 409, body: { code: 'slug_taken' } });
    for (const [body, type] of [
      [{ slug: '-x-' }, 'string_pattern_mismatch'],
      [{ slug: 'xn--80ak6aa92e' }, 'string_pattern_mismatch'],
      [{ logo_url: 'http://x.example' }, 'url_scheme'],
      [{ logo_url: 'x' }, 'url_parsing'],
      [{ public_origins: ['https://x.example/path'] }, 'url_parsing'],
    ] as const) {
      expect((await change(one.id, body)).body.detail[0].type).toBe(type);
    }
  });

  describe('a slug that was given up', async () => {
    const stranger = await world.person('stranger@example.com');
    const elsewhere = await world.workspace(stranger, 'enterprise', 'Elsewhere');
    const strangerToken = await world.token(stranger, elsewhere);
    const taken = { status: 409, body: { code: 'slug_taken' } };
    const give = async (slug: string, app = newApp()) => {
      expect((await change((await app).id, { slug })).status).toBe(200);
      return app;
    };
    const tryToTake = async (slug: string) =>
      change((await world.appOf(stranger, elsewhere)).id, { slug }, strangerToken);
    const runJob = (name: string, aheadMs: number) =>
      world.app.background.jobs
        .find((job) => job.name === name)
        ?.run(world.app.database.db, new Date(Date.now() + aheadMs));
    const day = 24 * 60 * 60 * 1000;

    it('stays with its app for 31 days, which may have it back', async () => {
      const app = await give('tea-shop');
      await give('coffee-shop', Promise.resolve(app));
      expect(await tryToTake('tea-shop')).toMatchObject(taken);
      await give('tea-shop', Promise.resolve(app));
      expect(await tryToTake('coffee-shop')).toMatchObject(taken);
      await runJob('remove released slugs', 30.9 * day);
      expect(await tryToTake('coffee-shop')).toMatchObject(taken);
      await runJob('remove released slugs', 31.1 * day);
      expect((await tryToTake('coffee-shop')).status).toBe(200);
      expect(await tryToTake('tea-shop')).toMatchObject(taken);
    });

    it('stays with its app even if somebody waits for it', async () => {
      const app = await give('busy-shop');
      const other = await world.appOf(stranger, elsewhere);
      const waiting = await world.db.transaction().execute(async (tx) => {
        await tx.updateTable('apps').set({ slug: 'busy-shop-2' }).where('id', '=', app.id).execute();
        const answer = change(other.id, { slug: 'busy-shop' }, strangerToken);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { answer };
      });
      expect(await waiting.answer).toMatchObject(taken);
    });

    it("is nobody else's after its app was purged", async () => {
      const app = await give('closed-shop');
      await world.call('DELETE', `/api/apps/${app.id}`, { as });
      await runJob('purge apps', 31 * day);
      expect(await get(app.id)).toMatchObject({ status: 404 });
      expect(await tryToTake('closed-shop')).toMatchObject(taken);
    });

    it('is free again once its app has given up 20 others', async () => {
      const app = await give('moving-shop');
      for (let n = 0; n <= 20; n += 1) await give(`moving-shop-${n}`, Promise.resolve(app));
      expect(await tryToTake('moving-shop-0')).toMatchObject(taken);
      expect((await tryToTake('moving-shop')).status).toBe(200);
    });
  });

  it('transfers the app to a member who may own it, for its owner only', async () => {
    const app = await newApp();
    expect(await change(app.id, { owner_email: editor.email }, editorToken)).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    expect(await change(app.id, { owner_email: 'nobody@example.com' })).toMatchObject({
      status: 404,
      body: { code: 'member_not_found' },
    });
    const viewer = await world.member(workspace, 'viewer', 'owns-nothing@example.com');
    expect(await change(app.id, { owner_email: viewer.email })).toMatchObject({
      status: 400,
      body: { code: 'role_not_assignable' },
    });
    expect((await change(app.id, { owner_email: editor.email })).body).toMatchObject({
      owner_id: editor.id,
      owner_email: editor.email,
    });
  });
});

describe('the trash', () => {
  it('accepts an app once, even if it is deleted three times concurrently', async () => {
    const app = await newApp();
    const answers = await Promise.all([1, 2, 3].map(() => world.call('DELETE', `/api/apps/${app.id}`, { as })));
    expect(answers.map((got) => got.status).sort()).toEqual([200, 404, 404]);
  });

  it('hides an app at once and restores it unchanged', async () => {
    const app = await newApp();
    const remove = () => world.call('DELETE', `/api/apps/${app.id}`, { as });
    expect((await remove()).body).toEqual({ success: true });
    expect([(await get(app.id)).status, (await remove()).status]).toEqual([404, 404]);
    const listed = await world.call('GET', '/api/apps?deleted=true', { as });
    expect(listed.body.items.map((item: { id: string }) => item.id)).toContain(app.id);
    const back = await world.call('POST', `/api/apps/${app.id}/restore`, { as });
    expect(back).toMatchObject({ status: 200, body: { id: app.id, deleted_date: null } });
    expect((await get(app.id)).status).toBe(200);
    expect((await world.call('POST', `/api/apps/${app.id}/restore`, { as })).status).toBe(404);
  });
});

describe('shares', () => {
  const put = (id: string, email: string, role: string) =>
    world.call('PUT', `/api/apps/${id}/shares/${encodeURIComponent(email)}`, { as, body: { role } });

  it('give a member access by e-mail address, ignoring case, until removed', async () => {
    const app = await world.appOf(owner, workspace, { visibility: 'private' });
    const guest = await world.member(workspace, 'guest', 'guest@example.com');
    const token = await world.token(guest, workspace);
    expect((await get(app.id, token)).status).toBe(404);
    expect((await put(app.id, 'GUEST@example.com', 'viewer')).body).toEqual({
      email: guest.email,
      role: 'viewer',
      status: 'joined',
    });
    expect((await put(app.id, guest.email, 'viewer')).headers['x-changed']).toBe('false');
    expect((await get(app.id, token)).status).toBe(200);
    expect((await world.call('GET', `/api/apps/${app.id}/shares`, { as })).body).toEqual([
      { email: guest.email, role: 'viewer', status: 'joined' },
    ]);
    const remove = () => world.call('DELETE', `/api/apps/${app.id}/shares/${guest.email}`, { as });
    expect((await remove()).body).toEqual({ success: true });
    expect(await remove()).toMatchObject({ status: 404, body: { code: 'share_not_found' } });
    // A guest whose last share is removed leaves the workspace. Their tokens stay invalid even if they return.
    const listAsGuest = () => world.call('GET', '/api/apps', { as: token });
    expect(await listAsGuest()).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
    const log = await world.call('GET', '/api/workspace/audit-log?type=member.removed', { as });
    expect(log.body.items[0]).toMatchObject({ before: { email: guest.email } });
  });

  it('refuse a workspace viewer as editor, and an invalid e-mail address', async () => {
    const app = await newApp();
    const viewer = await world.member(workspace, 'viewer', 'only-views@example.com');
    expect(await put(app.id, viewer.email, 'editor')).toMatchObject({
      status: 400,
      body: { code: 'role_not_assignable' },
    });
    expect((await put(app.id, 'no address', 'viewer')).body.detail[0]).toMatchObject({
      loc: ['path', 'email'],
      type: 'email_parsing',
    });
  });
});

describe('files', () => {
  const at = (id: string, path: string) => `/api/apps/${id}/files/content?path=${encodeURIComponent(path)}`;
  const put = (id: string, path: string, body: object) => world.call('PUT', at(id, path), { as, body });
  const sync = (id: string, body: object) => world.call('PUT', `/api/apps/${id}/files`, { as, body });

  it('are written, read, listed by path and deleted, with one revision per change', async () => {
    const app = await newApp();
    const written = await put(app.id, 'src/ü.ts', { content: 'hello 😀' });
    expect(written.body).toMatchObject({
      path: 'src/ü.ts',
      revision: 2,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await put(app.id, 'bin', { content: 'AAEC/w==', encoding: 'base64' });
    expect((await world.call('GET', at(app.id, 'src/ü.ts'), { as })).body).toMatchObject({
      content: 'hello 😀',
      encoding: 'utf-8',
      revision: 3,
    });
    expect((await world.call('GET', at(app.id, 'bin'), { as })).body).toMatchObject({
      content: 'AAEC/w==',
      encoding: 'base64',
    });
    const listed = (await world.call('GET', `/api/apps/${app.id}/files`, { as })).body.items;
    expect(listed.map((file: { path: string; size: number }) => [file.path, file.size])).toEqual([
      ['bin', 4],
      ['src/ü.ts', 10],
    ]);
    expect((await world.call('GET', `/api/apps/${app.id}/files?prefix=src/`, { as })).body.items).toHaveLength(1);
    expect((await world.call('DELETE', at(app.id, 'bin'), { as })).body).toEqual({ success: true });
    expect(await world.call('DELETE', at(app.id, 'bin'), { as })).toMatchObject({
      status: 404,
      body: { code: 'file_not_found' },
    });
    expect((await get(app.id)).body.revision).toBe(4);
  });

  it('refuse to overwrite a file that has changed since it was read', async () => {
    const app = await newApp();
    const { sha256 } = (await put(app.id, 'a', { content: '1', expected_sha256: null })).body;
    expect(await put(app.id, 'a', { content: '2', expected_sha256: null })).toMatchObject({
      status: 409,
      body: { code: 'revision_conflict', revision: 2 },
    });
    expect((await put(app.id, 'a', { content: '2', expected_sha256: sha256 })).status).toBe(200);
    expect((await put(app.id, 'a', { content: '3', expected_sha256: sha256 })).status).toBe(409);
  });

  it('are synced all or nothing', async () => {
    const app = await newApp();
    const first = await sync(app.id, {
      files: [
        { path: 'a', content: '1' },
        { path: 'b', content: '1' },
      ],
    });
    expect(first.body).toEqual({ created: ['a', 'b'], updated: [], deleted: [], revision: 2 });
    const second = await sync(app.id, {
      files: [
        { path: 'b', content: '2' },
        { path: 'c', content: '1' },
      ],
      delete_missing: true,
      expected_revision: 2,
    });
    expect(second.body).toEqual({ created: ['c'], updated: ['b'], deleted: ['a'], revision: 3 });
    expect(await sync(app.id, { files: [], delete_missing: true, expected_revision: 2 })).toMatchObject({
      status: 409,
      body: { code: 'revision_conflict', revision: 3 },
    });
    const third = await sync(app.id, { files: [{ path: 'd', content: '1' }], delete: ['b', 'never'] });
    expect(third.body).toEqual({ created: ['d'], updated: [], deleted: ['b'], revision: 4 });
    const again = await sync(app.id, { files: [], delete: ['b'] });
    expect(again).toMatchObject({ body: { deleted: [], revision: 4 }, headers: { 'x-changed': 'false' } });
    const twice = await sync(app.id, { files: [{ path: 'c', content: '2' }], delete: ['d', 'c'] });
    expect(twice.body.detail).toEqual([expect.objectContaining({ loc: ['body', 'delete', 1], type: 'value_error' })]);
    const bad = await sync(app.id, {
      files: [
        { path: 'd', content: '1' },
        { path: '../e', content: '1' },
      ],
    });
    expect(bad.body.detail).toEqual([
      expect.objectContaining({ loc: ['body', 'files', 1, 'path'], type: 'string_pattern_mismatch' }),
    ]);
    expect(
      (
        await sync(app.id, {
          files: [
            { path: 'd', content: '1' },
            { path: 'd', content: '2' },
          ],
        })
      ).body.detail[0].type,
    ).toBe('duplicate_items');
    expect(
      (await world.call('GET', `/api/apps/${app.id}/files`, { as })).body.items.map(
        (file: { path: string }) => file.path,
      ),
    ).toEqual(['c', 'd']);
    expect((await get(app.id)).body.revision).toBe(4);
  });

  it('written concurrently lose no revision', async () => {
    const app = await newApp();
    const revisions = await Promise.all(Array.from({ length: 10 }, (_, i) => put(app.id, `f${i}`, { content: 'x' })));
    expect(revisions.map((got) => got.body.revision).sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it.each(['', '/a', 'a//b', './a', 'a/../b', '..', '.git/config', 'a\\b', 'a\u0000', 'a\n', 'x'.repeat(401)])(
    'refuse the path %j',
    async (path) => {
      const app = await newApp();
      expect((await put(app.id, path, { content: 'x' })).status).toBe(422);
    },
  );

  // Where a file system takes these for `.git`, unpacking the app's archive in a clone would replace its configuration.
  it.each([
    '.GIT/config',
    '.git./config',
    '.git /config',
    'git~1/config',
    '.g\u200cit/config',
    '.Git',
    'docs/.git/config',
  ])('refuse the path %j, which some file systems take for a folder of git', async (path) => {
    const app = await newApp();
    expect((await put(app.id, path, { content: 'x' })).body.detail).toMatchObject([{ loc: ['query', 'path'] }]);
    const synced = await world.call('PUT', `/api/apps/${app.id}/files`, {
      as,
      body: { files: [{ path, content: 'x' }] },
    });
    expect(synced.body.detail).toMatchObject([{ loc: ['body', 'files', 0, 'path'] }]);
    expect((await put(app.id, '.gitignore', { content: 'x' })).status).toBe(200);
  });

  it('refuse invalid base64', async () => {
    const app = await newApp();
    expect((await put(app.id, 'x', { content: '%%%', encoding: 'base64' })).body.detail[0]).toMatchObject({
      loc: ['body', 'content'],
      type: 'value_error',
    });
  });

  it('are limited to 5 MiB each and 5,000 per app', async () => {
    const app = await newApp();
    expect(await put(app.id, 'large', { content: 'x'.repeat(5 * 1024 * 1024 + 1) })).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    });
    const rows = Array.from({ length: 5000 }, (_, i) => ({
      app_id: app.id,
      path: `p${i}`,
      content: Buffer.from('x'),
      sha256: 'x',
      size: 1,
      encoding: 'utf-8' as const,
      updated_date: new Date(),
    }));
    await world.db.insertInto('app_files').values(rows).execute();
    expect(await put(app.id, 'one more', { content: 'x' })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', resource: 'files' },
    });
    expect((await get(app.id)).body.revision).toBe(1);
  });
});

describe('secrets', () => {
  const put = (id: string, name: string, value: string) =>
    world.call('PUT', `/api/apps/${id}/secrets/${name}`, { as, body: { value } });

  it('are not written again if the value is stored already', async () => {
    const app = await newApp();
    await put(app.id, 'API_KEY', 'a secret value');
    const readRow = () =>
      world.db.selectFrom('app_secrets').where('app_id', '=', app.id).selectAll().executeTakeFirstOrThrow();
    const before = await readRow();
    const again = await put(app.id, 'API_KEY', 'a secret value');
    expect(again).toMatchObject({ body: { name: 'API_KEY' }, headers: { 'x-changed': 'false' } });
    expect(await readRow()).toEqual(before);
    await world.db.updateTable('app_secrets').set({ sealed: 'v1.lost.x.y' }).where('app_id', '=', app.id).execute();
    expect((await put(app.id, 'API_KEY', 'a secret value')).headers['x-changed']).toBeUndefined();
    expect((await readRow()).sealed).not.toBe('v1.lost.x.y');
  });

  it('are written and listed by name, never returned, and encrypted in the table', async () => {
    const app = await newApp();
    const value = 'sk-live-0123456789-canary';
    expect((await put(app.id, 'API_KEY', value)).body).toMatchObject({ name: 'API_KEY', last4: 'nary' });
    expect((await put(app.id, 'PIN', '1234')).body).toMatchObject({ last4: null });
    const listed = await world.call('GET', `/api/apps/${app.id}/secrets`, { as });
    expect(listed.body.items.map((item: { name: string }) => item.name)).toEqual(['API_KEY', 'PIN']);
    const log = await world.call('GET', '/api/workspace/audit-log?type=app_secret.*', { as });
    for (const text of [
      listed.text,
      log.text,
      JSON.stringify(await world.db.selectFrom('app_secrets').selectAll().execute()),
    ])
      expect(text).not.toContain(value);
    expect(log.body.items[0]).toMatchObject({ type: 'app_secret.created', after: { changed: true } });
    const remove = () => world.call('DELETE', `/api/apps/${app.id}/secrets/PIN`, { as });
    expect((await remove()).status).toBe(200);
    expect(await remove()).toMatchObject({ status: 404, body: { code: 'secret_not_found' } });
  });

  it('require upper-case names and are limited to 100', async () => {
    const app = await newApp();
    expect((await put(app.id, 'lower', 'x')).body.detail[0]).toMatchObject({
      loc: ['path', 'secret_name'],
      type: 'string_pattern_mismatch',
    });
    const now = new Date();
    const rows = Array.from({ length: 100 }, (_, i) => ({
      app_id: app.id,
      name: `S${i}`,
      sealed: 'v1.x.x.x',
      created_date: now,
      updated_date: now,
    }));
    await world.db.insertInto('app_secrets').values(rows).execute();
    expect(await put(app.id, 'ONE_MORE', 'x')).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 100 },
    });
    await world.db.deleteFrom('app_secrets').where('app_id', '=', app.id).execute();
  });

  it('are re-encrypted with a new master key while the service runs', async () => {
    const app = await newApp();
    await put(app.id, 'KEPT', 'the value that must survive');
    const [old] = world.config.MASTER_KEYS;
    const fresh = Buffer.alloc(32, 7);
    const rotated = await startSecondApp(world, {
      environment: { MASTER_KEYS: `new:${fresh.toString('base64')},${old?.id}:${old?.key.toString('base64')}` },
    });
    await rotated.call('PUT', `/api/apps/${app.id}/secrets/NEW`, { as, body: { value: 'written under the new key' } });
    expect(
      await rewrapSecrets(world.app.database.db, createSecrets(rotated.config.MASTER_KEYS), 'new'),
    ).toBeGreaterThan(0);
    const row = await world.db
      .selectFrom('app_secrets')
      .where('app_id', '=', app.id)
      .where('name', '=', 'KEPT')
      .select('sealed')
      .executeTakeFirstOrThrow();
    const onlyNew = createSecrets([{ id: 'new', key: fresh }]);
    expect(onlyNew.open(row.sealed, ['app_secrets', `${app.id}/KEPT`, 'sealed'])).toBe('the value that must survive');
    expect(await rewrapSecrets(world.app.database.db, onlyNew, 'new')).toBe(0);
  });
});
