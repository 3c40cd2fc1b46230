// The result of `GET /readyz`: whether PostgreSQL and Redis respond, whether migrations are pending, and whether
// workers are running.
import { isWorkerSeen, readLatestHeartbeat, readQueueLag } from '../kit/background/metrics.ts';
import type { Queue } from '../kit/background/queues/queue.ts';
import type { Database } from '../kit/db/database.ts';
import { listPendingMigrations, type Migration } from '../kit/db/migrate.ts';
import { shareRecent } from '../kit/recent.ts';
import type { Tables } from '../tables.ts';
import type { Infrastructure } from './infrastructure.ts';

interface ReadinessDeps extends Pick<Infrastructure, 'counters' | 'reserved'> {
  readonly migrations: readonly Migration[];
  listQueues(): readonly Queue[];
  isDraining(): boolean;
  /** Whether the database and the keys were found sound. Undefined if nobody checks. */
  isStartChecked: (() => boolean) | undefined;
}

/** This operation has no rate limit, so all calls within a second share one check. */
const sharedMs = 1_000;

export function createReadiness({
  reserved,
  counters,
  migrations,
  listQueues,
  isDraining,
  isStartChecked,
}: ReadinessDeps) {
  const checkWorkers = shareRecent(sharedMs, () => isWorkerSeen(reserved.db));
  const checkDatabase = shareRecent(sharedMs, async () => {
    const read = await listPendingMigrations(reserved.pool, migrations).then(
      (list) => list.length,
      () => undefined,
    );
    const pending = read === 0 && isStartChecked?.() === false ? undefined : read;
    return {
      database: pending === undefined && !(await isReachable(reserved)) ? ('unreachable' as const) : ('ok' as const),
      migrations: pending === undefined ? ('unknown' as const) : pending === 0 ? ('ok' as const) : ('pending' as const),
      workers: await checkWorkers().then(
        (isSeen) => (isSeen ? ('ok' as const) : ('none_seen' as const)),
        () => 'unknown' as const,
      ),
      queue_lag_seconds: await readQueueLag(reserved.db, listQueues()).then(presentLag, () => null), // 0 would mean that nothing waits
      // Read by itself, because the lag can't be read in time while an old snapshot is held.
      worker_heartbeat: await readLatestHeartbeat(reserved.db).then(
        (at) => at?.toISOString() ?? null,
        () => null,
      ),
    };
  });
  return {
    checkWorkers,
    check: async () => ({
      ...(await checkDatabase()),
      redis: counters.isConnected() ? ('ok' as const) : ('unreachable' as const),
      draining: isDraining(),
    }),
  };
}

const presentLag = (seconds: number): number => Math.max(0, Math.round(seconds * 1000) / 1000);

const isReachable = (database: Database<Tables>): Promise<boolean> =>
  database.pool.query('select 1').then(
    () => true,
    () => false,
  );
