// Shuts down a process. It first finishes the requests in progress, and then closes the features, the gateways and the
// infrastructure, in this order.
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Feature } from './features.ts';
import type { Gateways } from './gateways.ts';
import type { Infrastructure } from './infrastructure.ts';

interface Running {
  readonly server: FastifyInstance;
  readonly internalServer: Server;
  readonly features: readonly Feature[];
  readonly gateways: Gateways;
  readonly infrastructure: Infrastructure;
  /** Makes requests in progress stop waiting. */
  readonly shutdown: AbortController;
}

export async function shutDown({
  server,
  internalServer,
  features,
  gateways,
  infrastructure,
  shutdown,
}: Running): Promise<void> {
  const shutdownTimer = setTimeout(() => shutdown.abort(), 10_000);
  // Otherwise, keep-alive connections that become idle after close() was called would stay open.
  const idleSweep = setInterval(() => server.server.closeIdleConnections(), 200);
  await waitAtMost(30_000, server.close());
  clearTimeout(shutdownTimer);
  clearInterval(idleSweep);
  internalServer.close();
  internalServer.closeAllConnections();
  for (const feature of features) await feature.close?.();
  await gateways.close();
  await waitAtMost(5_000, infrastructure.close());
}

async function waitAtMost(ms: number, work: PromiseLike<unknown>): Promise<void> {
  const timeUp = Promise.withResolvers<void>();
  const timer = setTimeout(timeUp.resolve, ms);
  await Promise.race([work, timeUp.promise]);
  clearTimeout(timer);
}
