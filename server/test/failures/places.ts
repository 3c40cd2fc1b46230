// The loopback services that labelled failures call. Each responds, fails or stays silent, depending on the path.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import type { DnsZone } from '../../../sandbox/src/dns.ts';

export interface FailingServices {
  readonly receiver: string;
  readonly untrusted: string;
  readonly misnamed: string;
  readonly plain: string;
  readonly closed: string;
  /** The certificate authority that issued `misnamed`'s certificate. */
  readonly ca: string;
  close(): Promise<void>;
}

export const failingZone: DnsZone = (name) => {
  if (name === 'servfail.test') return { code: 2 };
  return name === 'silent.test' ? 'silence' : { code: 3 };
};

const mebibyte = 1024 * 1024;

const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'needs-token': (response) =>
    response
      .writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"', 'content-type': 'application/json' })
      .end('{"error":"invalid_token","error_description":"The token has expired."}'),
  'forbidden-page': (response) =>
    response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1><p>Ask an administrator.</p>'),
  // These services return a status that does not match the actual error.
  'invalid-key': (response) => response.writeHead(400).end('{"error":{"message":"API key not valid."}}'),
  'invalid-grant': (response) => response.writeHead(400).end('{"error":"invalid_grant"}'),
  'secondary-limit': (response) =>
    response.writeHead(403).end('{"message":"You have exceeded a secondary rate limit. Wait a few minutes."}'),
  'slow-down': (response) => response.writeHead(503).end('<Code>SlowDown</Code> Please reduce your request rate.'),
  'upstream-timeout': (response) => response.writeHead(500).end('upstream request timeout'),
  'sign-in-page': (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<form>Your session has expired. Sign in.</form>'),
  text: (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('thank you'),
  'hang-up': (response) => response.socket?.destroy(),
  break: (response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('a part');
    setTimeout(() => response.socket?.destroy(), 20);
  },
  garbage: (response) => response.socket?.end('220 mail.example.com ESMTP\r\n'),
  hang: () => {},
  trickle: (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    const timer = setInterval(() => response.write('x'), 50);
    response.once('close', () => clearInterval(timer));
  },
  large: (response) => response.writeHead(200).end('x'.repeat(2 * mebibyte)),
};

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [, first = '', second = ''] = (request.url ?? '').split('/');
  if (first !== 'status') {
    answers[first]?.(response);
    return;
  }
  const isRedirect = second.startsWith('3');
  response.writeHead(Number(second), { 'retry-after': '1', ...(isRedirect && { location: '/text' }) });
  response.end(`{"message":"status ${second}"}`);
}

export async function startFailingServices(): Promise<FailingServices> {
  const known = await makeAuthority();
  const unknown = await makeAuthority();
  const servers: Server[] = [
    createServer(answer),
    createTlsServer(await unknown.issue('IP:127.0.0.1'), answer),
    createTlsServer(await known.issue('DNS:elsewhere.test'), answer),
    createServer(answer),
  ];
  const [receiver = 0, untrusted = 0, misnamed = 0, closed = 0] = await Promise.all(servers.map(listen));
  servers.pop()?.close(); // frees the port again
  return {
    receiver: `http://127.0.0.1:${receiver}`,
    untrusted: `https://127.0.0.1:${untrusted}`,
    misnamed: `https://127.0.0.1:${misnamed}`,
    plain: `https://127.0.0.1:${receiver}`,
    closed: `http://127.0.0.1:${closed}`,
    ca: known.ca,
    async close() {
      for (const server of servers) server.close();
      for (const server of servers)
        if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections();
      await Promise.all([known.close(), unknown.close()]);
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
