// The background jobs of kept revisions: removing those that are no longer kept, and those of apps that are about to be
// purged. Each batch is a transaction of its own, so a crash leaves nothing that the next run does not find.
import { listExpiredApps, lockExpiredApp } from '../../../core/identity/workspaces.ts';
import { freeHistory, removePastVersions } from '../../../core/storage/history.ts';
import { readStorageUsage } from '../../../core/storage/usage.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import {
  findNextDue,
  findPurgeFloor,
  listDuePurges,
  lockAppRow,
  noteNothingKept,
  removeRevisions,
  savePurge,
} from './store.ts';

const appsPerRun = 50;
const expiredAppsPerRun = 10;
const batchesPerRun = 50;

/** Removes what is no longer kept. Returns how many apps were looked at. */
export async function purgeRevisions(db: Db, now: Date): Promise<number> {
  const waiting = await listDuePurges(db, appsPerRun, now);
  const due = waiting.length;
  for (let left = batchesPerRun; left > 0; left -= 1) {
    const appId = waiting.shift();
    if (appId === undefined) break;
    const hasMore = await transaction(db, (db) => purgeBatch(db, appId, now));
    if (hasMore) waiting.push(appId); // round robin, so a large app doesn't hold up the others
  }
  return due;
}

/** Returns whether there is more to remove. An app that is being changed is left for the next run. */
async function purgeBatch(db: Db, appId: string, now: Date): Promise<boolean> {
  const app = await lockAppRow(db, appId);
  if (app === undefined) return false;
  await removeRevisions(db, appId, await findPurgeFloor(db, appId, app.revision, now));
  const { kept_from } = await findNextDue(db, app);
  if ((await removePastVersions(db, appId, kept_from)) > 0) return true;
  const usage = await readStorageUsage(db, app.workspace_id);
  // Headers and deletions are not refused when the quota is full, so what they replaced makes room afterwards.
  if (usage.quota_bytes !== null && usage.used_bytes > usage.quota_bytes)
    await freeHistory(db, app.workspace_id, usage.used_bytes - usage.quota_bytes);
  await savePurge(db, appId, (await findNextDue(db, app)).due_at);
  return false;
}

/** Empties the history of apps that are about to be purged, because it is too much to go with them at once. */
export async function removeExpiredHistory(db: Db, now: Date): Promise<number> {
  let removed = 0;
  for (const appId of await listExpiredApps(db, expiredAppsPerRun, now)) {
    for (let batch = 0; batch < batchesPerRun; batch += 1) {
      const some = await transaction(db, (db) => removeExpiredBatch(db, appId, now));
      removed += some;
      if (some === 0) break;
    }
  }
  return removed;
}

/** The app may have been restored since it was listed, or may be restored later with what is left of its history. */
async function removeExpiredBatch(db: Db, appId: string, now: Date): Promise<number> {
  const app = await lockExpiredApp(db, appId, now);
  if (app === undefined) return 0;
  await noteNothingKept(db, app);
  return removePastVersions(db, app.id, app.revision);
}
