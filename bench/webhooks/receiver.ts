// The webhook measurement's endpoint, in its own process. It records when each request begins and responds immediately.
// Under /hang it never responds.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The time at which each event was first received, by event id. */
  readonly at: Readonly<Record<string, number>>;
}

const now = () => performance.timeOrigin + performance.now();

let seen = { count: 0, firstAt: 0, lastAt: 0, at: {} as Record<string, number> };

const server = createServer({ key: process.env.BENCH_KEY, cert: process.env.BENCH_CERT }, (request, response) => {
  const at = now();
  if (request.url?.startsWith('/hang')) return;
  let start = '';
  request.on('data', (chunk: Buffer) => {
    start ||= chunk.toString('latin1', 0, 43);
  });
  request.on('end', () => {
    response.end();
    seen.count += 1;
    seen.firstAt ||= at;
    seen.lastAt = now();
    seen.at[start.slice(7, 43)] ??= at; // the body starts with {"id":"…
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.20.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

process.on('message', (request: 'count' | 'reset' | 'all') => {
  if (request === 'reset') seen = { count: 0, firstAt: 0, lastAt: 0, at: {} };
  process.send?.(request === 'all' ? seen : { ...seen, at: {} });
});
process.on('disconnect', () => process.exit(0));
