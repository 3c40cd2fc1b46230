// Owns sealing: entries are given their place in their workspace's chain afterwards, a batch at a time, so that a
// change never waits for another one's entry. Sealers may run side by side; one chain is sealed by one at a time.
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { chained } from './chain.ts';
import { beginChain, dropOlder, holdChain, insertSealed, listUnsealedChains, takePending } from './store.ts';

const batch = 1_000;
const chainsAtOnce = 5_000;
const keptDays = 400;

/** Seals what waits, and gives how many entries that were. */
export async function sealAll(db: Db): Promise<number> {
  let sealed = 0;
  for (const workspace_id of await listUnsealedChains(db, chainsAtOnce)) {
    let more = batch;
    while (more === batch) {
      more = await sealOne(db, workspace_id);
      sealed += more;
    }
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

export const dropExpired = (db: Db, now: Date): Promise<number> =>
  transaction(db, (db) => dropOlder(db, new Date(now.getTime() - keptDays * 24 * 60 * 60 * 1000)));
