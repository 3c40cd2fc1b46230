// Removes blobs, which are the stored contents of published files, once no deployment uses them. A sweep deletes
// their rows, and the database queues their objects for removal in the same transaction. Purging an app or a workspace
// does the same. A job then removes the queued objects.
import { isBackupRunning } from '../../core/backups/lock.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { unusedAfterMs } from './snapshot.ts';
import { claimSweep, listRemovals, postponeRemovals, removeRemovals, removeUnusedBlobs, saveSweep } from './store.ts';

export const publishingJobs = (objectStorage: ObjectStorage): Job[] => [
  { name: 'sweep published contents', everyMs: 10 * 60 * 1000, run: sweepContents },
  { name: 'remove objects', everyMs: 60_000, run: (db, now) => removeObjects(db, objectStorage, now) },
];

const appsPerRun = 20;

/** Deletes blobs that no deployment uses and no publish has used for a day. Returns how many apps were swept. */
async function sweepContents(db: Db, now: Date): Promise<number> {
  for (let swept = 0; swept < appsPerRun; swept += 1) if (!(await sweepOneApp(db, now))) return swept;
  return appsPerRun;
}

function sweepOneApp(db: Db, now: Date): Promise<boolean> {
  return transaction(db, async (db) => {
    const appId = await claimSweep(db, now);
    if (appId === undefined) return false;
    const { left } = await removeUnusedBlobs(db, appId, new Date(now.getTime() - unusedAfterMs));
    await saveSweep(db, appId, left === 0 ? undefined : new Date(now.getTime() + unusedAfterMs));
    return true;
  });
}

const objectsPerRun = 500;
const objectsAtOnce = 16;
/** How long queued objects are kept, because a process that has just served the app may still be reading them. */
const keptMs = 60 * 60 * 1000;

/**
 * Removing an object twice is not an error, so two workers may process the same objects, and no object is lost in a
 * crash. An object that can't be removed is retried an hour later and does not block the others. If a whole batch
 * fails, the storage is assumed to be down.
 */
async function removeObjects(db: Db, objectStorage: ObjectStorage, now: Date): Promise<number> {
  if (await isBackupRunning(db)) return 0; // it still copies what its dump names
  const keys = await listRemovals(db, new Date(now.getTime() - keptMs), objectsPerRun);
  const failures: unknown[] = [];
  let removed = 0;
  for (let from = 0; from < keys.length; from += objectsAtOnce) {
    const batch = keys.slice(from, from + objectsAtOnce);
    const results = await Promise.allSettled(batch.map((key) => objectStorage.remove([key])));
    const done = batch.filter((_, index) => results[index]?.status === 'fulfilled');
    await removeRemovals(db, done);
    await postponeRemovals(
      db,
      batch.filter((key) => !done.includes(key)),
      now,
    );
    removed += done.length;
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) failures.push(failure.reason);
    if (done.length === 0) break;
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}
