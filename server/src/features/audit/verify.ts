// Owns the check of a workspace's chain: the sealed entries are compared with each other and with the end of the chain.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type ChainPosition, findFirstBroken } from './chain.ts';
import { countUnsealed, findChain, listSealed } from './store.ts';

const maxVerified = 100_000;
const batchSize = 200; // hashing more at once would block other requests

/**
 * Checks the chain from `fromSequence` to its end as it was when the check started; entries sealed meanwhile are left
 * out. The end is stored apart from the entries (`audit_chains`), so entries removed from the end, or added
 * after it, are noticed too.
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

/** The sequence at which the entries differ from the end of the chain, or null. */
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

/** Checks the entries after `start` up to the sequence `end`, in batches, until one is broken. */
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

/** The entry before `first`. Before the first entry that is kept, it is what `audit_chains` remembers of it. */
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
