// Tests serving the console: its page and files from a small built console, and what is shown without one.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-'));
afterAll(() => rmSync(folder, { recursive: true }));
const script = `console.log(${JSON.stringify('a'.repeat(200))});`;
const built: Readonly<Record<string, string>> = {
  'index.html':
    '<!doctype html><title>Console</title><script type="module" src="/console/assets/main-1a2b.js"></script>',
  'assets/main-1a2b.js': script,
  'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
};
/** Builds a console in a new folder. */
function build(name: string): string {
  const dist = join(folder, name);
  mkdirSync(join(dist, 'assets'), { recursive: true });
  const list = Object.entries(built).map(([path, content]) => {
    writeFileSync(join(dist, path), content);
    const isCompressed = path.endsWith('.js');
    if (isCompressed) {
      writeFileSync(join(dist, `${path}.br`), brotliCompressSync(content));
      writeFileSync(join(dist, `${path}.gz`), gzipSync(content));
    }
    return {
      path,
      sha256: createHash('sha256').update(content).digest('hex'),
      bytes: Buffer.byteLength(content),
      encodings: isCompressed ? { br: `${path}.br`, gzip: `${path}.gz` } : {},
    };
  });
  writeFileSync(join(dist, 'files.json'), JSON.stringify(list));
  return dist;
}

const without = await startWorld();
const world = await startSecondApp(without, { consoleFolder: build('dist') });
const html = { accept: 'text/html' };
const id = '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e';
const open = (path: string, headers = {}) => world.call('GET', path, { headers: { ...html, ...headers } });

describe('the console', () => {
  it.each([
    '/',
    `/w/${id}`,
    `/w/${id}/apps?folder=1`,
    `/editor/${id}/preview`,
    `/editor/${id}/sessions`,
    '/account/tokens',
  ])('is shown at %s', async (path) => {
    const got = await open(path);
    expect(got).toMatchObject({ status: 200, text: built['index.html'] });
    expect(got.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect(got.headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'none'; img-src 'self' data: blob:; " +
        "connect-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; " +
        "require-trusted-types-for 'script'; trusted-types console-worker; frame-ancestors 'none'",
    );
    const again = await open(path, { 'if-none-match': got.headers.etag });
    expect(again).toMatchObject({ status: 304, text: '' });
  });

  it('shows apps in frames only from their own hosts, if they have a domain', async () => {
    const environment = { BASE_URL: 'https://plinth.example:8443', APPS_DOMAIN: 'apps.test' };
    const withDomain = await startSecondApp(without, { consoleFolder: build('dist'), environment });
    const got = await withDomain.call('GET', '/', { headers: html });
    expect(got.headers['content-security-policy']).toContain('; frame-src https://*.apps.test:8443; ');
  });

  it.each([
    ['/device', 'Log in'],
    ['/reset-password', 'password'],
    ['/invitations', 'nvitation'],
    [`/editor/${id}/sessions/${id}`, 'ession'],
    ['/docs', 'API reference'],
  ])('leaves the page at %s as it is', async (path, text) => {
    const got = await open(path);
    expect(got.status).toBe(200);
    expect(got.text).toContain(text);
    expect(got.text).not.toBe(built['index.html']);
  });

  it.each(['/w', '/w/', '/editor', '/account/', '/operator/health', '/console/', '/console/index.html'])(
    'is not at %s',
    async (path) => expect(await open(path)).toMatchObject({ status: 404 }),
  );

  it('is only read', async () => {
    const got = await world.call('POST', `/w/${id}/apps`, {});
    expect(got).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('is announced by serverInfo', async () => {
    expect((await world.call('GET', '/api/info')).body.features.console).toBe(true);
    expect((await without.call('GET', '/api/info')).body.features.console).toBe(false);
  });
});

describe('consoleAsset', () => {
  const asset = '/console/assets/main-1a2b.js';

  it('sends files with a hash in their name to be cached for a year, and others to be checked', async () => {
    const headers = { 'content-type': 'text/javascript; charset=utf-8', vary: 'Accept-Encoding' };
    expect(await open(asset)).toMatchObject({
      status: 200,
      text: script,
      headers: { ...headers, 'cache-control': 'public, max-age=31536000, immutable' },
    });
    expect(await open('/console/icon.svg')).toMatchObject({
      status: 200,
      headers: { 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' },
    });
    const { etag } = (await open('/console/icon.svg')).headers;
    expect(await open('/console/icon.svg', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
  });

  it('sends the compressed form that the browser prefers, and none that it did not ask for', async () => {
    const response = await fetch(world.url + asset, { headers: { 'accept-encoding': 'gzip, deflate, br' } });
    expect(response.headers.get('content-encoding')).toBe('br');
    expect(await response.text()).toBe(script);
    const gzip = await open(asset, { 'accept-encoding': 'gzip' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect((await open(asset)).headers).not.toHaveProperty('content-encoding');
    expect((await open('/console/icon.svg', { 'accept-encoding': 'br' })).headers).not.toHaveProperty(
      'content-encoding',
    );
  });

  it.each([
    '/console/assets/gone-1.js',
    '/console/files.json',
    '/console/assets/../../package.json',
    '/console/%2e%2e/x',
  ])('finds nothing at %s', async (path) => expect(await open(path)).toMatchObject({ status: 404 }));
});

describe('without a built console', () => {
  it('the start page says so, and other addresses explain it', async () => {
    const start = await without.call('GET', '/', { headers: html });
    expect(start).toMatchObject({ status: 200, text: expect.stringContaining('The console is not served here.') });
    const page = await without.call('GET', `/w/${id}`, { headers: html });
    expect(page).toMatchObject({ status: 404, text: expect.stringContaining('npm run build') });
    expect((await without.call('GET', `/editor/${id}/data`)).body).toMatchObject({ code: 'console_not_built' });
    expect((await without.call('GET', '/console/assets/main-1a2b.js')).status).toBe(404);
  });

  it('a build whose files do not match its list is refused at the start', async () => {
    const damaged = build('damaged');
    writeFileSync(join(damaged, 'assets/main-1a2b.js'), 'cut');
    await expect(startSecondApp(without, { consoleFolder: damaged })).rejects.toThrow(
      'assets/main-1a2b.js is not the file that was built',
    );
  });
});
