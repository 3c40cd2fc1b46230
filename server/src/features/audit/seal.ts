// The jobs that seal pending audit entries and remove expired ones. Sealing happens after the commit, in batches,
// so a change never waits for another change's entry. Several workers may seal at the same time, because each chain is
// locked while it is being sealed.
//
// Example: one batch for a workspace whose chain ends at sequence 7.
//
//   audit_pending before   (id a, app.created)   (id b, app.updated)          ids are UUIDv7, so they are in time order
//   audit_entries after    … 7                   8 = a   9 = b                each has the hash of the previous entry
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
  removeExpired,
  removePending,
} from './store.ts';

const batchSize = 1_000;
const batchesPerTurn = 5; // a workspace with many entries must not keep other chains waiting
const removeBatchSize = 5_000;

/**
 * Seals every chain's pending entries and returns how many were sealed. If one chain fails, the others are still
 * sealed, and the error is reported at the end.
 */
export async function sealAll(db: Db): Promise<number> {
  const chains = await listChainsToSeal(db);
  return sumOverChains('sealed', chains, (workspace_id) => sealChain(db, workspace_id, batchesPerTurn));
}

/** Seals one chain's pending entries and returns how many were sealed. */
export async function sealChain(
  db: Db,
  workspace_id: string | null,
  maxBatches = Number.POSITIVE_INFINITY,
): Promise<number> {
  let sealed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const inBatch = await sealBatch(db, workspace_id);
    sealed += inBatch;
    if (inBatch < batchSize) break;
  }
  return sealed;
}

/** Runs `work` for each chain and returns the sum. If any chains fail, throws an error at the end that names them. */
async function sumOverChains(
  done: string,
  chains: readonly (string | null)[],
  work: (workspace_id: string | null) => Promise<number>,
): Promise<number> {
  let sum = 0;
  const failures: string[] = [];
  for (const workspace_id of chains) {
    try {
      sum += await work(workspace_id);
    } catch (error) {
      failures.push(`${workspace_id ?? 'the installation'}: ${error instanceof Error ? error.message : error}`);
    }
  }
  if (failures.length === 0) return sum;
  throw new Error(`${failures.length} audit chains were not ${done}; ${failures.slice(0, 5).join('; ')}`);
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

/** Removes entries older than 400 days from every chain and returns how many were removed. */
export async function removeExpiredEntries(db: Db): Promise<number> {
  const chains = (await listChains(db)).map((chain) => chain.workspace_id);
  return sumOverChains('shortened', chains, async (workspace_id) => {
    let removed = 0;
    let inBatch = removeBatchSize;
    while (inBatch === removeBatchSize) {
      inBatch = await removeExpired(db, workspace_id, removeBatchSize);
      removed += inBatch;
    }
    return removed;
  });
}
