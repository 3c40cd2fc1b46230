// Owns the jobs that seal pending audit entries and remove expired ones. Sealing happens after the commit, in batches, so
// that a change never waits for the entry of another. Several workers may seal at once; each chain is locked while one does.
//
// Example: one batch of a workspace whose chain ends at sequence 7.
//
//   audit_pending before   (id a, app.created)   (id b, app.updated)          ids are UUIDv7, so their order is time
//   audit_entries after    … 7                   8 = a   9 = b                each with the hash of the entry before
//   audit_chains after     last_sequence 9, last_hash = the hash of 9
//   audit_pending after    empty
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { appendToChain } from './chain.ts';
import {
  ensureChain,
  insertSealed,
  listChains,
  listChainsToSeal,
  lockChain,
  removeOldest,
  removePending,
} from './store.ts';

const batchSize = 1_000;
const maxPendingRead = 5_000;
const retentionDays = 400;
const removeBatchSize = 5_000;

/** Seals pending entries and returns how many. If one chain fails, the others are still sealed. */
export async function sealAll(db: Db): Promise<number> {
  let sealed = 0;
  const failures: unknown[] = [];
  for (const workspace_id of await listChainsToSeal(db, maxPendingRead)) {
    try {
      sealed += await sealChain(db, workspace_id);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} audit chains could not be sealed`);
  return sealed;
}

async function sealChain(db: Db, workspace_id: string | null): Promise<number> {
  let sealed = 0;
  let inBatch = batchSize;
  while (inBatch === batchSize) {
    inBatch = await sealBatch(db, workspace_id);
    sealed += inBatch;
  }
  return sealed;
}

async function sealBatch(db: Db, workspace_id: string | null): Promise<number> {
  await ensureChain(db, workspace_id);
  return transaction(db, async (db) => {
    const last = await lockChain(db, workspace_id);
    if (last === undefined) return 0; // another worker is sealing this chain
    const entries = await removePending(db, workspace_id, batchSize);
    await insertSealed(db, workspace_id, appendToChain(last, entries));
    return entries.length;
  });
}

/** Removes entries older than the retention period from every chain and returns how many. */
export async function removeExpiredEntries(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - retentionDays * 24 * 60 * 60 * 1000);
  let removed = 0;
  for (const { workspace_id } of await listChains(db)) {
    let inBatch = removeBatchSize;
    while (inBatch === removeBatchSize) {
      inBatch = await transaction(db, (db) => removeOldest(db, workspace_id, before, removeBatchSize));
      removed += inBatch;
    }
  }
  return removed;
}
