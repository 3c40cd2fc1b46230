// The webhook endpoint, in its own process. The quiet workspace's endpoint responds immediately and reports when each
// delivery arrived. The hostile workspace's endpoint responds too, except under /hang.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nowMs } from './clock.ts';

export interface Arrival {
  /** The number that the quiet caller wrote to the record. */
  readonly n: number;
  readonly at: number;
}

const arrivals: Arrival[] = [];
const [address = '127.20.0.1'] = process.argv.slice(2);

const server = createServer((request, response) => {
  const at = nowMs();
  if (request.url?.startsWith('/hang')) return;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.end();
    if (request.url === '/quiet') arrivals.push({ n: JSON.parse(Buffer.concat(chunks).toString()).data.n, at });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, address, () => process.send?.({ port: (server.address() as AddressInfo).port }));
setInterval(() => arrivals.length > 0 && process.send?.(arrivals.splice(0)), 250);
process.on('disconnect', () => process.exit(0));
