// Tests published apps' headers, using a real server and the client for outgoing requests.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWebhookEndpoint, type WebhookEndpoint } from '../../../../../sandbox/src/webhook-endpoint.ts';
import { parseAllowList } from '../../../kit/outbound/address.ts';
import { type Outbound, openOutbound } from '../../../kit/outbound/outbound.ts';
import { scanHeaders } from './headers.ts';
import { judgeHeaders } from './judge.ts';

const good = {
  'content-security-policy':
    "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
};
type Name = keyof typeof good;
const flagsWith = (change: Partial<Record<Name, string | undefined>>) => {
  const all: Record<string, string | undefined> = { ...good, ...change };
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return judgeHeaders(Object.fromEntries(sent)).map(({ flag }) => flag);
};

describe('the six headers', () => {
  it('are fine as recommended', () => {
    expect(flagsWith({})).toEqual([]);
    const recommended = judgeHeaders({}).map((item) => [item.header_name.toLowerCase(), item.recommended_value]);
    expect(recommended).toHaveLength(6);
    expect(judgeHeaders(Object.fromEntries(recommended))).toEqual([]);
  });

  it.each<[string, Name, string | undefined]>([
    ['csp', 'content-security-policy', undefined],
    ['csp', 'content-security-policy', "script-src 'self' 'unsafe-inline'; object-src 'none'; frame-ancestors 'self'"],
    ['csp', 'content-security-policy', "script-src 'self' 'unsafe-eval'; object-src 'none'; frame-ancestors 'self'"],
    ['csp', 'content-security-policy', "default-src *; frame-ancestors 'self'"],
    ['csp', 'content-security-policy', "default-src 'self'; script-src https: ; frame-ancestors 'self'"],
    ['csp', 'content-security-policy', "img-src 'self'; frame-ancestors 'self'"],
    ['csp', 'content-security-policy', "script-scr 'self'; frame-ancestors 'self'"],
    ['hsts', 'strict-transport-security', undefined],
    ['hsts', 'strict-transport-security', 'max-age=0'],
    ['hsts', 'strict-transport-security', 'max-age=86400; includeSubDomains'],
    ['hsts', 'strict-transport-security', 'includeSubDomains; preload'],
    ['hsts', 'strict-transport-security', 'max-age=; preload'],
    ['frame_options', 'content-security-policy', "default-src 'self'; frame-ancestors *"],
    ['frame_options', 'content-security-policy', "default-src 'self'; frame-ancestors 'self' https:"],
    ['content_type_options', 'x-content-type-options', undefined],
    ['content_type_options', 'x-content-type-options', 'no-sniff'],
    ['referrer_policy', 'referrer-policy', undefined],
    ['referrer_policy', 'referrer-policy', 'unsafe-url'],
    ['referrer_policy', 'referrer-policy', 'same-origin, no-referrer-when-downgrade'],
    ['referrer_policy', 'referrer-policy', 'none'],
    ['permissions_policy', 'permissions-policy', undefined],
    ['permissions_policy', 'permissions-policy', "camera 'none'; microphone 'none'"],
    ['permissions_policy', 'permissions-policy', 'camera=*, microphone=()'],
    ['permissions_policy', 'permissions-policy', 'camera=(self *)'],
  ])('are reported as %s with %s: %s', (flag, name, value) => {
    expect(flagsWith({ [name]: value })).toEqual([flag]);
  });

  it.each<[Name, string | undefined]>([
    [
      'content-security-policy',
      "script-src 'nonce-8fJ2kQ0vXl3T' 'strict-dynamic' 'unsafe-inline' https:; object-src 'none'; base-uri 'none'",
    ],
    ['content-security-policy', "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'unsafe-inline'"],
    ['content-security-policy', "sandbox allow-scripts, default-src 'self'; base-uri 'none'"],
    ['content-security-policy', "Default-Src 'none' ;Script-Src  'self';; BASE-URI 'none'"],
    ['strict-transport-security', 'max-age=15552000'],
    ['strict-transport-security', 'Max-Age="63072000" ; INCLUDESUBDOMAINS'],
    ['x-frame-options', 'sameorigin'],
    ['x-frame-options', undefined],
    ['x-content-type-options', 'NoSniff'],
    ['referrer-policy', 'unsafe-url, strict-origin'],
    ['permissions-policy', 'camera=(self "https://a.example"), fullscreen=*, geolocation=self'],
  ])('are fine with %s: %s', (name, value) => {
    expect(flagsWith({ [name]: value })).toEqual([]);
  });

  it.each([undefined, 'ALLOWALL', 'ALLOW-FROM https://a.example'])('report frames with X-Frame-Options %s', (value) => {
    const policy = "default-src 'self'";
    expect(flagsWith({ 'content-security-policy': policy, 'x-frame-options': value })).toEqual(['frame_options']);
  });

  it('are judged in little time, however long they are', () => {
    const before = process.cpuUsage();
    const long = [
      'a'.repeat(32_000),
      'script-src '.repeat(3_000),
      "'self' ".repeat(5_000),
      '(,'.repeat(16_000),
      '*.'.repeat(16_000),
    ];
    for (const text of long) {
      for (const name of Object.keys(good)) {
        const items = judgeHeaders({ ...good, [name]: text });
        expect(JSON.stringify(items).length).toBeLessThan(10_000);
      }
    }
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(3_000);
  });
});

describe('scanHeaders', () => {
  let app: WebhookEndpoint;
  let outbound: Outbound;
  beforeAll(async () => {
    app = await startWebhookEndpoint({ address: '127.0.0.1' });
    outbound = openOutbound({ allow: parseAllowList('127.0.0.0/8') });
  });
  afterAll(async () => {
    await outbound.close();
    await app.close();
  });
  const scan = (url = `http://127.0.0.1:${app.port}/`) =>
    scanHeaders({ outbound, owner: 'w', connect: ['https://api.example'] }, url);

  it('judges what the app answers with', async () => {
    app.respond = () => ({ headers: { ...good, 'referrer-policy': 'unsafe-url' } });
    expect(await scan()).toMatchObject({
      coverage: { value: 'ran' },
      items: [{ flag: 'referrer_policy', header_name: 'Referrer-Policy', current_value: 'unsafe-url' }],
    });
  });

  it('recommends a policy that lets the app call the API', async () => {
    app.respond = () => ({});
    const { items } = await scan();
    expect(items.find(({ flag }) => flag === 'csp')?.recommended_value).toContain(
      "connect-src 'self' https://api.example;",
    );
    expect(items.map(({ current_value }) => current_value)).toEqual(Array(6).fill(null));
  });

  it('follows redirects within the app, and not to other sites', async () => {
    app.respond = ({ path }) => (path === '/' ? { status: 307, headers: { location: './home/' } } : { headers: good });
    expect(await scan()).toEqual({ coverage: { value: 'ran' }, items: [] });
    app.respond = () => ({ status: 302, headers: { ...good, location: 'https://other.example/' } });
    expect(await scan()).toEqual({ coverage: { value: 'ran' }, items: [] });
    app.respond = () => ({ status: 302, headers: { location: '/again' } });
    expect(await scan()).toMatchObject({ coverage: { value: 'skipped' } });
  });

  it.each([401, 404, 503])('is skipped if the app answers %i', async (status) => {
    app.respond = () => ({ status });
    expect(await scan()).toEqual({ coverage: { value: 'skipped', reason: 'offline' }, items: [] });
  });

  it('is skipped if nobody answers, or the address is private', async () => {
    const skipped = { coverage: { value: 'skipped', reason: 'offline' }, items: [] };
    expect(await scan('http://127.0.0.1:1/')).toEqual(skipped);
    expect(await scan('http://10.0.0.1/')).toEqual(skipped);
  });
});
