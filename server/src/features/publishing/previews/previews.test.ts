// Tests previews: who creates them, what their hosts serve, and when they end.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Files, putFiles, type VisitOptions, visit } from '../../../../test/support/published.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { toPreviewHeaders, withoutFrameAncestors } from '../serve/app-headers.ts';
import { removeExpiredPreviews } from './store.ts';

const environment = { APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example' };
const world = await startWorld({ environment });
const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner, 'enterprise');
const token = await world.token(owner, workspace);
const dayMs = 24 * 60 * 60 * 1000;

const page = (text: string) => `<!doctype html><title>Shop</title><h1>${text}</h1>`;

const newApp = () => world.appOf(owner, workspace, { name: 'Shop' });
type TestApp = Awaited<ReturnType<typeof newApp>>;
const write = (app: TestApp, files: Files) => putFiles(world, app, files, token);
const create = (app: TestApp, body: object = {}, more: object = {}) =>
  world.call('POST', `/api/apps/${app.id}/previews`, { as: token, body, ...more });
const remove = (app: TestApp, id: string) => world.call('DELETE', `/api/apps/${app.id}/previews/${id}`, { as: token });

/** Creates a preview and returns its answer, with a function that requests a path on its host. */
async function preview(app: TestApp, body: object = {}) {
  const got = await create(app, body);
  expect(got.status, got.text).toBe(200);
  const { host } = new URL(got.body.url);
  return { ...got.body, host, get: (path: string, options?: VisitOptions) => visit(world.url, host, path, options) };
}

const newUser = async (app: TestApp, email = 'grace@customers.example') =>
  (await world.call('POST', `/api/apps/${app.id}/users`, { as: token, body: { email, full_name: 'Zoë' } })).body;

const readSession = (url: string) =>
  JSON.parse(Buffer.from(new URL(url).hash.replace('#plinth_session=', ''), 'base64url').toString());

beforeEach(() => world.resetRateLimits());

describe('createPreview', () => {
  it('shows the present revision at an address of its own, and follows the app', async () => {
    const app = await newApp();
    const revision = await write(app, { 'public/index.html': page('one'), 'public/app.js': 'let one;' });
    const { get, ...shown } = await preview(app);
    expect(shown).toEqual({
      id: expect.any(String),
      url: expect.stringMatching(/^https:\/\/preview--[a-z2-7]{26}\.apps\.example\/$/),
      host: expect.any(String),
      revision,
      follows: true,
      signed_in_as: null,
      sandboxed: false,
      expires_at: expect.any(String),
    });
    expect(Date.parse(shown.expires_at) - world.clock.now().getTime()).toBeGreaterThan(dayMs - 60_000);
    expect((await get('/')).text).toContain('<h1>one</h1>');
    await write(app, { 'public/index.html': page('two') });
    const second = await get('/');
    expect(second.text).toContain('<h1>two</h1>');
    expect(second.headers['x-app-revision']).toBe(String(revision + 1));
    expect((await get('/app.js')).status).toBe(404);
  });

  it('shows an earlier revision, with its files and its headers, whatever happens to the app', async () => {
    const app = await newApp();
    await write(app, { 'dist/index.html': page('one'), 'dist/app.js': 'let one;' });
    const set = (headers: object) =>
      world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: token, body: { headers } });
    await set({ csp: `default-src 'self' https://${app.slug}.apps.example; frame-ancestors 'none'` });
    const { revision } = (await world.call('GET', `/api/apps/${app.id}`, { as: token })).body;
    await set({ csp: null });
    await write(app, { 'public/index.html': page('two') });
    const { get, follows } = await preview(app, { revision });
    expect(follows).toBe(false);
    const got = await get('/');
    expect(got.text).toContain('<h1>one</h1>');
    expect(got.headers).toMatchObject({
      'x-app-revision': String(revision),
      'content-security-policy': "default-src 'self' 'self', frame-ancestors https://plinth.example",
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-cache',
      'x-robots-tag': 'noindex',
    });
    expect(got.headers).not.toHaveProperty('x-frame-options');
    expect((await get('/app.js')).text).toBe('let one;');
  });

  it('refuses a revision and a user that the app does not have', async () => {
    const app = await newApp();
    const other = await newUser(await newApp());
    expect(await create(app, { revision: 1_000 })).toMatchObject({ status: 404, body: { code: 'revision_not_found' } });
    for (const app_user_id of [other.id, 'nobody', ''])
      expect(await create(app, { app_user_id })).toMatchObject({ status: 404, body: { code: 'app_user_not_found' } });
  });

  it('signs in as a user of the app for an hour, with a token that only the address has', async () => {
    const app = await newApp();
    const user = await newUser(app);
    const { signed_in_as, url } = await preview(app, { app_user_id: user.id });
    expect(signed_in_as).toEqual({ app_user_id: user.id, email: user.email, expires_at: expect.any(String) });
    const session = readSession(url);
    expect(session).toMatchObject({
      expires_at: signed_in_as.expires_at,
      user: { id: user.id, email: user.email, full_name: 'Zoë', role: 'user', has_password: false },
    });
    const self = `/api/apps/${app.id}/auth/me`;
    expect((await world.call('GET', self, { as: session.token })).body.email).toBe(user.email);
    const { origin } = new URL(url);
    const fromPage = await world.call('GET', self, { as: session.token, headers: { origin } });
    expect(fromPage.headers['access-control-allow-origin']).toBe(origin);
    world.clock.aheadMs += 61 * 60 * 1000;
    expect((await world.call('GET', self, { as: session.token })).status).toBe(401);
    world.clock.aheadMs -= 61 * 60 * 1000;
    expect(world.logLines.join()).not.toContain(session.token);
    expect(world.logLines.join()).not.toContain(new URL(url).host);
  });

  it('withholds the address in a replay, and makes one preview', async () => {
    const app = await newApp();
    const headers = { 'idempotency-key': 'the-same-key' };
    const first = await create(app, {}, { headers });
    const again = await create(app, {}, { headers });
    expect(again.body).toEqual({ ...first.body, url: null });
    expect(again.headers['x-warning']).toBe('secret_withheld');
  });

  it('removes the oldest of twenty, and refuses more than 500 in a workspace', async () => {
    const app = await newApp();
    const user = await newUser(app);
    const first = await preview(app, { app_user_id: user.id });
    for (let count = 1; count < 20; count += 1) await preview(app);
    expect((await first.get('/')).status).toBe(404); // without files
    expect((await first.get('/_plinth/app.js')).status).toBe(200);
    await world.resetRateLimits();
    await preview(app);
    expect((await first.get('/_plinth/app.js')).status).toBe(404);
    const { token: ended } = readSession(first.url);
    expect((await world.call('GET', `/api/apps/${app.id}/auth/me`, { as: ended })).status).toBe(401);

    const other = await newApp();
    await sql`insert into app_previews (id, workspace_id, app_id, label_hash, created_date, expires_at)
      select gen_random_uuid(), ${workspace}, ${other.id}, sha256(n::text::bytea), now() - interval '1 day', now() + interval '1 hour'
      from generate_series(1, 500) n`.execute(world.db);
    const body = { code: 'limit_reached', limit: 500, resource: 'previews' };
    expect(await create(app)).toMatchObject({ status: 409, body });
    await sql`delete from app_previews where app_id = ${other.id}`.execute(world.db);
    expect((await create(app)).status).toBe(200);
  });

  it('counts previews towards the storage', async () => {
    const app = await newApp();
    const countRows = async () =>
      (
        await sql<{ sum: number }>`select coalesce(sum(bytes), 0)::float8 as sum from storage_changes
          where workspace_id = ${workspace} and kind = 'settings' and bytes in (500, -500)`.execute(world.db)
      ).rows[0]?.sum as number;
    const before = await countRows();
    const { id } = await preview(app);
    expect(await countRows()).toBe(before + 500);
    await remove(app, id);
    expect(await countRows()).toBe(before);
  });

  it('is audited with what is shown and as whom, without the address', async () => {
    const app = await newApp();
    const user = await newUser(app);
    const { id, url, expires_at, revision } = await preview(app, { app_user_id: user.id });
    await remove(app, id);
    const { body } = await world.call('GET', `/api/workspace/audit-log?app_id=${app.id}`, { as: token });
    const entries = body.items.filter(({ type }: { type: string }) => type.startsWith('app.preview'));
    const target = { kind: 'preview', id };
    expect(entries).toMatchObject([
      { type: 'app.preview_deleted', target, before: { revision: null, follows: true } },
      { type: 'app.preview_created', target, after: { revision, follows: true, app_user_id: user.id, expires_at } },
    ]);
    expect(JSON.stringify(body)).not.toContain(new URL(url).host.split('.')[0]);
  });

  it('makes room neither for viewers nor for members of other workspaces', async () => {
    const app = await newApp();
    const { id } = await preview(app);
    const viewer = await world.token(await world.member(workspace, 'viewer', 'vic@example.com'), workspace);
    const stranger = await world.person('eve@example.com');
    const strange = await world.token(stranger, await world.workspace(stranger));
    const other = await newApp();
    for (const [as, status] of [[viewer, 403] as const, [strange, 404] as const]) {
      expect((await create(app, {}, { as })).status).toBe(status);
      expect((await world.call('DELETE', `/api/apps/${app.id}/previews/${id}`, { as })).status).toBe(status);
    }
    expect(await remove(other, id)).toMatchObject({ status: 404, body: { code: 'preview_not_found' } });
  });
});

describe("a preview's host", () => {
  it('adds the script to pages only, as the first of the page', async () => {
    const app = await newApp();
    const revision = await write(app, {
      'public/index.html': page('one'),
      'public/docs/index.html': page('docs'),
      'public/app.js': 'let one;',
      'public/empty.css': '',
    });
    const { get } = await preview(app);
    const script = `<!doctype html><script src="/_plinth/preview.js" data-app="${app.id}" data-console="https://plinth.example" data-revision="${revision}"></script><title>`;
    for (const path of ['/', '/tasks/17', '/docs/']) expect((await get(path)).text.startsWith(script)).toBe(true);
    expect((await get('/app.js')).text).toBe('let one;');
    expect(await get('/empty.css')).toMatchObject({ status: 200, text: '' });
    expect(await get('/docs')).toMatchObject({ status: 307, headers: { location: './docs/' } });
    const { etag } = (await get('/')).headers;
    expect((await get('/', { headers: { 'if-none-match': etag as string } })).status).toBe(304);
    expect(await get('/_plinth/preview.js')).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/javascript; charset=utf-8' },
    });
    expect((await get('/_plinth/client.js')).text).toContain('export const entities');
    expect((await get('/_plinth/app.js')).text).toContain(`"id":"${app.id}","api":"https://plinth.example"`);
    expect((await get('/_plinth/none.js')).status).toBe(404);
    expect((await get('/', { method: 'POST' })).status).toBe(405);
  });

  it('serves large files whole and in parts', async () => {
    const app = await newApp();
    const large = Buffer.alloc(2_500_000, 'abcdefg');
    await write(app, { 'public/large.bin': large });
    const { get } = await preview(app);
    expect((await get('/large.bin')).body.equals(large)).toBe(true);
    const part = await get('/large.bin', { headers: { range: 'bytes=1048570-1048585' } });
    expect(part).toMatchObject({ status: 206, text: large.subarray(1_048_570, 1_048_586).toString() });
  });

  it('serves notices that the console can show in a frame', async () => {
    const app = await newApp();
    const { get } = await preview(app);
    const got = await get('/', { headers: { accept: 'text/html' } });
    expect(got).toMatchObject({ status: 404, text: expect.stringContaining('Page not found') });
    expect(got.headers['content-security-policy']).toMatch(/^frame-ancestors https:\/\/plinth\.example, default-src/);
    expect(got.headers['content-security-policy']).not.toContain("frame-ancestors 'none'");
  });

  it('answers 404 for a label that nobody has, and refuses a client that tries many', async () => {
    const other = await startSecondApp(world, { environment }); // the refusal is remembered by its process
    const host = `preview--${'a'.repeat(26)}.apps.example`;
    const statuses = new Set<number>();
    for (let count = 0; count < 320; count += 10) {
      const visits = await Promise.all(Array.from({ length: 10 }, () => visit(other.url, host, '/')));
      for (const { status } of visits) statuses.add(status);
    }
    expect([...statuses]).toEqual([404, 429]);
  });

  it('ends at once when the preview is deleted, with its token', async () => {
    const app = await newApp();
    await write(app, { 'public/index.html': page('one') });
    const user = await newUser(app);
    const { id, get, url } = await preview(app, { app_user_id: user.id });
    expect((await get('/')).status).toBe(200);
    expect((await remove(app, id)).body).toEqual({ success: true });
    expect((await get('/')).status).toBe(404);
    expect((await world.call('GET', `/api/apps/${app.id}/auth/me`, { as: readSession(url).token })).status).toBe(401);
    expect(await remove(app, id)).toMatchObject({ status: 404, body: { code: 'preview_not_found' } });
  });

  it('ends after a day, and its row is removed', async () => {
    const app = await newApp();
    await write(app, { 'public/index.html': page('one') });
    const { id, get } = await preview(app);
    const find = () => world.db.selectFrom('app_previews').where('id', '=', id).select('id').execute();
    expect(await removeExpiredPreviews(world.app.database.db, world.clock.now())).toBe(0);
    expect((await find()).length).toBe(1);
    world.clock.aheadMs += dayMs + 1_000;
    expect((await get('/')).status).toBe(404);
    expect(await removeExpiredPreviews(world.app.database.db, world.clock.now())).toBeGreaterThan(0);
    expect(await find()).toEqual([]);
    world.clock.aheadMs -= dayMs + 1_000;
  });

  it('ends when the app is deleted, and does not come back with it', async () => {
    const app = await newApp();
    await write(app, { 'public/index.html': page('one') });
    const { get } = await preview(app);
    expect((await world.call('DELETE', `/api/apps/${app.id}`, { as: token })).status).toBe(200);
    expect((await get('/')).status).toBe(404);
    expect((await world.call('POST', `/api/apps/${app.id}/restore`, { as: token })).status).toBe(200);
    expect((await get('/')).status).toBe(404);
  });

  it('may call the data of its own app, and of no other', async () => {
    const app = await newApp();
    const other = await newApp();
    const { url } = await preview(app);
    const { origin } = new URL(url);
    const ask = async (id: string, from: string) => {
      const headers = { origin: from, 'access-control-request-method': 'GET' };
      const got = await world.call('OPTIONS', `/api/apps/${id}/auth/me`, { headers });
      return got.headers['access-control-allow-origin'];
    };
    expect(await ask(app.id, origin)).toBe(origin);
    expect(await ask(other.id, origin)).toBeUndefined();
    expect(await ask(app.id, `https://preview--${'b'.repeat(26)}.apps.example`)).toBeUndefined();
    const signIn = (id: string) =>
      world.call('POST', `/api/apps/${id}/auth/link`, { headers: { origin }, body: { email: 'a@b.example' } });
    expect((await signIn(app.id)).status).toBe(200);
    expect(await signIn(other.id)).toMatchObject({ status: 403, body: { code: 'origin_not_allowed' } });
  });
});

describe('without a domain for apps', () => {
  it('a preview is sandboxed below /p/, and nobody is signed in', async () => {
    const app = await newApp();
    const user = await newUser(app);
    const revision = await write(app, { 'public/index.html': page('one') });
    const local = await startSecondApp(world, { environment: { APPS_DOMAIN: '', BASE_URL: 'http://127.0.0.1:3000' } });
    const body = { app_user_id: user.id };
    const got = await local.call('POST', `/api/apps/${app.id}/previews`, { as: token, body });
    expect(got.body).toMatchObject({ sandboxed: true, signed_in_as: null, revision });
    const { pathname, hash } = new URL(got.body.url);
    expect([pathname, hash]).toEqual([expect.stringMatching(/^\/p\/preview--[a-z2-7]{26}\/$/), '']);
    const shown = await local.call('GET', pathname, {});
    expect(shown.headers).toMatchObject({
      'content-security-policy': 'sandbox allow-scripts allow-forms, frame-ancestors http://127.0.0.1:3000',
      'x-app-revision': String(revision),
    });
    expect(shown.text).toContain(`<script src="${pathname}_plinth/preview.js" `);
    expect((await local.call('GET', `${pathname}_plinth/preview.js`, {})).status).toBe(200);
  });

  it('is refused where apps may not be published', async () => {
    const app = await newApp();
    const closed = await startSecondApp(world, {
      environment: { APPS_DOMAIN: '', BASE_URL: 'https://plinth.example' },
    });
    const got = await closed.call('POST', `/api/apps/${app.id}/previews`, { as: token, body: {} });
    expect(got).toMatchObject({ status: 409, body: { code: 'apps_domain_missing' } });
  });
});

describe('a slug', () => {
  it('does not look like a preview', async () => {
    const app = await newApp();
    const got = await world.call('PUT', `/api/apps/${app.id}`, { as: token, body: { slug: 'preview--shop' } });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ type: 'string_pattern_mismatch' }] } });
  });
});

describe('the policy of a preview', () => {
  it.each([
    ["frame-ancestors 'none'", ''],
    ["default-src 'self'; Frame-Ancestors *; img-src *", "default-src 'self'; img-src *"],
    ["script-src 'self', frame-ancestors 'none'", "script-src 'self'"],
    ['frame-ancestors-x a', 'frame-ancestors-x a'],
  ])('%s is without who may frame it', (policy, expected) => expect(withoutFrameAncestors(policy)).toBe(expected));

  it('keeps only the headers that work on another host', () => {
    const page = { isSandboxed: false, host: 'shop.apps.example', consoleOrigin: 'https://plinth.example' };
    expect(toPreviewHeaders({ csp: null, permissions_policy: 'camera=()' }, page)).toEqual({
      'content-security-policy': 'frame-ancestors https://plinth.example',
      'permissions-policy': 'camera=()',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
  });
});
