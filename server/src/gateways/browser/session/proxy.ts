// A session's only network access: a proxy on loopback that connects only to the addresses that `destinations`
// finds, and counts the data it forwards.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../../../kit/outbound/address.ts';
import { dial } from '../../../kit/outbound/dial.ts';
import { type Destinations, endpointOf } from './destinations.ts';

export interface SessionProxy {
  readonly port: number;
  close(): void;
}

export interface ProxyLimits {
  readonly connections: number;
  /** The total number of requests and tunnels. */
  readonly requests: number;
  /** The total number of bytes in both directions. */
  readonly bytes: number;
}

const defaultLimits: ProxyLimits = { connections: 128, requests: 20_000, bytes: 512 * 1024 ** 2 };
const connectTimeoutMs = 10_000;
const forbidden = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** Headers that apply to a connection, not to the request. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** `onLimit` is called once, when a limit is reached. After that, nothing is forwarded. */
export async function startProxy(
  destinations: Destinations,
  onLimit: (limit: keyof ProxyLimits) => void,
  limits: ProxyLimits = defaultLimits,
): Promise<SessionProxy> {
  const sockets = new Set<Duplex>();
  let [requests, bytes, isExhausted] = [0, 0, false];

  function exhaust(limit: keyof ProxyLimits): void {
    if (!isExhausted) onLimit(limit);
    isExhausted = true;
    closeAll();
  }

  function closeAll(): void {
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  }

  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limits.bytes) exhaust('bytes');
  };

  /** Counts the data that the socket receives, and closes the socket when the proxy closes. */
  function track(socket: Duplex): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', count);
  }

  function admit(socket: Duplex): boolean {
    requests += 1;
    if (requests > limits.requests) exhaust('requests');
    if (isExhausted) socket.destroy();
    return !isExhausted;
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!admit(request.socket)) return;
    const url = parseTarget(request.url);
    const destination = url === undefined ? 'blocked' : await destinations.find(endpointOf(url));
    if (url === undefined || destination === 'blocked') return void response.writeHead(403).end();
    // The page sees a failed connection, as it would without a proxy.
    if (destination.address === undefined) return void request.socket.destroy();
    exchange(request, response, url, destination.address);
  }

  function exchange(request: IncomingMessage, response: ServerResponse, url: URL, address: string): void {
    const fail = () => void request.socket.destroy();
    const outgoing = requestHttp({
      host: address,
      port: endpointOf(url).port,
      method: request.method,
      path: url.pathname + url.search,
      headers: [...withoutHopHeaders(request.rawHeaders, 'host'), 'Host', url.host],
      setHost: false,
      agent: false,
      timeout: 0,
    });
    outgoing.on('socket', track).on('error', fail);
    outgoing.on('response', (answer) => {
      answer.on('error', fail);
      try {
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutHopHeaders(answer.rawHeaders));
        answer.pipe(response);
      } catch {
        fail(); // Node rejects one of the headers
      }
    });
    response.once('close', () => outgoing.destroy());
    request.on('data', count).pipe(outgoing);
  }

  /** `firstBytes` is sent to the other side before anything else. */
  async function tunnel(client: Socket, to: Endpoint | undefined, greeting: string, firstBytes: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    if (!admit(client)) return;
    const destination = to === undefined ? 'blocked' : await destinations.find(to);
    if (to === undefined || destination === 'blocked') return void client.end(forbidden);
    const { address } = destination;
    if (address === undefined) return void client.destroy();
    const options = { address, ...to, secureContext: undefined, timeoutMs: connectTimeoutMs };
    const origin = await dial(options).catch(() => undefined);
    if (origin === undefined || client.destroyed || isExhausted) {
      origin?.destroy();
      return void client.destroy();
    }
    track(origin);
    client.once('close', () => origin.destroy());
    origin.once('close', () => client.destroy());
    if (greeting !== '') client.write(greeting);
    if (firstBytes.length > 0) origin.write(firstBytes);
    client.on('data', count);
    origin.pipe(client).pipe(origin);
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => request.socket.destroy()); // Node rejects one of the headers
  });
  server.maxConnections = limits.connections;
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    void tunnel(client, parseAuthority(request.url), 'HTTP/1.1 200 Connection Established\r\n\r\n', head);
  });
  server.on('upgrade', (request: IncomingMessage, client: Socket, head: Buffer) => {
    const url = parseTarget(request.url);
    const to = url === undefined ? undefined : endpointOf(url);
    void tunnel(client, to, '', Buffer.concat([renderHead(request, url), head]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      closeAll();
    },
  };
}

/** Browsers send proxies the whole URL. */
function parseTarget(text = ''): URL | undefined {
  const url = /^http:\/\//i.test(text) ? URL.parse(text) : null;
  return url ?? undefined;
}

/** Examples: `example.com:443`, `[::1]:443`. Accepts only what a URL accepts as host and port. */
function parseAuthority(text = ''): Endpoint | undefined {
  const [, host = '', port = ''] = /^(\[[^\]/@]+\]|[^:/@?#\\]+):(\d{1,5})$/.exec(text) ?? [];
  const url = host === '' ? null : URL.parse(`http://${host}:${port}/`);
  return url === null ? undefined : { ...endpointOf(url), port: Number(port) };
}

function withoutHopHeaders(raw: readonly string[], ...others: string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]];
    if (!hopHeaders.has(name.toLowerCase()) && !others.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function renderHead({ method, rawHeaders }: IncomingMessage, url: URL | undefined): Buffer {
  const lines = [`${method} ${url?.pathname ?? '/'}${url?.search ?? ''} HTTP/1.1`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
