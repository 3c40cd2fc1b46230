// Owns sealing: entries are given their place in their workspace's chain afterwards, a batch at a time, so that a
// change never waits for another one's entry. Sealers may run side by side; one chain is sealed by one at a time.
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

/** Seals what waits, and gives how many entries that were. A chain that fails does not keep the others waiting. */
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
  let more = batchSize;
  while (more === batchSize) {
    more = await sealBatch(db, workspace_id);
    sealed += more;
  }
  return sealed;
}

async function sealBatch(db: Db, workspace_id: string | null): Promise<number> {
  await ensureChain(db, workspace_id);
  return transaction(db, async (db) => {
    const head = await lockChain(db, workspace_id);
    if (head === undefined) return 0; // another sealer is at it
    const entries = await removePending(db, workspace_id, batchSize);
    await insertSealed(db, workspace_id, appendToChain(head, entries));
    return entries.length;
  });
}

/** Drops what is past its time, chain by chain; gives how many entries that were. */
export async function removeExpired(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - retentionDays * 24 * 60 * 60 * 1000);
  let dropped = 0;
  for (const { workspace_id } of await listChains(db)) {
    let more = removeBatchSize;
    while (more === removeBatchSize) {
      more = await transaction(db, (db) => removeOldest(db, workspace_id, before, removeBatchSize));
      dropped += more;
    }
  }
  return dropped;
}
