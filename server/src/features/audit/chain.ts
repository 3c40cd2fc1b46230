// The hash chain: computing each entry's hash from the previous one, and finding the first broken entry. All
// functions are pure.
//
// Example: two entries are appended to an empty chain.
//
//   sequence  prev_hash  hash
//   1         000…       9f3c… = SHA-256("000…" + {"after":…,"prev_hash":"000…","sequence":1,"type":"app.created",…})
//   2         9f3c…      41d0… = SHA-256("9f3c…" + {"after":…,"prev_hash":"9f3c…","sequence":2,"type":"app.deleted",…})
//
// If entry 1 is changed in the database, its content no longer matches the hash 9f3c…, and the chain is broken at 1. If
// its hash is changed as well, entry 2 still has the old prev_hash, and the chain is broken at 2.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const firstPrevHash = '0'.repeat(64);

/** An entry as the change wrote it. Its place in the chain is added when it is sealed. */
export type EntryContent = Readonly<Record<string, unknown>>;

export interface SealedEntry {
  readonly sequence: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly entry: EntryContent;
}

/** An entry's position in a chain. The next entry is appended to it or checked against it. */
export interface ChainPosition {
  readonly sequence: number;
  readonly hash: string;
}

/**
 * Returns undefined if the content has no canonical JSON, for example because a number is too large. Sealing never
 * writes such content.
 */
function tryHashEntry(prev_hash: string, sequence: number, entry: EntryContent): string | undefined {
  try {
    return hashEntry(prev_hash, sequence, entry);
  } catch {
    return undefined;
  }
}

/**
 * Returns the SHA-256 of the previous hash and the entry's canonical JSON (RFC 8785), which includes `sequence` and
 * `prev_hash` but not `hash`.
 */
function hashEntry(prev_hash: string, sequence: number, entry: EntryContent): string {
  const text = canonicalize({ ...entry, sequence, prev_hash }) ?? '';
  return createHash('sha256').update(prev_hash).update(text).digest('hex');
}

/** Seals entries in order, after the chain's last entry. */
export function appendToChain(last: ChainPosition, entries: readonly EntryContent[]): SealedEntry[] {
  let { sequence, hash } = last;
  return entries.map((entry) => {
    const prev_hash = hash;
    sequence += 1;
    hash = hashEntry(prev_hash, sequence, entry);
    return { sequence, prev_hash, hash, entry };
  });
}

/** Returns the sequence number of the first entry that is missing, moved or changed, or null if the chain is intact. */
export function findFirstBroken(entries: readonly SealedEntry[], previous: ChainPosition): number | null {
  let { sequence, hash } = previous;
  for (const sealed of entries) {
    sequence += 1;
    const isIntact =
      sealed.sequence === sequence &&
      sealed.prev_hash === hash &&
      sealed.hash === tryHashEntry(hash, sequence, sealed.entry);
    if (!isIntact) return sequence;
    hash = sealed.hash;
  }
  return null;
}
