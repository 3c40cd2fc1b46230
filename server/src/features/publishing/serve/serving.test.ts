// Tests serving published apps over the wire, with a folder and with a bucket as the object storage.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startS3Sandbox } from '../../../../../sandbox/src/s3.ts';
import { type Files, publishFiles, type VisitOptions, visit } from '../../../../test/support/published.ts';
import { asAdmin } from '../../../../test/support/template.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';

const folder = await mkdtemp(join(tmpdir(), 'serving-'));
const s3 = await startS3Sandbox();
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await s3.close().catch(() => {});
});

const domain = { APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example' };
const inFolder = { ...domain, STORAGE_FOLDER: folder };
const inBucket = {
  ...domain,
  STORAGE_S3_BUCKET: s3.bucket,
  STORAGE_S3_ENDPOINT: s3.endpoint,
  STORAGE_S3_ACCESS_KEY_ID: 'any',
  STORAGE_S3_SECRET_ACCESS_KEY: 'any',
  STORAGE_S3_PATH_STYLE: 'true',
};

const html = `<!doctype html><title>Shop</title>${'<p>Welcome</p>'.repeat(200)}`;
const script = `export const words = ${JSON.stringify(Array.from({ length: 2_000 }, (_, n) => `word ${n}`))};`;
const image = randomBytes(2_500_000); // three pieces
const longText = Buffer.from(randomBytes(900_000).toString('hex')); // two pieces, but one when compressed
const files: Files = {
  'dist/index.html': html,
  'dist/app.js': script,
  'dist/guide/index.html': 'the guide',
  'dist/tiny.css': 'a{}',
  'dist/empty.txt': '',
  'dist/image.png': image,
  'dist/long.txt': longText,
  'dist/assets/index-BsJ2kdhC.js': 'hashed',
  'dist/folder with blanks/ü 100%.txt': 'odd name',
  'dist/unknown.type': 'x',
  'src/main.ts': 'not published',
};

const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

async function startSite(environment: Record<string, string>, more: Files = {}) {
  const world = await startWorld({ environment });
  const owner = await world.person('ann@example.com');
  const workspace = await world.workspace(owner);
  const token = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace, { name: 'Shop' });
  const deployed = await publishFiles(world, app, { ...files, ...more }, token);
  const host = `${app.slug}.apps.example`;
  const get = (path: string, options: VisitOptions = {}) => visit(world.url, host, path, options);
  const call = (method: string, path: string, body?: object) =>
    world.call(method, `/api/apps/${app.id}${path}`, { as: token, body });
  return { world, owner, workspace, token, app, host, deployed, get, call };
}

describe.each([
  ['a folder', inFolder],
  ['a bucket', inBucket],
])('a published app in %s', async (_name, environment) => {
  const { get, deployed } = await startSite(environment);

  it('shows its files with type, tag and revision, and no cookie', async () => {
    const got = await get('/app.js');
    expect(got).toMatchObject({
      status: 200,
      text: script,
      headers: {
        'content-type': 'text/javascript; charset=utf-8',
        'content-length': String(script.length),
        etag: `"${hashOf(script)}"`,
        'cache-control': 'no-cache',
        vary: 'Accept-Encoding',
        'accept-ranges': 'bytes',
        'x-content-type-options': 'nosniff',
        'x-app-revision': String(deployed.revision),
        'origin-agent-cluster': '?1',
      },
    });
    expect(got.headers['set-cookie']).toBeUndefined();
    expect(got.headers['x-request-id']).toBeDefined();
  });

  it.each([
    ['/', html],
    ['/?a=b', html],
    ['/index.html', html],
    ['/guide/', 'the guide'],
    ['/tasks/17', html],
    ['/tasks/17/', html],
    ['/folder%20with%20blanks/%C3%BC%20100%25.txt', 'odd name'],
    ['/empty.txt', ''],
    ['/tiny.css?v=2', 'a{}'],
  ])('shows %s', async (path, content) => {
    expect(await get(path)).toMatchObject({ status: 200, text: content });
  });

  it.each([
    '/missing.js',
    '/guide/missing.css',
    '/src/main.ts',
    '/dist/index.html',
    '/_plinth/x',
    '/.well-known/x',
    '/a//b',
  ])('answers 404 for %s', async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, text: 'Page not found\n' });
    const page = await get(path, { headers: { accept: 'text/html' } });
    expect(page).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(page.text).toContain('<h1>Page not found</h1>');
    expect(page.text).not.toContain('href="/');
  });

  it('adds the slash that relative links of a folder need', async () => {
    expect(await get('/guide?a=b')).toMatchObject({ status: 307, headers: { location: './guide/?a=b' } });
    const query = '?next=/x?y=1&z=2';
    expect(await get(`/guide${query}`)).toMatchObject({ status: 307, headers: { location: `./guide/${query}` } });
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('compresses with %s, under a tag of its own', async (encoding, decompress) => {
    const accepting = { 'accept-encoding': encoding };
    for (const [path, content] of [
      ['/', Buffer.from(html)],
      ['/app.js', Buffer.from(script)],
      ['/long.txt', longText],
    ] as const) {
      const got = await get(path, { headers: accepting });
      expect(got).toMatchObject({
        status: 200,
        headers: { 'content-encoding': encoding, etag: `"${hashOf(content)}-${encoding}"`, vary: 'Accept-Encoding' },
      });
      expect(Number(got.headers['content-length'])).toBe(got.body.length);
      expect(decompress(got.body).equals(content)).toBe(true);
      const etag = got.headers.etag as string;
      const again = await get(path, { headers: { ...accepting, 'if-none-match': etag } });
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag } });
      // This client does not accept the encoding.
      expect((await get(path, { headers: { 'if-none-match': etag } })).status).toBe(200);
    }
  });

  it('sends small files, images and unknown types as they are', async () => {
    for (const path of ['/tiny.css', '/image.png', '/unknown.type', '/empty.txt'])
      expect(
        (await get(path, { headers: { 'accept-encoding': 'br, gzip' } })).headers['content-encoding'],
      ).toBeUndefined();
  });

  it('answers 304 to whoever has the file', async () => {
    const etag = `"${hashOf(html)}"`;
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect(await get('/', { headers: { 'if-none-match': sent } })).toMatchObject({ status: 304, text: '' });
    expect((await get('/', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('sends a large file whole, and parts of it', async () => {
    expect((await get('/image.png')).body.equals(image)).toBe(true);
    const size = image.length;
    for (const [range, start, end] of [
      ['bytes=0-99', 0, 99],
      ['bytes=1048570-1048590', 1_048_570, 1_048_590], // across two pieces
      ['bytes=100-', 100, size - 1],
      ['bytes=-5', size - 5, size - 1],
      [`bytes=0-${size * 2}`, 0, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
    ] as const) {
      const got = await get('/image.png', { headers: { range } });
      expect(got).toMatchObject({
        status: 206,
        headers: {
          'content-range': `bytes ${start}-${end}/${size}`,
          'content-length': String(end - start + 1),
          etag: `"${hashOf(image)}"`,
        },
      });
      expect(got.body.equals(image.subarray(start, end + 1))).toBe(true);
    }
  });

  it('sends parts uncompressed', async () => {
    const got = await get('/app.js', { headers: { range: 'bytes=0-9', 'accept-encoding': 'br' } });
    expect(got).toMatchObject({ status: 206, text: script.slice(0, 10) });
    expect(got.headers['content-encoding']).toBeUndefined();
  });

  it.each(['bytes=9999999-', 'bytes=-0', 'bytes=9999999-10000000'])('answers 416 to %s', async (range) => {
    const got = await get('/image.png', { headers: { range } });
    expect(got).toMatchObject({ status: 416, text: '', headers: { 'content-range': `bytes */${image.length}` } });
  });

  it.each(['bytes=0-1,4-5', 'lines=0-1', 'bytes=5-2', 'bytes=-', 'bytes=a-b', ''])(
    'sends the whole file to %j',
    async (range) => {
      expect(await get('/tiny.css', { headers: { range } })).toMatchObject({ status: 200, text: 'a{}' });
    },
  );

  it('sends a part only to whoever has a part of the same content', async () => {
    const ask = (ifRange: string) => get('/tiny.css', { headers: { range: 'bytes=1-1', 'if-range': ifRange } });
    expect((await ask(`"${hashOf('a{}')}"`)).status).toBe(206);
    for (const other of ['"other"', `"${hashOf('a{}')}-br"`, 'Mon, 16 Nov 2026 00:00:00 GMT'])
      expect((await ask(other)).status).toBe(200);
  });

  it('answers HEAD as GET, without a body', async () => {
    for (const [path, length] of [
      ['/app.js', script.length],
      ['/image.png', image.length],
    ] as const)
      expect(await get(path, { method: 'HEAD' })).toMatchObject({
        status: 200,
        text: '',
        headers: { 'content-length': String(length) },
      });
    const compressed = await get('/app.js', { method: 'HEAD', headers: { 'accept-encoding': 'br' } });
    expect(Number(compressed.headers['content-length'])).toBeLessThan(script.length / 2);
  });

  it('lets browsers keep files with a hash in their name, and nothing else', async () => {
    const { headers } = await get('/assets/index-BsJ2kdhC.js');
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const refused = await get('/assets/index-BsJ2kdhC.js', { headers: { range: 'bytes=99-' } });
    expect(refused).toMatchObject({ status: 416, headers: { 'cache-control': 'no-store' } });
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('refuses %s, after discarding the body', async (method) => {
    const got = await get('/', { method, payload: 'x'.repeat(100_000), headers: { 'content-length': '100000' } });
    expect(got).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD', connection: 'keep-alive' } });
  });
});

describe('hosts', async () => {
  const { world, app, host, token } = await startSite(inFolder);

  it.each([
    ['as it is', (name: string) => name],
    ['in capitals', (name: string) => name.toUpperCase()],
    ['with a port', (name: string) => `${name}:8443`],
    ['with the dot of the root', (name: string) => `${name}.`],
    ['with both', (name: string) => `${name}.:80`],
  ])('the host of an app shows the app: %s', async (_how, write) => {
    expect(await visit(world.url, write(host), '/tiny.css')).toMatchObject({ status: 200, text: 'a{}' });
  });

  it.each([
    'apps.example',
    'APPS.example.',
    'apps.example:8080',
    'unknown.apps.example',
    'x.y.apps.example',
    '-.apps.example',
    '.apps.example',
    'a_b.apps.example',
    '..apps.example',
  ])('%s shows nothing, and never the API', async (name) => {
    for (const path of ['/', '/healthz', '/api/apps', '/openapi.json', '/docs']) {
      const got = await visit(world.url, name, path, { headers: { authorization: `Bearer ${token}` } });
      expect([path, got.status, got.text]).toEqual([path, 404, 'There is no app at this address\n']);
    }
  });

  it('no operation of the API answers on the host of an app', async () => {
    const paths = world.app.routes.map(({ path }) => path.replace('{app_id}', app.id).replace(/\{\w+\}/g, 'x'));
    for (const path of new Set(paths)) {
      const got = await visit(world.url, host, path, { headers: { authorization: `Bearer ${token}` } });
      // A path without an extension is a route within the app.
      expect([path, got.text === html || got.status === 404]).toEqual([path, true]);
    }
  });

  it('no file of an app is served on the host of the API', async () => {
    for (const name of ['plinth.example', '127.0.0.1', 'apps.example.org', 'shop-apps.example', 'notapps.example'])
      for (const path of ['/tiny.css', `/p/${app.slug}/tiny.css`, `/${app.slug}/tiny.css`])
        expect((await visit(world.url, name, path)).text).not.toContain('a{}');
  });
});

describe('below /p/', async () => {
  const {
    world,
    app,
    get: _get,
    call,
  } = await startSite({ STORAGE_FOLDER: folder, BASE_URL: 'https://plinth.example', APPS_BELOW_BASE_URL: 'true' });
  const get = (path: string, options: VisitOptions = {}) => visit(world.url, 'plinth.example', path, options);
  const sandbox = 'sandbox allow-scripts allow-forms';

  it('every answer has the sandbox', async () => {
    const etag = `"${hashOf('a{}')}"`;
    for (const [path, options, status] of [
      ['/', {}, 200],
      ['/tiny.css', {}, 200],
      ['/tiny.css', { headers: { 'if-none-match': etag } }, 304],
      ['/tiny.css', { headers: { range: 'bytes=0-0' } }, 206],
      ['/tiny.css', { headers: { range: 'bytes=9-' } }, 416],
      ['/missing.js', {}, 404],
      ['/missing.js', { headers: { accept: 'text/html' } }, 404],
      ['/', { method: 'POST' }, 405],
      ['/guide', {}, 307],
      ['', {}, 307],
    ] as const) {
      const got = await get(`/p/${app.slug}${path}`, options);
      expect([path, got.status]).toEqual([path, status]);
      expect(got.headers['content-security-policy']).toMatch(new RegExp(`^${sandbox}(, |$)`));
      expect(got.headers['strict-transport-security']).toBe('max-age=31536000'); // the API's own header
      expect(got.headers['set-cookie']).toBeUndefined();
    }
  });

  it("the app's own policy is added, and can't loosen it; its HSTS is not sent", async () => {
    await call('PATCH', '/security/settings', {
      headers: {
        csp: "script-src 'self'; sandbox allow-same-origin",
        hsts: 'max-age=0',
        referrer_policy: 'no-referrer',
      },
    });
    await expect
      .poll(async () => (await get(`/p/${app.slug}/`)).headers)
      .toMatchObject({
        'content-security-policy': `${sandbox}, script-src 'self'; sandbox allow-same-origin`,
        'strict-transport-security': 'max-age=31536000',
        'referrer-policy': 'no-referrer',
      });
  });

  it('finds the app by its slug, and leads to the address with a slash', async () => {
    expect(await get(`/p/${app.slug}?a=b`)).toMatchObject({
      status: 307,
      headers: { location: `./${app.slug}/?a=b` },
    });
    expect(await get(`/p/${app.slug}/guide/`)).toMatchObject({ status: 200, text: 'the guide' });
    for (const path of ['/p/unknown/', `/p/${app.slug.toUpperCase()}/`, '/p/../api/apps/', '/p/%2e%2e/api/apps'])
      expect((await get(path)).status).toBe(404);
    expect((await get('/p/')).headers['content-type']).toContain('problem+json');
  });
});

describe('an app with very many files', async () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`dist/many/${n}.txt`, `file ${n}`]));
  const small = await startSite(inFolder);
  const large = await startSite(inFolder, many);

  it('is served as one with few', async () => {
    const { rows } = await sql<{ files_bytes: number }>`select files_bytes from deployments
      where app_id = ${large.app.id}`.execute(large.world.db);
    expect(rows[0]?.files_bytes).toBeGreaterThan(64 * 1024); // too large to be kept in memory
    const paths = [
      '/',
      '/index.html',
      '/guide',
      '/guide/',
      '/guide/index.html',
      '/guide/index.html/',
      '/tasks/17',
      '/a/',
    ];
    for (const path of [...paths, '/missing.js', '/.hidden', '/app.js/', '/tiny.css', '/toString', '/__proto__'])
      for (const _time of ['first', 'from memory']) {
        const [expected, got] = [await small.get(path), await large.get(path)];
        expect([path, got.status, got.text, got.headers.location]).toEqual([
          path,
          expected.status,
          expected.text,
          expected.headers.location,
        ]);
      }
    expect(await large.get('/many/599.txt')).toMatchObject({ status: 200, text: 'file 599' });
    expect((await large.get('/many/600.txt')).status).toBe(404);
  });

  it('shows what is live, after a change too', async () => {
    const changed = { ...files, ...many, 'dist/many/1.txt': 'changed' };
    expect((await large.get('/many/1.txt')).text).toBe('file 1');
    await publishFiles(large.world, large.app, changed, large.token);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await large.get('/many/1.txt')).text).toBe('changed');
  });
});

describe('security settings', async () => {
  const { get, call } = await startSite(inFolder);

  it('are sent within a second', async () => {
    const headers = {
      csp: "default-src 'self'",
      hsts: 'max-age=600',
      frame_options: 'DENY',
      referrer_policy: 'no-referrer',
      permissions_policy: 'camera=()',
    };
    expect((await get('/')).headers['content-security-policy']).toBeUndefined();
    await call('PATCH', '/security/settings', { headers });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const path of ['/', '/tiny.css'])
      expect((await get(path)).headers).toMatchObject({
        'content-security-policy': headers.csp,
        'strict-transport-security': headers.hsts,
        'x-frame-options': headers.frame_options,
        'referrer-policy': headers.referrer_policy,
        'permissions-policy': headers.permissions_policy,
        'x-content-type-options': 'nosniff',
      });
  });
});

describe('what is lost', async () => {
  const ownFolder = await mkdtemp(join(tmpdir(), 'serving-lost-'));
  afterAll(() => rm(ownFolder, { recursive: true, force: true }));
  const { world, app, get, call } = await startSite({ ...inFolder, STORAGE_FOLDER: ownFolder });
  const objects = async () => {
    const found = await world.db.selectFrom('app_blobs').where('app_id', '=', app.id).selectAll().execute();
    return (content: string | Buffer) =>
      join(ownFolder, 'apps', app.id, found.find(({ sha256 }) => sha256 === hashOf(content))?.id ?? '');
  };

  it('a content that the storage does not have, or has otherwise, is 503 and never different content', async () => {
    const pathOf = await objects();
    await rm(pathOf(script));
    await writeFile(pathOf('the guide'), 'THE GUIDE');
    await writeFile(pathOf(html), html.slice(0, -1));
    for (const path of ['/app.js', '/guide/', '/']) {
      const got = await get(path);
      expect(got).toMatchObject({ status: 503, headers: { 'retry-after': '1', 'cache-control': 'no-store' } });
    }
    expect(world.logLines.join('\n')).toContain('published file not served');
  });

  it('a large file that is shorter, or has one other byte, is 503 too', async () => {
    const pathOf = await objects();
    const other = Buffer.from(image);
    other[2_000_000] = (image[2_000_000] as number) ^ 1;
    for (const content of [image.subarray(0, 1_500_000), other]) {
      await writeFile(pathOf(image), content);
      expect((await get('/image.png')).status).toBe(503);
      expect((await get('/image.png', { headers: { range: 'bytes=0-9' } })).status).toBe(503);
    }
  });

  it('is uploaded again by the next publish, even if nothing else has changed', async () => {
    const lost = ['/app.js', '/guide/', '/', '/image.png'];
    for (const path of lost) expect((await get(path)).status).toBe(503);
    const got = await call('POST', '/deploy');
    expect(got).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    for (const path of lost) expect((await get(path)).status).toBe(200);
    expect((await get('/image.png')).body.equals(image)).toBe(true);
  });

  it('what is in memory is served while the storage is lost', async () => {
    expect((await get('/tiny.css')).status).toBe(200);
    await rm(ownFolder, { recursive: true });
    expect(await get('/tiny.css')).toMatchObject({ status: 200, text: 'a{}' });
    expect((await get('/long.txt')).status).toBe(503);
  });
});

describe('a second process', async () => {
  const { world, token, workspace, owner, app, host, deployed, call } = await startSite(inFolder);
  const second = await startSecondApp(world);
  const seen = async (): Promise<string> => {
    const got = await visit(second.url, host, '/tiny.css');
    return got.status === 200 ? got.text : String(got.status);
  };
  const aSecond = () => new Promise((resolve) => setTimeout(resolve, 1_000));

  it('sees what the first one does within a second', async () => {
    expect(await seen()).toBe('a{}');
    const next = await publishFiles(world, app, { 'dist/tiny.css': 'b{}' }, token);
    await aSecond();
    expect(await seen()).toBe('b{}');
    await call('POST', '/deploy', { deployment_id: deployed.deployment_id });
    await aSecond();
    expect(await seen()).toBe('a{}');
    await call('POST', '/unpublish');
    await aSecond();
    expect(await seen()).toBe('404');
    await call('POST', '/deploy', { deployment_id: next.deployment_id });
    await aSecond();
    expect(await seen()).toBe('b{}');
    await call('DELETE', '');
    await aSecond();
    expect(await seen()).toBe('404');
    await call('POST', '/restore');
    await call('POST', '/deploy');
    await aSecond();
    expect(await seen()).toBe('b{}');
    const session = await world.session(owner);
    const headers = { ...session, 'x-active-workspace-id': workspace };
    const body = { confirm_name: 'Workspace' };
    expect((await world.call('DELETE', '/api/workspace', { headers, body })).status).toBe(200);
    await aSecond();
    expect(await seen()).toBe('404');
  });
});

describe('an app that is published while it is visited', async () => {
  const { world, host, call, deployed } = await startSite(inFolder);
  const second = await startSecondApp(world);
  const look = async ({ url }: { url: string }) => (await visit(url, host, '/tiny.css')).status;

  it('is served by every process from then on', async () => {
    for (let round = 0; round < 5; round += 1) {
      await call('POST', '/unpublish');
      for (const process of [world, second]) await expect.poll(() => look(process)).toBe(404);
      const ended = new AbortController();
      const keepLooking = async () => {
        while (!ended.signal.aborted) await look(second);
      };
      const visitors = Promise.all([keepLooking(), keepLooking(), keepLooking()]);
      expect((await call('POST', '/deploy', { deployment_id: deployed.deployment_id })).status).toBe(200);
      expect(await Promise.all([second, second, world, second, world].map(look))).toEqual(Array(5).fill(200));
      ended.abort();
      await visitors;
    }
  });

  it('causes at most ten reads a second before', async () => {
    await call('POST', '/unpublish');
    for (const process of [world, second]) await expect.poll(() => look(process)).toBe(404);
    const until = performance.now() + 1_000;
    let requests = 0;
    const keepLooking = async () => {
      for (; performance.now() < until; requests += 1) expect(await look(second)).toBe(404);
    };
    const visitors = 5;
    await Promise.all(Array.from({ length: visitors }, keepLooking));
    expect(requests).toBeLessThanOrEqual(12 * visitors);
  });
});

describe('without the database', async () => {
  const { world, get } = await startSite(inFolder);
  const database = new URL(world.config.DATABASE_URL).pathname.slice(1);

  it('an app is 503, even if its files are in memory, because nobody knows what is live', async () => {
    expect((await get('/tiny.css')).status).toBe(200);
    await asAdmin(async (admin) => {
      await admin.query(`alter database ${database} allow_connections false`);
      await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
    });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const got = await get('/tiny.css', { headers: { accept: 'text/html' } });
    expect(got).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(got.text).toContain('Try again in a moment.');
    await asAdmin((admin) => admin.query(`alter database ${database} allow_connections true`));
    expect(await get('/tiny.css')).toMatchObject({ status: 200, text: 'a{}' });
  });
});

describe('addresses that are tried one after the other', async () => {
  const { world, get } = await startSite(inFolder);

  it('are refused after 300 a minute; apps that are known stay open', async () => {
    expect((await get('/tiny.css')).status).toBe(200);
    const statuses = new Map<number, number>();
    for (let n = 0; n < 320; n += 1) {
      const { status } = await visit(world.url, `made-up-${n}.apps.example`, '/');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(statuses.get(404)).toBeGreaterThanOrEqual(300);
    expect(statuses.get(429)).toBeGreaterThan(0);
    const refused = await visit(world.url, 'another.apps.example', '/', { headers: { accept: 'text/html' } });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await get('/tiny.css')).status).toBe(200);
  });
});
