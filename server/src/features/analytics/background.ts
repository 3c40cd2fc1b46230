// The analytics background jobs: creating partitions for the coming days, and removing data that is older than 60
// days or belongs to a deleted app.
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
  removeOldSizes,
  summarizeIds,
} from './store/removal.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const daysAhead = 7;
const appsPerRun = 100;
/**
 * Longer than any request. Until this much time has passed, requests already in progress may still store a deleted
 * app's events.
 */
const writerDrainMs = 10 * minuteMs;
const dropAttempts = 3;

/** How much data to remove per run. Removing a piece takes little time, and the next run soon removes the rest. */
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
  { name: 'summarize ids of analytics events', everyMs: 60 * minuteMs, run: summarizePart },
  {
    name: 'remove analytics of deleted apps',
    everyMs: minuteMs,
    run: async (db, now) => removeDeleted(db, await findEarlier(db, now)),
  },
];

/** A part that is left out because of a vacuum is reached a week later. */
async function summarizePart(db: Db, now: Date): Promise<number> {
  await summarizeIds(db, now);
  return 0; // nothing left to do
}

async function createDays(db: Db, now: Date): Promise<number> {
  await createPartitions(db, now, new Date(now.getTime() + daysAhead * dayMs));
  return 0; // nothing left to do
}

/** The jobs never pass a time ahead of the database's clock. Only tests do, to remove data that is not yet old. */
export async function removeOld(db: Db, now: Date, size = runSize): Promise<number> {
  const before = new Date(now.getTime() - maxAgeMs);
  const { rowsPerPiece } = size;
  const failures = collectFailures();
  const removals = [
    () => removeOldEvents(db, before, rowsPerPiece),
    () => removeOldSizes(db, before, rowsPerPiece),
    () => removeOldUsers(db, before, rowsPerPiece),
    () => removeOldCounts(db, before, rowsPerPiece, now),
  ];
  let removed = 0;
  for (const remove of removals) removed += await failures.catch(() => repeat(remove, size));
  removed += await failures.catch(() => removeOldIds(db, before));
  removed += await failures.catch(() => dropPartitions(db, before, size)); // last, because it may wait
  failures.rethrow();
  return removed;
}

/** If the table is constantly in use, the partition stays until the next run. */
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

/** `now` has the same restriction as in `removeOld`. */
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

/** Removes one piece at a time until nothing is left, or until the run has removed enough. */
async function repeat(removePiece: () => Promise<number>, { pieces }: RunSize): Promise<number> {
  let removed = 0;
  for (let n = 0; n < pieces; n += 1) {
    const piece = await removePiece();
    removed += piece;
    if (piece === 0) break;
  }
  return removed;
}

/** If one part of a run fails, the other parts still run, and the run fails at the end. */
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
