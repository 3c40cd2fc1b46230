// The product's HTTP server: its guards, its log and metrics, and recording refusals.
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { recordRefusal } from '../core/audit/refusals.ts';
import { open } from '../core/auth/credentials.ts';
import { createAppOrigins } from '../core/auth/request/app-origins.ts';
import { createGuard } from '../core/auth/request/checks.ts';
import type { Route } from '../core/auth/route.ts';
import { type StorageAccess, serviceCaller } from '../core/storage/quota.ts';
import type { Operation } from '../kit/http/operation.ts';
import { createServer, type RequestOutcome, type ServerOptions } from '../kit/http/server.ts';
import { describeError, type Log } from '../kit/log.ts';
import type { Db } from '../tables.ts';
import type { Shared } from './features.ts';

interface ServerDeps extends Shared, Pick<ServerOptions, 'otherRequests'> {
  /** Rejects if the state can't be read. */
  checkWorkers(): Promise<boolean>;
}

export function createApiServer(config: Config, routes: readonly Route[], deps: ServerDeps): FastifyInstance {
  const { database, counters, failedLookups, log, metrics } = deps;
  const appOrigins = createAppOrigins(database.db, failedLookups, deps.addresses.slugOf, deps.clock);
  const auditRefusal = (exchange: NonNullable<RequestOutcome['exchange']>) =>
    recordRefusal(database.db, counters, exchange).catch((error) =>
      log.error({ error: describeError(error) }, 'refusal not recorded'),
    );
  return createServer(routes, {
    db: database.db,
    reservedDb: deps.reserved.db,
    shares: deps.shares,
    clock: deps.clock,
    ...createGuard({
      db: database.db,
      strangersDb: database.strangersDb,
      counters,
      failedLookups,
      ...deps.tokenKeys,
      isHttps: deps.isHttps,
      ownOrigins: listOwnOrigins(new URL(config.BASE_URL)),
      appOrigins,
      personalKeysUntil: config.PERSONAL_API_KEYS_UNTIL,
    }),
    crossOrigin: appOrigins,
    storageSpace: {
      admit: (db, { access, now }, bytes) => deps.storage.admit(db as Db, toStorageAccess(access), bytes, now),
      hasSpace: (db, workspaceId, bytes, now) => deps.storage.hasSpace(db as Db, workspaceId, bytes, now),
    },
    otherRequests: deps.otherRequests,
    isHttps: deps.isHttps,
    looksUpCaller,
    guardQuery: (operation) => ((operation as Route).access.choosesWorkspace ? ['workspaceId'] : []),
    // If the state can't be read, assumes that a worker is running, so no warning is sent.
    isWorkerSeen: () => deps.checkWorkers().catch(() => true),
    trustedProxies: config.TRUSTED_PROXIES,
    proxyHeaders: config.COUNTRY_HEADER === undefined ? [] : [config.COUNTRY_HEADER],
    maxConnectionsPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    onConnectionRefused: (address) =>
      log.warn({ address }, 'connections refused: more than MAX_CONNECTIONS_PER_ADDRESS from one address'),
    onUntrustedForwarding: (address) =>
      log.warn(
        { address },
        'forwarding headers ignored: their sender is not in TRUSTED_PROXIES, so all callers behind it count as one address',
      ),
    strictAnswers: config.STRICT_ANSWERS,
    onResponse: (answered) => {
      metrics.countRequest(answered.operation, answered.status, answered.seconds);
      logAnswer(log, answered);
      if (answered.exchange?.refusal !== undefined) void auditRefusal(answered.exchange);
    },
    onError: (error, exchange) =>
      log.error(
        { request_id: exchange?.requestId, operation: exchange?.operation.name, error: describeError(error) },
        'request failed',
      ),
  });
}

/** Routes that declare what they store are about a workspace. A hook has no caller. */
const toStorageAccess = (access: unknown): StorageAccess => ({
  caller: serviceCaller,
  ...(access as Partial<StorageAccess> & Pick<StorageAccess, 'workspace_id'>),
});

/** On this machine, `localhost` and 127.0.0.1 are one installation. People type either. */
function listOwnOrigins({ origin, hostname }: URL): string[] {
  const names = ['127.0.0.1', 'localhost'];
  return names.includes(hostname) ? names.map((name) => origin.replace(hostname, name)) : [origin];
}

function looksUpCaller(operation: Operation): boolean {
  const { credentials, access } = operation as Route;
  const { readsSession, lookUpAnonymous, lookUpHook } = access;
  return credentials !== open || readsSession === true || (lookUpAnonymous ?? lookUpHook) !== undefined;
}

function logAnswer(log: Log, { operation, status, seconds, requestId, exchange }: RequestOutcome): void {
  if (!log.isLevelEnabled('info')) return;
  log.info(
    {
      request_id: requestId,
      operation,
      status,
      duration_ms: Math.round(seconds * 1e6) / 1e3,
      actor_id: exchange?.actor?.id,
      workspace_id: exchange?.actor?.workspaceId,
    },
    'request completed',
  );
}
