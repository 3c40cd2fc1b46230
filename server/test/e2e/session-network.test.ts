// Tests which addresses a page in a browser session can reach: the app, the resources that the app needs, public
// addresses, and nothing else, whichever way the page tries.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { createDestinations } from '../../src/gateways/browser/session/destinations.ts';
import { openBrowserSessions } from '../../src/gateways/browser/session/index.ts';
import { startProxy } from '../../src/gateways/browser/session/proxy.ts';
import type { DnsClient } from '../../src/kit/outbound/resolve.ts';
import { renderVectors, startVictim, vectorFiles, vectors } from './page-vectors.ts';
import { act, collectFailures, openSession, servePages } from './session-pages.ts';

/** An unassigned address, so no test connects to a real host. */
const publicAddress = '2a0f:ffff:1234::1';

/** Resolves a name to the next of its addresses with each query, and then keeps returning the last address. */
function fakeDns(names: Record<string, string[]>) {
  const questions: string[] = [];
  const answer = async (host: string, family: 4 | 6) => {
    if (family === 4) questions.push(host);
    const addresses = names[host] ?? [];
    const at = Math.min(questions.filter((each) => each === host).length, addresses.length) - 1;
    const address = addresses[Math.max(0, at)];
    const isOfFamily = address !== undefined && address.includes(':') === (family === 6);
    if (!isOfFamily) throw Object.assign(new Error('no data'), { code: 'ENODATA' });
    return [{ address, ttl: 0 }];
  };
  const client: DnsClient = {
    resolve4: (host) => answer(host, 4),
    resolve6: (host) => answer(host, 6),
    cancel: () => {},
  };
  return { questions, openDns: () => client };
}

const { settings } = collectFailures();
const dns = fakeDns({
  'rebind.example.com': [publicAddress, '127.0.0.1'],
  'private.example.com': ['127.0.0.1'],
  'mixed.example.com': ['10.0.0.7'],
});
const sessions = openBrowserSessions(settings, { openDns: dns.openDns });
afterAll(() => sessions.close());

/** Vectors that exist only in sessions, not in the other gateway's page checks. */
const moreVectors = (port: string): Record<string, string> => ({
  redirect: `fetch('/redirect', { mode: 'no-cors' })`,
  'redirect-image': `add('img', { src: '/redirect?image' })`,
  'name-of-private': `add('img', { src: 'http://private.example.com:${port}/name-of-private' })`,
  'socket-of-private': `new WebSocket('ws://private.example.com:${port}/socket-of-private')`,
  'tls-of-private': `fetch('https://private.example.com:${port}/tls-of-private')`,
  rebinding: `(async () => { for (let i = 0; i < 5; i++)
    await fetch('http://rebind.example.com:${port}/rebinding', { mode: 'no-cors' }).catch(() => {}) })()`,
  'rebinding-socket': `setTimeout(() => new WebSocket('ws://rebind.example.com:${port}/rebinding-socket'), 300)`,
  'dotted-localhost': `add('img', { src: 'http://localhost.:${port}/dotted-localhost' })`,
  'below-localhost': `add('img', { src: 'http://other.localhost:${port}/below-localhost' })`,
  'short-address': `add('img', { src: 'http://127.1:${port}/short-address' })`,
  'hex-address': `add('img', { src: 'http://0x7f000001:${port}/hex-address' })`,
  'six-address': `add('img', { src: 'http://[::1]:${port}/six-address' })`,
  'credentials-in-url': `add('img', { src: 'http://app.localhost@127.0.0.1:${port}/credentials-in-url' })`,
  window: `window.open('http://127.0.0.1:${port}/window')`,
});

it('a page reaches no address of the machine, but those that are allowed', async () => {
  const victim = await startVictim();
  const { port } = new URL(victim.url);
  const more = Object.values(moreVectors(port)).map((script) => `try { ${script} } catch {}`);
  const page = renderVectors(victim.url).replace('</script>', `${more.join('\n')}\n</script>`);
  const redirect = (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(302, { location: `${victim.url}/redirect` }).end();
  const app = await servePages({
    ...vectorFiles(victim.url),
    '/': page,
    '/redirect': redirect,
    '/redirect?image': redirect,
  });
  expect(Object.keys(vectors).length + more.length).toBeGreaterThanOrEqual(25);

  // A vector that does not work when it is allowed would prove nothing when it is blocked.
  const allowed = await openSession(sessions, { url: app.url, alsoAllowed: [victim.url] });
  await act(allowed, { action: 'open', path: '/' });
  const byOtherNames = ['localhost', 'any-address', 'decimal-address', 'mapped-address', 'prefetch', 'stun', 'turn'];
  const mustArrive = [...Object.keys(vectors).filter((name) => !byOtherNames.includes(name)), 'redirect', 'window'];
  await expect.poll(() => mustArrive.filter((name) => !victim.reached.has(name))).toEqual([]);
  expect(victim.datagrams).toBe(0);
  await allowed.close();
  victim.forget();
  dns.questions.length = 0;

  const refused = await openSession(sessions, { url: app.url });
  await act(refused, { action: 'open', path: '/' });
  await expect.poll(() => refused.evidence().blocked).toContain(`private.example.com:${port}`);
  await expect.poll(() => dns.questions).toContain('rebind.example.com');
  await wait(1_500); // for late requests
  expect([victim.connections, victim.datagrams, [...victim.reached]]).toEqual([0, 0, []]);
  const { blocked, console_errors, page_errors, network_failures } = refused.evidence();
  expect(blocked).toEqual(
    expect.arrayContaining([`127.0.0.1:${port}`, `localhost:${port}`, `::1:${port}`, `other.localhost:${port}`]),
  );
  expect(dns.questions.filter((name) => name === 'rebind.example.com')).toHaveLength(1);
  // Requests that we blocked are not reported as the page's faults.
  const faults = [...console_errors, ...page_errors].map(({ text: fault }) => fault);
  expect(faults.filter((fault) => fault.includes('127.0.0.1'))).toEqual([]);
  expect(network_failures.filter(({ url }) => url.includes('127.0.0.1'))).toEqual([]);
  await refused.close();
  await victim.close();
  app.close();
});

describe('a destination', () => {
  const destinations = () => createDestinations(['http://app.localhost:4321', 'https://10.1.2.3:8443'], dns.openDns);

  it.each([
    ['app.localhost', 4321, '127.0.0.1'],
    ['10.1.2.3', 8443, '10.1.2.3'],
    ['8.8.8.8', 443, '8.8.8.8'],
    ['rebind.example.com', 443, publicAddress],
  ])('%s:%i is allowed', async (host, port, address) => {
    dns.questions.length = 0;
    expect(await destinations().find({ host, port })).toEqual({ address });
  });

  it.each([
    ['app.localhost', 4322],
    ['app.localhost.', 4321],
    ['10.1.2.3', 443],
    ['localhost', 4321],
    ['127.0.0.1', 4321],
    ['0.0.0.0', 4321],
    ['::1', 4321],
    ['::ffff:127.0.0.1', 4321],
    ['64:ff9b::7f00:1', 4321],
    ['169.254.169.254', 80],
    ['192.168.0.1', 80],
    ['100.64.0.1', 80],
    ['metadata.google.internal', 80],
    ['private.example.com', 443],
    ['mixed.example.com', 443],
    ['8.8.8.8', 6379],
    ['8.8.8.8', 22],
    ['redis', 8080],
  ])('%s:%i is blocked, and noted', async (host, port) => {
    const all = destinations();
    expect(await all.find({ host, port })).toBe('blocked');
    expect(all.listBlocked()).toEqual([`${host}:${port}`]);
  });

  it('that has no address is not blocked: nothing was refused', async () => {
    const all = destinations();
    expect(await all.find({ host: 'nothing.example.com', port: 443 })).toEqual({ address: undefined });
    expect(all.listBlocked()).toEqual([]);
  });

  it('is found once, however often it is asked for', async () => {
    dns.questions.length = 0;
    const all = destinations();
    for (const port of [443, 443, 8443])
      expect(await all.find({ host: 'rebind.example.com', port })).toEqual({ address: publicAddress });
    expect(dns.questions).toEqual(['rebind.example.com']);
  });
});

describe('the proxy', () => {
  async function startOrigin() {
    const server = createServer((request, response) => {
      response.setHeader(
        'x-seen',
        JSON.stringify([request.url, request.headers.host, request.headers['proxy-connection']]),
      );
      request.pipe(response);
    });
    server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nupgraded'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: (server.address() as AddressInfo).port, close: () => server.close() };
  }

  async function send(port: number, request: string): Promise<string> {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(request);
    return text(socket).catch(() => '');
  }

  it('passes requests, tunnels and upgrades on to allowed origins, and refuses all others', async () => {
    const origin = await startOrigin();
    const host = `app.localhost:${origin.port}`;
    const proxy = await startProxy(createDestinations([`http://${host}`]), () => {});
    const head = `Host: elsewhere\r\nConnection: close\r\nProxy-Connection: x`;
    const posted = await send(
      proxy.port,
      `POST http://${host}/a?b HTTP/1.1\r\n${head}\r\nContent-Length: 4\r\n\r\nbody`,
    );
    expect(posted).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(posted).toContain(`x-seen: ["/a?b","${host}",null]`);
    expect(posted).toMatch(/body/);
    const tunnelled = await send(
      proxy.port,
      `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(tunnelled).toMatch(/^HTTP\/1.1 200 Connection Established\r\n\r\nHTTP\/1.1 200 OK/);
    const upgraded = await send(
      proxy.port,
      `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`,
    );
    expect(upgraded).toMatch(/^HTTP\/1.1 101 .*upgraded$/s);
    const other = `127.0.0.1:${origin.port}`;
    for (const line of [
      `GET http://${other}/ HTTP/1.1`,
      `CONNECT ${other} HTTP/1.1`,
      `GET / HTTP/1.1`,
      `GET ftp://${host}/ HTTP/1.1`,
      `CONNECT ${host}@${other} HTTP/1.1`,
      `CONNECT ${other}/ HTTP/1.1`,
      `GET http://${host}@${other}/ HTTP/1.1`,
    ])
      expect(await send(proxy.port, `${line}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`), line).toMatch(
        /^HTTP\/1.1 403/,
      );
    proxy.close();
    origin.close();
  });

  it('ends when its requests or bytes are used up, and says which', async () => {
    const origin = await startOrigin();
    const url = `http://app.localhost:${origin.port}/`;
    const reached: string[] = [];
    const limits = { connections: 10, requests: 2, bytes: 10_000 };
    const get = `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const few = await startProxy(createDestinations([url]), (limit) => void reached.push(limit), limits);
    const answers = [await send(few.port, get), await send(few.port, get), await send(few.port, get)];
    expect(answers.map((answer) => answer.slice(0, 12))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', '']);
    const small = await startProxy(createDestinations([url]), (limit) => void reached.push(limit), limits);
    const body = 'x'.repeat(5_000_000);
    const large = await send(small.port, `POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n${body}`);
    expect(large.length).toBeLessThan(5_000_000);
    expect(reached).toEqual(['requests', 'bytes']);
    for (const proxy of [few, small]) proxy.close();
    origin.close();
  });
});
