// Verifies a workspace's chain: sealed entries are compared with each other and with the end of the chain.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type ChainPosition, findFirstBroken, type SealedEntry } from './chain.ts';
import { countUnsealed, findChain, listSealed, listSealedOfChain, listWholeChains } from './store.ts';

const maxVerified = 100_000;
const batchSize = 200; // larger batches would block other requests

/**
 * Checks the chain from `fromSequence` to its end as of the start of the check. Entries sealed in the meantime are not
 * checked. The end is stored separately from the entries (`audit_chains`), so the check also detects entries that were
 * removed from the end or added after it.
 */
export async function verifyChain(db: Db, access: WorkspaceAccess, fromSequence: number | undefined) {
  const unsealed = await countUnsealed(db, access);
  const chain = await findChain(db, access);
  const first = chain && Math.max(chain.first_sequence, fromSequence ?? chain.first_sequence);
  if (chain === undefined || first === undefined || first > chain.last_sequence) return { ...nothingToCheck, unsealed };
  const end = Math.min(chain.last_sequence, first + maxVerified - 1);
  const start = await findPositionBefore(db, access, chain, first);
  const read: ReadEntries = (from) => listSealed(db, access, from, end, batchSize);
  const { position, broken_at: brokenEntry } = await verifyEntries(read, start, end);
  const broken_at = brokenEntry ?? (end === chain.last_sequence ? findBrokenEnd(chain, position) : null);
  const last_sequence = broken_at === null ? position.sequence : broken_at - 1;
  return {
    valid: broken_at === null,
    checked: Math.max(0, last_sequence - first + 1),
    first_sequence: first,
    last_sequence,
    head_hash: broken_at === null ? position.hash : null,
    unsealed,
    broken_at,
  };
}

const nothingToCheck = {
  valid: true,
  checked: 0,
  first_sequence: null,
  last_sequence: null,
  head_hash: null,
  broken_at: null,
};

/** Returns the sequence number at which the entries and the chain's end differ, or null. */
function findBrokenEnd(
  {
    last_sequence,
    last_hash,
    has_more_entries,
  }: { last_sequence: number; last_hash: string; has_more_entries: unknown },
  position: ChainPosition,
): number | null {
  if (position.hash !== last_hash) return last_sequence;
  return has_more_entries ? last_sequence + 1 : null;
}

/** Reads the next entries from this sequence number on, up to the end. */
type ReadEntries = (fromSequence: number) => Promise<SealedEntry[]>;

/** Checks the entries after `start` up to and including `end`, in batches, until one is broken. */
async function verifyEntries(read: ReadEntries, start: ChainPosition, end: number) {
  let position = start;
  while (position.sequence < end) {
    const entries = await read(position.sequence + 1);
    const last = entries.at(-1);
    const broken_at = findFirstBroken(entries, position) ?? (last === undefined ? position.sequence + 1 : null);
    if (last !== undefined) position = { sequence: last.sequence, hash: last.hash };
    if (broken_at !== null) return { position, broken_at };
  }
  return { position, broken_at: null };
}

/** Returns the position before entry `first`. For the oldest kept entry, that position is stored in `audit_chains`. */
async function findPositionBefore(
  db: Db,
  access: WorkspaceAccess,
  chain: { first_sequence: number; first_prev_hash: string },
  first: number,
): Promise<ChainPosition> {
  if (first === chain.first_sequence) return { sequence: first - 1, hash: chain.first_prev_hash };
  const [previous] = await listSealed(db, access, first - 1, first - 1, 1);
  return { sequence: first - 1, hash: previous?.hash ?? '' };
}

/** A chain of the installation. `workspace_id` is null for the installation's own. */
interface VerifiedChain {
  readonly workspace_id: string | null;
  readonly last_sequence: number;
  readonly head_hash: string;
  /** The sequence number of the first entry that is missing or changed, or null. */
  readonly broken_at: number | null;
}

/** Checks all entries of all chains, whoever owns them. */
export async function* verifyAllChains(db: Db): AsyncGenerator<VerifiedChain> {
  for (const chain of await listWholeChains(db)) {
    const { workspace_id, first_sequence, first_prev_hash, last_sequence, last_hash } = chain;
    const read: ReadEntries = (from) => listSealedOfChain(db, workspace_id, from, batchSize);
    const start = { sequence: first_sequence - 1, hash: first_prev_hash };
    const { position, broken_at } = await verifyEntries(read, start, last_sequence);
    // An entry after the end was not sealed by Plinth.
    const [added] = broken_at === null ? await read(last_sequence + 1) : [];
    const isEnd = position.sequence === last_sequence && position.hash === last_hash;
    yield {
      workspace_id,
      last_sequence,
      head_hash: last_hash,
      broken_at: broken_at ?? (isEnd ? (added?.sequence ?? null) : last_sequence),
    };
  }
}
