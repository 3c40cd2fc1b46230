// Tests outbound requests over real TLS and with a real DNS server, all on loopback. 127.20.0.0/16 is allowed, and
// represents public addresses. 127.0.0.1 represents private addresses. The canary that listens on it must receive
// nothing.
import { Resolver } from 'node:dns/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Authority, type Certificate, makeAuthority } from '../../../../sandbox/src/certificates.ts';
import { type DnsAnswer, type DnsSandbox, startDnsSandbox } from '../../../../sandbox/src/dns.ts';
import { httpResponse, type OnData, type RawServer, startRawServer } from '../../../../sandbox/src/raw-server.ts';
import { parseAllowList } from './address.ts';
import { type Outbound, type OutboundRequest, openOutbound } from './outbound.ts';
import { errorType } from './outcome.ts';

const outside = '127.20.0.1';
const silentName = 'silent.outside.test';

const zone: Record<string, { A?: DnsAnswer; AAAA?: DnsAnswer }> = {
  'hook.outside.test': { A: { addresses: [outside] } },
  'other.outside.test': { A: { addresses: [outside] } },
  'second.outside.test': { A: { addresses: ['127.20.9.9', outside] } },
  'cname.outside.test': { A: { cname: 'inner.outside.test', addresses: ['127.0.0.1'] } },
  'mixed.outside.test': { A: { addresses: [outside, '127.0.0.1'] } },
  'mixed6.outside.test': { A: { addresses: [outside] }, AAAA: { addresses: ['::1'] } },
  'mapped.outside.test': { AAAA: { addresses: ['0:0:0:0:0:ffff:7f00:1'] } },
  'servfail.outside.test': { A: { code: 2 } },
  'half.outside.test': { A: { addresses: [outside] }, AAAA: { code: 2 } },
  'gone.outside.test': { A: { code: 3 }, AAAA: { code: 3 } },
  'inner.outside.test': { A: { addresses: ['127.0.0.1'], ttlSeconds: 60 } },
};

let authority: Authority;
let certificate: Certificate;
let dns: DnsSandbox;
let canary: RawServer;
let outbound: Outbound;
const receivers: RawServer[] = [];

beforeAll(async () => {
  authority = await makeAuthority();
  certificate = await authority.issue('DNS:*.outside.test', `IP:${outside}`, 'IP:127.0.0.1');
  dns = await startDnsSandbox((name, type, asked) => {
    if (name === silentName) return 'silence';
    if (name === 'rebind.outside.test') return type === 'A' ? { addresses: [asked === 0 ? outside : '127.0.0.1'] } : {};
    if (name === 'window.outside.test')
      return type === 'A' ? { addresses: [asked === 0 ? outside : '127.0.0.1'], ttlSeconds: 60 } : {};
    return zone[name]?.[type] ?? {};
  });
  canary = await receive(() => {}, { address: '127.0.0.1' });
  outbound = open();
});

afterAll(async () => {
  await outbound.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  dns.close();
  await authority.close();
});

function open(
  allow = '127.20.0.0/16',
  trust: { extraCa?: string } = { extraCa: authority.ca },
  connectMs = 5_000,
): Outbound {
  const askSandbox = () => {
    const resolver = new Resolver({ timeout: 1_000, tries: 1 });
    resolver.setServers([dns.server]);
    return resolver;
  };
  return openOutbound({ allow: parseAllowList(allow), dns: askSandbox, ...trust, connectTimeoutMs: connectMs });
}

async function receive(
  behave: OnData,
  options: { address?: string; port?: number; plain?: true } = {},
): Promise<RawServer> {
  const tls = options.plain ? undefined : certificate;
  const { address = outside, port } = options;
  const receiver = await startRawServer({ address, port, tls, onData: behave });
  receivers.push(receiver);
  return receiver;
}

const saying = (text: string) => receive((socket) => socket.write(text));

const send = (url: string, more: Partial<OutboundRequest> = {}, by = outbound) =>
  by.send({ owner: 'workspace', method: 'GET', url, timeoutMs: 15_000, maxBodyBytes: 512, ...more });

const ask = (receiver: RawServer, more?: Partial<OutboundRequest>) =>
  send(`https://hook.outside.test:${receiver.port}/path?q=1`, more);

describe('an answer', () => {
  it('has status, headers and body; the request is sent unchanged', async () => {
    const receiver = await saying(
      httpResponse('201 Created', ['X-One: a', 'Set-Cookie: b', 'Set-Cookie: c'], 'thanks'),
    );
    const got = await ask(receiver, { method: 'POST', body: '{"a":"ü"}', headers: { 'X-Service-Event': 'e' } });
    expect(got).toMatchObject({ outcome: 'answered', status: 201, truncated: false });
    if (got.outcome !== 'answered') throw new Error(got.outcome);
    expect(got.body.toString()).toBe('thanks');
    expect(got.headers).toMatchObject({ 'x-one': 'a', 'set-cookie': 'b, c' });
    const request = receiver.requests.join('');
    expect(request).toMatch(/^POST \/path\?q=1 HTTP\/1\.1\r\n/);
    expect(request).toContain(`host: hook.outside.test:${receiver.port}\r\n`);
    expect(request).toContain('X-Service-Event: e\r\n');
    expect(request).toContain('content-length: 10\r\n');
    expect(errorType(got)).toBeNull();
  });

  it('has the status that was sent: redirects are not followed, and error statuses are not failures', async () => {
    const location = `Location: https://127.0.0.1:${canary.port}/`;
    for (const status of ['301 Moved', '302 Found', '307 Temporary', '308 Permanent', '410 Gone', '500 Oh']) {
      const got = await ask(await saying(httpResponse(status, [location])));
      expect(got).toMatchObject({ outcome: 'answered', status: Number(status.slice(0, 3)) });
    }
  });

  it('is truncated at the size limit, and the rest is not read', async () => {
    const drowned = await receive((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n');
      const pour = () => socket.write(Buffer.alloc(65_536, 'x')) && !socket.destroyed && setImmediate(pour);
      socket.on('drain', pour);
      pour();
    });
    const got = await ask(drowned);
    expect(got).toMatchObject({ outcome: 'answered', status: 200, truncated: true, body: Buffer.alloc(512, 'x') });
  });

  it('is not truncated if it ends at the size limit', async () => {
    const got = await ask(await saying(httpResponse('200 OK', [], 'y'.repeat(512))));
    expect(got).toMatchObject({ outcome: 'answered', truncated: false, body: Buffer.alloc(512, 'y') });
  });

  it('comes from the second address if the first refuses connections', async () => {
    const receiver = await saying(httpResponse('200 OK'));
    const got = await send(`https://second.outside.test:${receiver.port}/`);
    expect(got).toMatchObject({ outcome: 'answered', status: 200 });
  });

  it('may come from an IP address in the URL if the certificate is valid for it', async () => {
    const receiver = await saying(httpResponse('200 OK'));
    expect(await send(`https://${outside}:${receiver.port}/`)).toMatchObject({ outcome: 'answered' });
  });

  it('comes from localhost, without asking DNS, if the operator allows loopback', async () => {
    const receiver = await startRawServer({
      address: '127.0.0.1',
      onData: (socket) => socket.write(httpResponse('200 OK')),
    });
    receivers.push(receiver);
    const url = `http://localhost:${receiver.port}/`;
    const local = open('http://127.0.0.0/8,http://::1/128');
    expect(await send(url, {}, local)).toMatchObject({ outcome: 'answered', status: 200 });
    await local.close();
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'scheme' });
    expect(await send(url.replace('http', 'https'))).toMatchObject({ outcome: 'refused', reason: 'host' });
    expect(receiver.connections).toBe(1);
  });

  it('comes over plain HTTP only from origins that the operator allows', async () => {
    const receiver = await receive((socket) => socket.write(httpResponse('200 OK')), { plain: true });
    const url = `http://hook.outside.test:${receiver.port}/`;
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'scheme' });
    const lenient = open(`http://hook.outside.test:${receiver.port}`);
    expect(await send(url, {}, lenient)).toMatchObject({ outcome: 'answered' });
    await lenient.close();
  });
});

describe('connections', () => {
  const keepAlive = () => saying(httpResponse('200 OK', ['Keep-Alive: timeout=60']));

  it('are reused only by the same owner for the same host', async () => {
    const receiver = await keepAlive();
    await ask(receiver);
    await ask(receiver);
    expect(receiver.connections).toBe(1);
    await ask(receiver, { owner: 'another workspace' });
    expect(receiver.connections).toBe(2);
    await send(`https://other.outside.test:${receiver.port}/`);
    expect(receiver.connections).toBe(3);
  });

  it('are not reused without a check: a name that now resolves to a private address is refused', async () => {
    const receiver = await keepAlive();
    const url = `https://rebind.outside.test:${receiver.port}/`;
    expect(await send(url)).toMatchObject({ outcome: 'answered' });
    expect(dns.queryCount('rebind.outside.test')).toBe(2);
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(receiver.connections).toBe(1);
  });

  it('that send a response early do not answer the next request with it', async () => {
    const poisoned = await saying(httpResponse('200 OK', [], 'first') + httpResponse('200 OK', [], 'smuggled'));
    await ask(poisoned);
    const got = await ask(poisoned);
    expect(got.outcome === 'answered' && got.body.toString()).not.toBe('smuggled');
  });

  it('are closed with the client, and requests in progress are aborted', async () => {
    const mute = await receive(() => {});
    const own = open();
    const pending = send(`https://hook.outside.test:${mute.port}/`, {}, own);
    await expect.poll(() => mute.requests.length).toBe(1);
    await own.close();
    expect(await pending).toMatchObject({ outcome: 'failed', kind: 'aborted', sent: true });
    const late = await send(`https://hook.outside.test:${mute.port}/`, {}, own);
    expect(late).toMatchObject({ outcome: 'failed', kind: 'aborted', sent: false });
  });
});

describe('addresses that are kept', () => {
  it('are connected to while they are kept, and no address that the name has got meanwhile', async () => {
    const receiver = await receive((socket) => socket.write(httpResponse('200 OK')), { port: canary.port });
    const url = `https://window.outside.test:${canary.port}/`;
    for (const owner of ['workspace', 'workspace', 'another workspace'])
      expect(await send(url, { owner })).toMatchObject({ outcome: 'answered', status: 200 });
    expect(dns.queryCount('window.outside.test')).toBe(2);
    // The cached address is public, but the name's current address is not.
    expect(await outbound.vet(url)).toEqual({ reason: 'address' });
    await pause(5_100); // addresses are cached for at most 5 seconds
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(receiver.requests).toHaveLength(3);
    expect(canary.connections).toBe(0);
  });

  it('are refused at each request if they are private', async () => {
    const url = `https://inner.outside.test:${canary.port}/`;
    for (let n = 0; n < 3; n += 1) expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(dns.queryCount('inner.outside.test')).toBe(2);
  });

  it('are checked for the port of each request, not once for the name', async () => {
    const allowed = await receive((socket) => socket.write(httpResponse('200 OK')), { address: '127.0.0.1' });
    const some = open(`inner.outside.test:${allowed.port}`);
    const asked = dns.queryCount('inner.outside.test');
    const to = (port: number) => send(`https://inner.outside.test:${port}/`, {}, some);
    expect(await to(allowed.port)).toMatchObject({ outcome: 'answered', status: 200 });
    expect(await to(canary.port)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(await to(allowed.port)).toMatchObject({ outcome: 'answered', status: 200 });
    expect(dns.queryCount('inner.outside.test')).toBe(asked + 2);
    await some.close();
  });

  it('are not used when a URL is saved', async () => {
    zone['moved.outside.test'] = { A: { addresses: ['127.0.0.1'], ttlSeconds: 60 } };
    const url = `https://moved.outside.test:${canary.port}/`;
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'address' });
    zone['moved.outside.test'] = { A: { addresses: [outside], ttlSeconds: 60 } };
    expect(await outbound.vet(url)).toHaveProperty('ok');
    expect(dns.queryCount('moved.outside.test')).toBe(4);
    // Checking a URL does not change the cache for requests either.
    expect(await send(url)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(dns.queryCount('moved.outside.test')).toBe(4);
  });
});

describe('the check before sending', () => {
  it.each(['cname', 'mixed', 'mixed6', 'mapped'])('refuses a name with any private address: %s', async (name) => {
    const url = `https://${name}.outside.test:${canary.port}/`;
    const got = await send(url);
    expect(got).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(errorType(got)).toBe('address_not_allowed');
    expect(await outbound.vet(url)).toEqual({ reason: 'address' });
  });

  it('refuses private addresses and forbidden ports in the URL itself', async () => {
    expect(await send(`https://127.0.0.1:${canary.port}/`)).toMatchObject({ outcome: 'refused', reason: 'address' });
    expect(await send('https://hook.outside.test:22/')).toMatchObject({ outcome: 'refused', reason: 'port' });
  });

  it.each<Record<string, string>>([
    { 'X-Split': 'a\r\nX-Injected: b' },
    { 'X-Nul': 'a\0b' },
    { 'X Name': 'a' },
    { 'X-Wide': 'ł' },
    { Host: 'inner' },
    { 'Transfer-Encoding': 'chunked' },
    { 'content-length': '0' },
    { Connection: 'upgrade' },
  ])('refuses headers that would change the request: %j', async (headers) => {
    const got = await send('https://hook.outside.test:8443/', { headers });
    expect(got).toMatchObject({ outcome: 'refused', reason: 'header' });
    expect(errorType(got)).toBe('protocol_error');
  });

  it('accepts a name that does not resolve yet when a URL is saved', async () => {
    expect(await outbound.vet('https://gone.outside.test/')).toHaveProperty('ok');
    expect(await outbound.vet('https://hook.outside.test:8443/')).toHaveProperty('ok');
    expect(await outbound.vet('http://hook.outside.test:8443/')).toEqual({ reason: 'scheme' });
    expect(await outbound.vet('http://hook.outside.test:8443/', { plainHttp: true })).toHaveProperty('ok');
  });
});

describe('a failure', () => {
  const failed = (kind: string, sent: boolean) => ({ outcome: 'failed', kind, sent });

  it.each(['gone', 'servfail', 'half', 'silent'])(
    'of DNS is reported as such, and the request was not sent: %s',
    async (name) => {
      const got = await send(`https://${name}.outside.test:${canary.port}/`);
      expect(got).toMatchObject(failed('dns', false));
      expect(errorType(got)).toBe('dns_error');
    },
  );

  it('to connect means that the request was not sent', async () => {
    const got = await send('https://hook.outside.test:8446/');
    expect(got).toMatchObject(failed('refused', false));
    expect(errorType(got)).toBe('connection_refused');
  });

  it('of TLS means that the request was not sent: unknown authority, another name, no TLS at all', async () => {
    const receiver = await saying(httpResponse('200 OK'));
    const strict = open('127.20.0.0/16', {});
    const unknown = await send(`https://hook.outside.test:${receiver.port}/`, {}, strict);
    expect(unknown).toMatchObject(failed('tls', false));
    expect(errorType(unknown)).toBe('tls_error');
    await strict.close();
    zone['elsewhere.test'] = { A: { addresses: [outside] } };
    expect(await send(`https://elsewhere.test:${receiver.port}/`)).toMatchObject(failed('tls', false));
    const plain = await receive((socket) => socket.write(httpResponse('200 OK')), { plain: true });
    expect(await ask(plain)).toMatchObject(failed('tls', false));
    expect(receiver.requests).toEqual([]);
  });

  it('of a handshake that never ends is reported within the connect timeout', async () => {
    const mute = await receive(() => {}, { plain: true });
    const hasty = open('127.20.0.0/16', {}, 300);
    const got = await send(`https://hook.outside.test:${mute.port}/`, {}, hasty);
    expect(got).toMatchObject(failed('timeout', false));
    expect(got.ms).toBeLessThan(10_000);
    await hasty.close();
  });

  it('after sending says that the request may have arrived: no response, a reset, a slow response', async () => {
    const silent = await ask(await receive(() => {}), { timeoutMs: 1_500 });
    expect(silent).toMatchObject(failed('timeout', true));
    expect(errorType(silent)).toBe('timeout');
    const cutOff = await ask(await receive((socket) => socket.destroy()));
    expect(cutOff).toMatchObject(failed('reset', true));
    expect(errorType(cutOff)).toBe('connection_reset');
    const drip = (text: string) =>
      receive((socket) => {
        socket.write(text);
        const timer = setInterval(() => socket.write('x'), 20);
        socket.on('close', () => clearInterval(timer));
      });
    expect(await ask(await drip('HTTP/1.1 200 OK\r\nX-Slow: '), { timeoutMs: 1_500 })).toMatchObject(
      failed('timeout', true),
    );
    const slowBody = await ask(await drip('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n'), { timeoutMs: 1_500 });
    expect(slowBody).toMatchObject(failed('timeout', true));
  });

  it('is reported for a response that violates the protocol or has too many headers', async () => {
    const oddities = [
      'hello there\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nX-Bare: a\rb\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ];
    for (const text of oddities) {
      const got = await ask(await saying(text));
      expect(got, text).toMatchObject(failed('protocol', true));
      expect(errorType(got)).toBe('protocol_error');
    }
    const headers = Array.from({ length: 2_000 }, (_, n) => `X-${n}: ${'v'.repeat(20)}`);
    expect(await ask(await saying(httpResponse('200 OK', headers)))).toMatchObject(failed('too_large', true));
  });

  it("is reported if the caller's signal aborts the request, before or after sending", async () => {
    const mute = await receive(() => {});
    const signal = AbortSignal.abort();
    expect(await ask(mute, { signal })).toMatchObject(failed('aborted', false));
    const stopping = new AbortController();
    const pending = ask(mute, { signal: stopping.signal });
    await expect.poll(() => mute.requests.length).toBe(1);
    stopping.abort();
    expect(await pending).toMatchObject(failed('aborted', true));
    expect(errorType(await pending)).toBe('timeout');
  });
});

describe('the environment', () => {
  it('can neither route requests through a proxy nor disable certificate checks', async () => {
    const proxy = `http://127.0.0.1:${canary.port}`;
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) vi.stubEnv(name, proxy);
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const receiver = await saying(httpResponse('200 OK'));
    expect(await ask(receiver)).toMatchObject({ outcome: 'answered' });
    zone['elsewhere.test'] = { A: { addresses: [outside] } };
    const url = `https://elsewhere.test:${receiver.port}/`;
    expect(await send(url)).toMatchObject({ outcome: 'failed', kind: 'tls' });
    vi.unstubAllEnvs();
  });
});

describe('the canary on a private address', () => {
  it('received no connection during these tests, and receives one if its address is allowed', async () => {
    await pause(100);
    expect(canary.connections).toBe(0);
    const lenient = open('127.0.0.0/8');
    await send(`https://127.0.0.1:${canary.port}/`, { timeoutMs: 3_000 }, lenient);
    await lenient.close();
    expect(canary.requests.length).toBe(1);
  });
});
