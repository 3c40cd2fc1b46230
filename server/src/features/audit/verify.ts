// Verifies a workspace's chain: sealed entries are compared with each other and with the end of the chain.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type ChainPosition, findFirstBroken } from './chain.ts';
import { countUnsealed, findChain, listSealed } from './store.ts';

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
  const { position, broken_at: brokenEntry } = await verifyEntries(db, access, start, end);
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

/** Checks the entries after `start` up to and including `end`, in batches, until one is broken. */
async function verifyEntries(db: Db, access: WorkspaceAccess, start: ChainPosition, end: number) {
  let position = start;
  while (position.sequence < end) {
    const entries = await listSealed(db, access, position.sequence + 1, end, batchSize);
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
