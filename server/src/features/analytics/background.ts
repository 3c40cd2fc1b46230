// Owns the background work of analytics: partitions for the days to come, and the removal of what is older than 60 days or
// belonged to a deleted app.
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Db } from '../../tables.ts';
import { maxAgeMs } from './event.ts';
import {
  createPartitions,
  dropPartition,
  findEarlier,
  forgetDeletedApp,
  forgetOldTimes,
  listAppsWithOldUsers,
  listDeletedApps,
  removeOfApp,
  removeOldCounts,
  removeOldEvents,
  removeOldIds,
} from './store/removal.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const daysAhead = 7;
const appsPerRun = 100;
/** No request takes this long. Until then, one that had begun may still store events of a deleted app. */
const writerDrainMs = 10 * minuteMs;
const dropAttempts = 3;

/** How much is removed in one run. Each piece is short, and what is left follows in the next run a moment later. */
interface RunSize {
  readonly rowsPerPiece: number;
  readonly pieces: number;
}
const runSize: RunSize = { rowsPerPiece: 2_000, pieces: 25 };

export const analyticsJobs: Job[] = [
  { name: 'create analytics partitions', everyMs: 60 * minuteMs, run: createDays },
  {
    name: 'remove old analytics',
    everyMs: 10 * minuteMs,
    run: async (db, now) => removeOld(db, await findEarlier(db, now)),
  },
  {
    name: 'remove analytics of deleted apps',
    everyMs: minuteMs,
    run: async (db, now) => removeDeleted(db, await findEarlier(db, now)),
  },
];

async function createDays(db: Db, now: Date): Promise<number> {
  await createPartitions(db, now, new Date(now.getTime() + daysAhead * dayMs));
  return 0; // nothing is left to do
}

/** The jobs never call it with a time that is ahead of the clock of the database. Only tests do, to remove what is not old yet. */
export async function removeOld(db: Db, now: Date, size = runSize): Promise<number> {
  const before = new Date(now.getTime() - maxAgeMs);
  const { rowsPerPiece } = size;
  const failures = collectFailures();
  const removals = [
    () => removeOldEvents(db, before, rowsPerPiece),
    () => removeOldIds(db, before, rowsPerPiece),
    () => removeOldUsers(db, before, rowsPerPiece),
    () => removeOldCounts(db, before, now, rowsPerPiece),
  ];
  let removed = 0;
  for (const remove of removals) removed += await failures.catch(() => repeat(remove, size));
  removed += await failures.catch(() => dropPartitions(db, before, size)); // last, because it may wait
  failures.rethrow();
  return removed;
}

/** If others use the table all the time, the partition stays until the next run. */
async function dropPartitions(db: Db, before: Date, { pieces }: RunSize): Promise<number> {
  let dropped = 0;
  for (let attempts = 0; dropped < pieces && attempts < dropAttempts; ) {
    const result = await dropPartition(db, before);
    if (result === 'none') break;
    if (result === 'dropped') dropped += 1;
    else attempts += 1;
  }
  return dropped;
}

async function removeOldUsers(db: Db, before: Date, rowsPerPiece: number): Promise<number> {
  const failures = collectFailures();
  let removed = 0;
  for (const app_id of await listAppsWithOldUsers(db, before, appsPerRun))
    removed += await failures.catch(() => forgetOldTimes(db, app_id, before, rowsPerPiece));
  if (removed === 0) failures.rethrow();
  return removed;
}

/** As `removeOld`. */
export async function removeDeleted(db: Db, now: Date, size = runSize): Promise<number> {
  const failures = collectFailures();
  let removed = 0;
  for (const { app_id, deleted_date } of await listDeletedApps(db, appsPerRun))
    removed += await failures.catch(async () => {
      const ofApp = await repeat(() => removeOfApp(db, app_id, size.rowsPerPiece), size);
      const isDrained = now.getTime() - deleted_date.getTime() > writerDrainMs;
      if (ofApp === 0 && isDrained) await forgetDeletedApp(db, app_id);
      return ofApp;
    });
  failures.rethrow();
  return removed;
}

/** Removes piece after piece until nothing is left, or enough for one run. */
async function repeat(removePiece: () => Promise<number>, { pieces }: RunSize): Promise<number> {
  let removed = 0;
  for (let n = 0; n < pieces; n += 1) {
    const piece = await removePiece();
    removed += piece;
    if (piece === 0) break;
  }
  return removed;
}

/** One failure doesn't hold up the rest of a run, but the run fails in the end. */
function collectFailures() {
  const failures: unknown[] = [];
  return {
    catch: (work: () => Promise<number>): Promise<number> =>
      work().catch((error: unknown) => {
        failures.push(error);
        return 0;
      }),
    rethrow: () => {
      if (failures.length > 0) throw failures[0];
    },
  };
}
