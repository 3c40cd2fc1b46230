// Tests the proxies of deploy/proxy in front of a real installation: what each must pass on, and what it must not.
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import { commandLine } from '../e2e/command.ts';
import { startInstallation } from '../e2e/installation.ts';
import {
  clientAddress,
  openOverHttp1,
  readCertificate,
  sendBeforeReading,
  sendOverHttp1,
  sendOverHttp2,
  sendPlain,
  startRelay,
} from './clients.ts';
import { names, type RunningProxy, readConfiguration, startProxy } from './proxies.ts';

const host = 'plinth.localhost';
const appsDomain = 'apps.localhost';
const internalPort = await freePort();
const { url, owner, manage, publish } = await startInstallation({
  BASE_URL: `https://${host}`,
  APPS_DOMAIN: appsDomain,
  TRUSTED_PROXIES: '127.0.0.1',
  INTERNAL_PORT: String(internalPort),
});
const authority = await makeAuthority();
const certificate = await authority.issue(`DNS:${host}`, `DNS:*.${appsDomain}`);
afterAll(() => authority.close());

const shop = await publish(new Map([['dist/index.html', 'the shop']]));
const shopHost = new URL(shop.url).hostname;
const longPolicy = (length: number) =>
  `default-src 'self'; img-src ${'https://images.example '.repeat(length)}`.slice(0, length).trim();
await manage('PATCH', `/api/apps/${shop.id}/security/settings`, {
  headers: { csp: longPolicy(8_000), permissions_policy: `geolocation=(${'"https://maps.example" '.repeat(150)})` },
});

const bearer = { authorization: `Bearer ${owner}` };
const megabyte = 1_000_000;

describe.each(names)('%s', async (name) => {
  const relay = await startRelay(Number(new URL(url).port));
  const upstream = { host, appsDomain, apiPort: relay.port, internalPort };
  const proxy = await startProxy(name, upstream, { ca: authority.ca, certificate });
  const senders = [
    ['HTTP/1.1', sendOverHttp1],
    ['HTTP/2', sendOverHttp2],
  ] as const;

  describe.each(senders)('over %s', (_version, send) => {
    it('passes on bodies of 9 MB', async () => {
      const app = await manage('POST', '/api/apps', { name: 'Large' });
      const files = Array.from({ length: 9 }, (_, n) => ({ path: `dist/${n}.txt`, content: 'x'.repeat(megabyte) }));
      const message = { host, path: `/api/apps/${app.id}/files`, headers: bearer, body: JSON.stringify({ files }) };
      const got = await send(proxy, { ...message, method: 'PUT' });
      expect([got.status, JSON.parse(got.text).created?.length]).toEqual([200, 9]);
    });

    it('passes on headers with underscores', async () => {
      const got = await send(proxy, { host, path: '/api/workspace', headers: { api_key: owner } });
      expect([got.status, JSON.parse(got.text).name]).toEqual([200, 'Ours']);
    });

    it('passes on a header of 20 KB, and 28 KB of headers', async () => {
      const headers = { ...bearer, 'x-long': 'a'.repeat(20_000), 'x-longer': 'b'.repeat(8_000) };
      expect((await send(proxy, { host, path: '/api/workspace', headers })).status).toBe(200);
    });

    it('passes on answers with 11 KB of headers', async () => {
      const got = await send(proxy, { host: shopHost, path: '/' });
      expect([got.status, got.text]).toEqual([200, 'the shop']);
      expect(String(got.headers['content-security-policy']).length).toBeGreaterThan(7_900);
      expect(String(got.headers['permissions-policy']).length).toBeGreaterThan(3_000);
    });

    it('passes on Host as it was sent, says who called and that it was by https, and adds no header to the answer twice', async () => {
      const path = `/healthz?${crypto.randomUUID()}`;
      const got = await send(proxy, { host, path, headers: { 'x-forwarded-for': '198.51.100.7' } });
      expect(got.status).toBe(200);
      const head = relay.sent().split(`GET ${path} HTTP/1.1\r\n`)[1]?.split('\r\n\r\n')[0]?.toLowerCase().split('\r\n');
      expect(head).toContain(`host: ${host}:${proxy.port}`);
      expect(head).toContain('x-forwarded-proto: https');
      expect(head?.filter((line) => line.startsWith('x-forwarded-for:'))).toEqual([
        `x-forwarded-for: ${clientAddress}`,
      ]);
      expect(got.headers['strict-transport-security']).toMatch(/^max-age=\d+$/);
    });

    it('tells the API the address of the caller, whatever the caller says', async () => {
      const forged = { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7', 'x-real-ip': '198.51.100.7' };
      const body = JSON.stringify({ name: 'From somewhere' });
      const got = await send(proxy, {
        host,
        path: '/api/apps',
        method: 'POST',
        headers: { ...bearer, ...forged },
        body,
      });
      expect(got.status).toBe(200);
      const app_id = JSON.parse(got.text).id;
      const readEntry = async () => {
        const { items } = await manage('GET', '/api/workspace/audit-log?type=app.created&limit=50');
        return items.find((entry: { app_id: string }) => entry.app_id === app_id);
      };
      await expect.poll(readEntry).toMatchObject({ ip: clientAddress });
    });

    it.each([
      ['POST', '/api/apps', 413],
      ['POST', '/api/nowhere', 404],
    ])('passes on the answer to an upload that is refused: %s %s', async (method, path, status) => {
      const body = Buffer.alloc(9 * megabyte);
      for (let n = 0; n < 5; n += 1)
        expect((await send(proxy, { host, method, path, headers: bearer, body })).status).toBe(status);
    });
  });

  it('passes on the answer to a refused upload, if the client reads nothing before it has sent everything', async () => {
    const message = { host, method: 'POST', path: '/api/nowhere', body: Buffer.alloc(9 * megabyte) };
    expect(await sendBeforeReading(proxy, message)).toMatch(/^HTTP\/1.1 404 /);
  });

  it('passes on the first event of a stream before the second is written', async () => {
    const app = await manage('POST', '/api/apps', { name: 'Followed' });
    const stream = await openOverHttp1(proxy, { host, path: `/api/apps/${app.id}/chat/events`, headers: bearer });
    let received = '';
    stream.setEncoding('utf8').on('data', (chunk) => {
      received += chunk;
    });
    await expect.poll(() => received).toContain(`data: {"revision":${app.revision}}`);
    await manage('PUT', `/api/apps/${app.id}/files`, { files: [{ path: 'dist/index.html', content: 'next' }] });
    await expect.poll(() => received).toContain(`data: {"revision":${app.revision + 1}}`);
    stream.destroy();
  });

  it('waits for answers that take as long as any of the API', () => {
    const limit = {
      Caddy: 'response_header_timeout 660s',
      nginx: 'proxy_read_timeout 660s;',
      HAProxy: 'timeout server 660s',
    };
    expect(readConfiguration(name)).toContain(limit[name]);
  });

  it('redirects plain HTTP', async () => {
    for (const [to, path] of [
      [host, '/login?a=b'],
      [shopHost, '/a'],
    ] as const) {
      const { status, headers } = await sendPlain(proxy, { host: to, path, method: 'POST' });
      expect([status, headers.location]).toEqual([308, `https://${to}${path}`]);
    }
  });

  it('keeps the internal port to itself', async () => {
    const got = await sendOverHttp1(proxy, { host, path: `/internal/tls?domain=${host}` });
    expect(got.status).toBe(404);
  });

  it('is all right, as `plinth doctor` says', async () => {
    expect(await diagnose(proxy)).toMatchObject({
      outcome: 'works',
      message: 'It passes on bodies of 9 MB and headers with underscores.',
    });
  });

  if (name === 'Caddy') describe('gets certificates', () => describeCertificates(proxy));
});

describe('an nginx with default settings', async () => {
  const upstream = { host, appsDomain, apiPort: Number(new URL(url).port), internalPort };
  const configuration = readConfiguration('nginx').replace(
    /^ *(underscores_in_headers|client_max_body_size) .*$/gm,
    '',
  );
  const proxy = await startProxy('nginx', upstream, { ca: authority.ca, certificate }, configuration);

  it('is not all right, and `plinth doctor` says what it refuses', async () => {
    const { outcome, message } = await diagnose(proxy);
    expect(outcome).toBe('broken');
    expect(message).toMatch(/^It drops headers with underscores, .* It refuses bodies of 9 MB, /);
  });
});

it('`plinth doctor` says that nothing answers at BASE_URL', async () => {
  const { outcome, message } = await diagnose({ port: await freePort() });
  expect([outcome, message]).toEqual(['broken', expect.stringMatching(/can't be reached through .*ECONNREFUSED/)]);
});

/** Returns what `plinth doctor` says about the proxy. */
async function diagnose({ port }: Pick<RunningProxy, 'port'>): Promise<{ outcome: string; message: string }> {
  const { plinth } = commandLine({ BASE_URL: `https://${host}:${port}` });
  const { stdout } = await plinth('doctor', '--json').catch((failed: { stdout: string }) => failed);
  const { checks } = JSON.parse(stdout);
  return checks.find(({ part }: { part: string }) => part === 'proxy');
}

function describeCertificates(proxy: RunningProxy): void {
  it('for published apps and for no other host', async () => {
    expect((await readCertificate(proxy, shopHost)).subjectaltname).toBe(`DNS:${shopHost}`);
    for (const unknown of [`nobody.${appsDomain}`, appsDomain, `x.${shopHost}`, 'elsewhere.example'])
      await expect(readCertificate(proxy, unknown), unknown).rejects.toThrow('alert internal error');
  });

  it('for an app once it is published', async () => {
    const app = await manage('POST', '/api/apps', { name: 'New' });
    const later = `${app.slug}.${appsDomain}`;
    await expect(readCertificate(proxy, later)).rejects.toThrow('alert internal error');
    await publish(new Map([['dist/index.html', 'new']]), app);
    expect(await sendOverHttp1(proxy, { host: later, path: '/' })).toMatchObject({ status: 200, text: 'new' });
  });

  it('for a preview', async () => {
    const app = await manage('POST', '/api/apps', { name: 'Previewed' });
    await manage('PUT', `/api/apps/${app.id}/files`, { files: [{ path: 'dist/index.html', content: '<p>draft' }] });
    const { hostname } = new URL((await manage('POST', `/api/apps/${app.id}/previews`, {})).url);
    expect((await sendOverHttp1(proxy, { host: hostname, path: '/' })).text).toContain('<p>draft');
  });
}
