// Owns sealing: entries are given their place in their workspace's chain afterwards, a batch at a time, so that a
// change never waits for another one's entry. Sealers may run side by side; one chain is sealed by one at a time.
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { chained } from './chain.ts';
import {
  beginChain,
  dropOldest,
  holdChain,
  insertSealed,
  listChains,
  listUnsealedChains,
  takePending,
} from './store.ts';

const batch = 1_000;
const chainsAtOnce = 5_000;
const keptDays = 400;
const dropAtOnce = 5_000;

/** Seals what waits, and gives how many entries that were. A chain that fails does not keep the others waiting. */
export async function sealAll(db: Db): Promise<number> {
  let sealed = 0;
  const failures: unknown[] = [];
  for (const workspace_id of await listUnsealedChains(db, chainsAtOnce)) {
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
  let more = batch;
  while (more === batch) {
    more = await sealOne(db, workspace_id);
    sealed += more;
  }
  return sealed;
}

async function sealOne(db: Db, workspace_id: string | null): Promise<number> {
  await beginChain(db, workspace_id);
  return transaction(db, async (db) => {
    const head = await holdChain(db, workspace_id);
    if (head === undefined) return 0; // another sealer is at it
    const entries = await takePending(db, workspace_id, batch);
    await insertSealed(db, workspace_id, chained(head, entries));
    return entries.length;
  });
}

/** Drops what is past its time, chain by chain; gives how many entries that were. */
export async function dropExpired(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptDays * 24 * 60 * 60 * 1000);
  let dropped = 0;
  for (const { workspace_id } of await listChains(db)) {
    let more = dropAtOnce;
    while (more === dropAtOnce) {
      more = await transaction(db, (db) => dropOldest(db, workspace_id, before, dropAtOnce));
      dropped += more;
    }
  }
  return dropped;
}
