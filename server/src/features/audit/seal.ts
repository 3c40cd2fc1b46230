// Seals pending audit entries and removes expired ones. Sealing happens after the commit, in batches, so a change never
// waits for another change's entry. Several workers may seal at the same time, because each chain is locked while a batch
// of it is being sealed.
//
// Example: one batch for a workspace whose chain ends at sequence 7.
//
//   audit_pending before   (id a, app.created)   (id b, app.updated)          ids are UUIDv7, so they are in time order
//   audit_entries after    … 7                   8 = a   9 = b                each has the hash of the previous entry
//   audit_chains after     last_sequence 9, last_hash = the hash of 9
//   audit_pending after    empty
import { countPurged } from '../../kit/background/purge.ts';
import type { KnownRows } from '../../kit/background/queues/claim.ts';
import {
  createLogReader,
  type LogReader,
  type LogReaderOptions,
  planForLog,
} from '../../kit/background/queues/logs.ts';
import { transaction, transactionOf } from '../../kit/db/database.ts';
import { classifyFailure, isCancelled } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { appendToChain } from './chain.ts';
import {
  createChain,
  insertSealed,
  listChains,
  lockChain,
  pendingLog,
  removeExpired,
  removePending,
  toWorkspaceId,
} from './store.ts';

const batchSize = 1_000;
/** A chain with many entries must not keep other chains waiting. */
const chainMs = 200;
const chainsAtOnce = 4;
/** The maximum number of chains per turn of which entries were left by earlier turns. */
const maxChainsLeft = 40;
const removeBatchSize = 5_000;

/** Seals the entries of all chains, and remembers between its turns which were sealed. */
export interface Sealer {
  /**
   * Seals some pending entries of each chain, first those that have waited longest, and returns how many were sealed. If
   * one chain fails, the others are still sealed, and the error is reported at the end.
   */
  seal(db: Db): Promise<number>;
  /** What polling needs to know of the pending entries. */
  readonly known: KnownRows;
}

export function createSealer(options: LogReaderOptions = {}): Sealer {
  const reader = createLogReader(pendingLog, options);
  return {
    async seal(db) {
      for (;;) {
        const turn = await sealTurn(db, reader);
        if (turn !== 'outdated') return turn;
      }
    },
    get known() {
      return reader.known;
    },
  };
}

/**
 * Returns how many entries were sealed, or 'outdated' if other workers have sealed those of all chains that were visited,
 * and there may be others.
 */
async function sealTurn(db: Db, reader: LogReader): Promise<number | 'outdated'> {
  const { isFull, sealed, isAnyLocked, failures } = await sealKnown(db, reader).catch((error: unknown) => {
    // The connection may be lost because the database crashed, and with it changes whose effect is remembered.
    if (!isCancelled(error)) reader.forget();
    throw error;
  });
  if (failures.some(({ error }) => classifyFailure(error) === 'connection_lost')) reader.forget();
  throwFailures('sealed', failures);
  return sealed === 0 && isFull && !isAnyLocked ? 'outdated' : sealed;
}

async function sealKnown(db: Db, reader: LogReader) {
  await reader.lookAtAllIfDue(db);
  const turn = reader.begin(maxChainsLeft);
  const [, [seen]] = await transactionOf(db, planForLog.query(), turn.look);
  if (seen === undefined) throw new Error('a look must return one row');
  let isAnyLocked = false;
  const chains = turn.listOwners(seen).toSorted(([, a], [, b]) => a - b);
  const { sum, failures } = await sumOverChains(chains, chainsAtOnce, async ([owner, floorMs]) => {
    const sealed = await sealFrom(db, { workspace_id: toWorkspaceId(owner), floorMs, maxMs: chainMs });
    isAnyLocked ||= sealed === 'locked';
    return sealed === 'locked' ? 0 : sealed;
  });
  const [, found] = chains.length === 0 ? [[], []] : await transactionOf(db, planForLog.query(), turn.findFloors(seen));
  turn.learn(seen, found);
  return {
    isFull: turn.isFull,
    sealed: sum,
    isAnyLocked,
    failures: failures.map(({ chain: [owner], error }) => ({ workspace_id: toWorkspaceId(owner), error })),
  };
}

/** Seals all of one chain's pending entries and returns how many were sealed. Used without what a sealer remembers. */
export async function sealChain(db: Db, workspace_id: string | null): Promise<number> {
  const sealed = await sealFrom(db, { workspace_id, floorMs: 0, maxMs: Number.POSITIVE_INFINITY });
  return sealed === 'locked' ? 0 : sealed;
}

interface ChainPart {
  readonly workspace_id: string | null;
  /** No entry before this time is pending. */
  readonly floorMs: number;
  /** No batch begins later. */
  readonly maxMs: number;
}

/** Returns how many entries were sealed, or 'locked' if another worker is sealing the chain. */
async function sealFrom(db: Db, part: ChainPart): Promise<number | 'locked'> {
  const endsAt = performance.now() + part.maxMs;
  let sealed = 0;
  for (;;) {
    const inBatch = await sealBatch(db, part);
    if (inBatch === undefined) {
      if (await createChain(db, part.workspace_id)) continue;
      return sealed === 0 ? 'locked' : sealed;
    }
    sealed += inBatch;
    if (inBatch < batchSize || performance.now() >= endsAt) return sealed;
  }
}

/** Returns undefined if another worker is sealing the chain, or if there is none. */
const sealBatch = (db: Db, { workspace_id, floorMs }: ChainPart): Promise<number | undefined> =>
  transaction(db, async (db) => {
    const last = await lockChain(db, workspace_id);
    if (last === undefined) return undefined;
    const entries = await removePending(db, workspace_id, floorMs, batchSize);
    await insertSealed(db, workspace_id, appendToChain(last, entries));
    return entries.length;
  });

/** Removes entries older than 400 days from every chain and returns how many were removed. */
export async function removeExpiredEntries(db: Db): Promise<number> {
  const { sum, failures } = await sumOverChains(await listChains(db), 1, async ({ workspace_id }) => {
    let removed = 0;
    let inBatch = removeBatchSize;
    while (inBatch === removeBatchSize) {
      inBatch = await removeExpired(db, workspace_id, removeBatchSize);
      removed += inBatch;
      countPurged(db, 'audit_entries', inBatch);
    }
    return removed;
  });
  throwFailures(
    'shortened',
    failures.map(({ chain: { workspace_id }, error }) => ({ workspace_id, error })),
  );
  return sum;
}

interface ChainFailure<Chain> {
  readonly chain: Chain;
  readonly error: unknown;
}

/** Runs `work` for the chains in order, some of them at once, and returns the sum. If one fails, the others still run. */
async function sumOverChains<Chain>(
  chains: readonly Chain[],
  atOnce: number,
  work: (chain: Chain) => Promise<number>,
): Promise<{ sum: number; failures: readonly ChainFailure<Chain>[] }> {
  let sum = 0;
  const failures: ChainFailure<Chain>[] = [];
  const left = chains.values();
  const runNext = async () => {
    for (const chain of left) {
      try {
        const done = await work(chain);
        sum += done;
      } catch (error) {
        failures.push({ chain, error });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return { sum, failures };
}

/** If any chains failed, throws an error that names some of them. */
function throwFailures(done: string, failures: readonly { workspace_id: string | null; error: unknown }[]): void {
  if (failures.length === 0) return;
  const named = failures.slice(0, 5).map(({ workspace_id, error }) => {
    return `${workspace_id ?? 'the installation'}: ${error instanceof Error ? error.message : error}`;
  });
  throw new Error(`${failures.length} audit chains were not ${done}; ${named.join('; ')}`);
}
