// The background jobs for records: building keys, purging the trash after 30 days, and removing expired apps'
// records before the apps themselves.
import { graceDays, listExpiredApps } from '../../core/identity/workspaces.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { buildKeyRows, deriveKeys } from './schemas/keys.ts';
import { parseStoredSchema } from './schemas/schema-cache.ts';
import {
  completeKeyBuild,
  findKeyBatchEnd,
  insertKeys,
  type KeyBuild,
  keyBuildDueInMs,
  listDueKeyBuilds,
  lockKeyBuild,
  lockRecordBatch,
  removeAppRecords,
  removeExpiredTrash,
  removeStaleKeys,
  saveBuildProgress,
} from './store.ts';

// No request takes this long, so afterwards no writer is still using the previous schema, which lacked the new keys.
const writerDrainMs = 60_000;
const appsPerRun = 10;
const batchesPerRun = 50;
const recordsPerBatch = 1_000;
const bytesPerBatch = 16 * 1024 * 1024; // a batch is held in memory
const noId = '00000000-0000-0000-0000-000000000000';

export const keysDueInMs = keyBuildDueInMs(writerDrainMs);

export async function buildKeys(db: Db, now: Date): Promise<number> {
  const since = new Date(now.getTime() - writerDrainMs);
  const due = await listDueKeyBuilds(db, since, batchesPerRun);
  const failures: unknown[] = [];
  const waiting = [...due];
  for (let left = batchesPerRun; left > 0; left -= 1) {
    const entity = waiting.shift();
    if (entity === undefined) break;
    const hasMore = await transaction(db, (db) => buildBatch(db, entity, since)).catch((error) => {
      failures.push(error); // thrown below, so one failing build doesn't hold up the others
      return false;
    });
    if (hasMore) waiting.push(entity); // round robin, so a large entity doesn't hold up the others
  }
  if (failures.length > 0) throw failures[0];
  return due.length;
}

/** Builds one batch. Returns false if there is nothing left to do for now. */
async function buildBatch(db: Db, entity: KeyBuild, since: Date): Promise<boolean> {
  const build = await lockKeyBuild(db, entity, since);
  if (build === undefined) return false;
  // Stale keys are removed before the first batch. By then, no writer adds rows to them.
  if (build.built_up_to === null && (await removeStaleKeys(db, entity, build.keys, recordsPerBatch)) > 0) return true;
  const missing = deriveKeys(parseStoredSchema(build.document), 0, build.keys).filter(
    ({ name }) => !build.ready.includes(name),
  );
  const after = build.built_up_to ?? noId;
  const upTo = missing.length > 0 ? await findKeyBatchEnd(db, entity, after, recordsPerBatch, bytesPerBatch) : null;
  const records = upTo === null ? [] : await lockRecordBatch(db, entity, after, upTo);
  const rows = records.flatMap((record) => buildKeyRows(missing, record).map((key) => ({ record, key })));
  await insertKeys(db, entity, rows);
  if (upTo === null) await completeKeyBuild(db, entity, build.keys);
  else await saveBuildProgress(db, entity, upTo);
  return upTo !== null;
}

const dayMs = 24 * 60 * 60 * 1000;

export async function purgeRecords(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - graceDays * dayMs);
  let purged = await removeInBatches(() => removeExpiredTrash(db, before, recordsPerBatch));
  for (const app of await listExpiredApps(db, appsPerRun, now))
    purged += await removeInBatches(() => removeAppRecords(db, app, recordsPerBatch));
  return purged;
}

async function removeInBatches(remove: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < batchesPerRun; batch += 1) {
    const some = await remove();
    removed += some;
    if (some === 0) break;
  }
  return removed;
}
