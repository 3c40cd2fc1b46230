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
  removeExpired,
  removePending,
} from './store.ts';

const batchSize = 1_000;
const batchesPerTurn = 5; // then it is another chain's turn, however many entries a workspace writes
const removeBatchSize = 5_000;

/** Seals pending entries of every chain and returns how many. A chain that fails is reported and does not stop the others. */
export async function sealAll(db: Db): Promise<number> {
  const chains = await listChainsToSeal(db);
  return sumOverChains('sealed', chains, (workspace_id) => sealChain(db, workspace_id, batchesPerTurn));
}

/** Seals pending entries of one chain and returns how many. */
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

/** Runs `work` for each chain and returns the sum. If it fails for some, throws an error that names them at the end. */
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

/** Removes entries older than 400 days from every chain and returns how many. */
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
