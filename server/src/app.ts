// Assembles the product. Read this file first. Each part has its own file in app/. The features and their dependencies
// on one another are in app/features.ts.
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { AppDeps } from './app/deps.ts';
import { createFeatures } from './app/features.ts';
import { openGateways } from './app/gateways.ts';
import { openInfrastructure } from './app/infrastructure.ts';
import { createInternalServer } from './app/internal-server.ts';
import { createReadiness } from './app/readiness.ts';
import { createApiServer } from './app/server.ts';
import { toFeatureSettings, toSharedSettings } from './app/settings.ts';
import { shutDown } from './app/shutdown.ts';
import type { Config } from './config.ts';
import type { Counters } from './core/auth/rate-limits/counters.ts';
import type { Route } from './core/auth/route.ts';
import { createWarningQueue, warningJobs } from './core/identity/warnings.ts';
import { createStreams } from './core/streams/streams.ts';
import { removeOldDeltas } from './core/turns/deltas.ts';
import type { Publish } from './events.ts';
import { partitionJobs } from './kit/background/partitions.ts';
import type { WakeUps } from './kit/background/workers/wake.ts';
import type { BackgroundWork } from './kit/background/workers/worker.ts';
import type { Database } from './kit/db/database.ts';
import type { Shares } from './kit/db/shares.ts';
import { removeExpiredKeys } from './kit/http/idempotency.ts';
import type { Metrics } from './kit/metrics.ts';
import type { Tables } from './tables.ts';

export type { AppDeps } from './app/deps.ts';

export interface App {
  readonly server: FastifyInstance;
  /** Answers the proxy's questions. Listens only if there is a port for it. */
  readonly internalServer: Server;
  readonly routes: readonly Route[];
  /** The queues and jobs that workers run. */
  readonly background: BackgroundWork;
  /** Publishes an event in the caller's transaction. */
  readonly publish: Publish;
  readonly wake: WakeUps;
  readonly metrics: Metrics;
  readonly database: Database<Tables>;
  readonly shares: Shares;
  readonly counters: Counters;
  /** Stops accepting requests, waits up to 30 s for those in progress, and closes every connection. */
  close(): Promise<void>;
}

export function createApp(config: Config, deps: AppDeps): App {
  const shutdown = new AbortController();
  let isDraining = false;
  // Functions, because these lists are complete only once all features exist.
  const listRoutes = () => allRoutes;
  const listQueues = () => background.queues;

  const infrastructure = openInfrastructure(config, deps, listQueues);
  const { database, events, metrics } = infrastructure;
  const gateways = openGateways(config, deps, infrastructure);
  const shared = {
    ...infrastructure,
    ...gateways,
    ...toSharedSettings(config),
    shutdownSignal: shutdown.signal,
    streams: createStreams({
      ...infrastructure,
      db: database.db,
      shutdownSignal: shutdown.signal,
      limits: deps.streamLimits,
    }),
  };
  const readiness = createReadiness({
    ...infrastructure,
    migrations: deps.migrations,
    listQueues,
    isDraining: () => isDraining,
    isStartChecked: deps.isStartChecked,
  });

  const { features, publishedApps, checkHost } = createFeatures(shared, toFeatureSettings(config, deps), {
    listRoutes,
    listQueues,
    checkReadiness: readiness.check,
  });
  const allRoutes: Route[] = features.flatMap(({ routes }) => routes);
  const routes = deps.routes?.(allRoutes) ?? allRoutes;
  const background: BackgroundWork = {
    queues: [...features.flatMap(({ queues = [] }) => queues), createWarningQueue(gateways.mail.send)],
    jobs: [...features.flatMap(({ jobs = [] }) => jobs), ...coreJobs],
    dispatch: events.dispatch,
    knownEvents: () => events.known,
    eventNeededIf: features.flatMap(({ eventNeededIf = [] }) => eventNeededIf),
  };
  events.listen(features.flatMap(({ listeners = [] }) => listeners));
  for (const gauge of features.flatMap(({ gauges = [] }) => gauges))
    metrics.addGauge({ ...gauge, read: () => gauge.read(database.db) });

  const server = createApiServer(config, routes, {
    ...shared,
    checkWorkers: readiness.checkWorkers,
    otherRequests: publishedApps,
  });
  const internalServer = createInternalServer(checkHost);
  return {
    server,
    internalServer,
    routes,
    background,
    publish: events.publish,
    wake: infrastructure.wake,
    metrics,
    database,
    shares: infrastructure.shares,
    counters: infrastructure.counters,
    close() {
      isDraining = true;
      return shutDown({ server, internalServer, features, gateways, infrastructure, shutdown });
    },
  };
}

/** The jobs that belong to no feature. */
const coreJobs = [
  ...warningJobs,
  ...partitionJobs,
  { name: 'remove expired idempotency keys', everyMs: 60_000, run: removeExpiredKeys },
  { name: 'remove old turn deltas', everyMs: 30_000, run: removeOldDeltas },
];
