// Opens the infrastructure that every feature uses: PostgreSQL, Redis, the event bus, the metrics and the log.
import type { Config } from '../config.ts';
import { openCounters } from '../core/auth/rate-limits/counters.ts';
import { createFailedLookups } from '../core/auth/request/failed-lookups.ts';
import { createStorageQuota } from '../core/storage/quota.ts';
import type { Events } from '../events.ts';
import { eventBus } from '../kit/background/events/event-bus.ts';
import { queueMetrics } from '../kit/background/metrics.ts';
import { addPartitionGauges } from '../kit/background/partitions.ts';
import type { Queue } from '../kit/background/queues/queue.ts';
import { addSnapshotGauges } from '../kit/background/snapshots.ts';
import { openWakeUps } from '../kit/background/workers/wake.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase } from '../kit/db/database.ts';
import { createShares } from '../kit/db/shares.ts';
import { createCursors } from '../kit/http/cursor.ts';
import { openJq } from '../kit/jq/index.ts';
import { createLog, describeError } from '../kit/log.ts';
import { createMetrics } from '../kit/metrics.ts';
import { createSecrets } from '../kit/secrets.ts';
import type { Db, Tables } from '../tables.ts';
import type { AppDeps } from './deps.ts';

/** Connections for sign-in and health checks, in addition to `DATABASE_POOL_SIZE`. */
const reservedConnections = 2;

export type Infrastructure = ReturnType<typeof openInfrastructure>;

/** `listQueues` is called whenever metrics are scraped. */
export function openInfrastructure(config: Config, deps: AppDeps, listQueues: () => readonly Queue[]) {
  const log = deps.log ?? createLog(config.LOG_LEVEL);
  const counters = openCounters(config.REDIS_URL, config.REDIS_PREFIX, (isConnected) => {
    if (isConnected) log.info('Redis connection restored');
    else
      log.warn(
        'Redis connection lost: until it is restored, rate limits are counted per process and workers poll more often',
      );
  });
  const metrics = createMetrics(() => queueMetrics(database.db, listQueues()));
  metrics.addGauge({
    name: 'plinth_redis_connected',
    help: 'Whether this process is connected to Redis: 1 or 0',
    read: async () => (counters.isConnected() ? 1 : 0),
  });
  const listTables = () => ['events', 'audit_pending', ...listQueues().map((queue) => queue.name)];
  addSnapshotGauges(metrics, () => ({ db: database.db, tables: listTables() }));
  addPartitionGauges(metrics, () => database.db);
  const onSent = metrics.addHistogram(
    'plinth_lookups_per_statement',
    'Number of caller lookups sent as one statement',
    [1, 2, 4, 8, 16],
  );
  const countMismatch = metrics.addCounter(
    'plinth_lookup_mismatch_total',
    "Statements that returned another lookup's row. Their requests failed",
  );
  const onWrongAnswer = () => {
    countMismatch();
    log.error("a lookup returned another lookup's row: its requests failed and the connection was closed");
  };
  const connection = {
    url: config.DATABASE_URL,
    applicationName: deps.sessionName,
    onStatement: deps.onStatement,
  };
  const database = openDatabase<Tables>({
    ...connection,
    poolSize: config.DATABASE_POOL_SIZE,
    lookups: { onSent, onWrongAnswer },
  });
  const reserved = openDatabase<Tables>({ ...connection, poolSize: reservedConnections });
  const wake = openWakeUps(config.REDIS_URL, config.REDIS_PREFIX);
  const events = eventBus<Events, Db>(
    wake,
    (event, error) =>
      log.error({ event: event.name, event_id: event.id, error: describeError(error) }, 'event listener failed'),
    { onMissed: (count) => metrics.countMissed('events', count) },
  );
  const jq = openJq();
  return {
    log,
    clock: deps.clock ?? systemClock,
    metrics,
    database,
    reserved,
    shares: createShares(config.DATABASE_POOL_SIZE),
    counters,
    failedLookups: createFailedLookups(counters),
    wake,
    events,
    publish: events.publish,
    jq,
    cursors: createCursors(config.SIGNING_KEY),
    secrets: createSecrets(config.MASTER_KEYS),
    masterKeyId: config.MASTER_KEYS[0].id,
    storage: createStorageQuota(),
    async close() {
      counters.close();
      wake.close();
      await jq.close();
      await Promise.all([database.close(), reserved.close()]);
    },
  };
}
