// Owns what happens to records by itself: keys are built once nobody writes by the schema before, the trash is emptied
// after 30 days, and what is large in an app is gone before the app is.
import { graceDays, listExpiredApps } from '../../core/identity/workspaces.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { keyRowsOf, keysFor } from './schemas/keys.ts';
import { storedSchema } from './schemas/schema-cache.ts';
import {
  type Building,
  insertKeys,
  listBuilding,
  lockBuilding,
  lockNext,
  purgeApp,
  purgeTrashed,
  saveBuilt,
  saveProgress,
  sweepKeys,
} from './store.ts';

// No request takes this long, so by then nobody writes without the new keys.
const settleMs = 60_000;
const appsPerTurn = 10;
const batchesPerTurn = 50;
const recordsPerBatch = 1_000;

export async function buildKeys(db: Db, now: Date): Promise<number> {
  const since = new Date(now.getTime() - settleMs);
  const due = await listBuilding(db, since, batchesPerTurn);
  const failures: unknown[] = [];
  const waiting = [...due];
  for (let left = batchesPerTurn; left > 0; left -= 1) {
    const entity = waiting.shift();
    if (entity === undefined) break;
    const hasMore = await transaction(db, (db) => buildSome(db, entity, since)).catch((error) => {
      failures.push(error); // told below: the others do not wait for one that cannot be built
      return false;
    });
    if (hasMore) waiting.push(entity); // a batch of each in turn, so that a large one keeps nobody waiting
  }
  if (failures.length > 0) throw failures[0];
  return due.length;
}

/** One batch; false when there is nothing more to do for now. */
async function buildSome(db: Db, entity: Building, since: Date): Promise<boolean> {
  const held = await lockBuilding(db, entity, since);
  if (held === undefined) return false;
  // Swept before anything is built, and once: nobody who still writes the old ones is at work.
  if (held.built_up_to === null && (await sweepKeys(db, entity, held.keys, recordsPerBatch)) > 0) return true;
  const missing = keysFor(storedSchema(held.document), 0, held.keys).filter(({ name }) => !held.ready.includes(name));
  const records = missing.length > 0 ? await lockNext(db, entity, held.built_up_to, recordsPerBatch) : [];
  const rows = records.flatMap((record) => keyRowsOf(missing, record).map((key) => ({ record, key })));
  await insertKeys(db, entity, rows);
  const last = records.at(-1);
  const hasMore = last !== undefined && records.length === recordsPerBatch;
  if (hasMore) await saveProgress(db, entity, last.id);
  else await saveBuilt(db, entity, held.keys);
  return hasMore;
}

const dayMs = 24 * 60 * 60 * 1000;

export async function purgeRecords(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - graceDays * dayMs);
  let purged = await inBatches(() => purgeTrashed(db, before, recordsPerBatch));
  for (const app of await listExpiredApps(db, now, appsPerTurn))
    purged += await inBatches(() => purgeApp(db, app, recordsPerBatch));
  return purged;
}

async function inBatches(remove: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < batchesPerTurn; batch += 1) {
    const some = await remove();
    removed += some;
    if (some === 0) break;
  }
  return removed;
}
