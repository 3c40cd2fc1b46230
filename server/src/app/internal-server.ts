// The server for programs beside the API, such as its proxy. It has a port of its own and no rate limits, so it must not
// be reachable from outside.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { HostAnswer } from '../features/publishing/index.ts';

type CheckHost = (name: string) => Promise<HostAnswer>;

const limits = {
  maxHeaderSize: 4 * 1024,
  headersTimeout: 2_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
};
const maxConnections = 256;

const answers = {
  served: [200, 'This installation serves the host.'],
  unknown: [404, 'This installation does not serve the host.'],
  unavailable: [503, 'The database could not be read, so it is not known whether this installation serves the host.'],
} as const satisfies Record<HostAnswer, readonly [status: number, text: string]>;

export function createInternalServer(checkHost: CheckHost): Server {
  const server = createServer(limits, async (request, response) => {
    const name = readName(request);
    const [status, text] =
      name === undefined ? ([404, 'There is nothing here.'] as const) : answers[await checkHost(name)];
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
    response.end(`${text}\n`);
  });
  server.maxConnections = maxConnections;
  return server;
}

/** Returns the name in `GET /internal/tls?domain=NAME`. */
function readName({ method, url = '' }: IncomingMessage): string | undefined {
  const target = URL.parse(url, 'http://internal');
  if (method !== 'GET' || target?.pathname !== '/internal/tls') return undefined;
  const names = target.searchParams.getAll('domain');
  return names.length === 1 ? names[0] : undefined;
}
