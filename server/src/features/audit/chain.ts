// Owns the hash chain: computing the hash of an entry from the entry before it, and finding the first broken entry. Pure.
//
// Example: two entries are appended to an empty chain.
//
//   sequence  prev_hash   hash
//   1         000…000     9f3c… = SHA-256("000…000" + {"after":…,"prev_hash":"000…000","sequence":1,"type":"app.created",…})
//   2         9f3c…       41d0… = SHA-256("9f3c…" + {"after":…,"prev_hash":"9f3c…","sequence":2,"type":"app.deleted",…})
//
// If somebody changes entry 1 in the database, its content no longer has the hash 9f3c…: the chain is broken at 1. If they write
// a matching new hash too, entry 2 no longer has it as prev_hash: the chain is broken at 2.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const firstPrevHash = '0'.repeat(64);

/** What a change wrote. Its place in the chain is added when it is sealed. */
export type EntryContent = Readonly<Record<string, unknown>>;

export interface SealedEntry {
  readonly sequence: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly entry: EntryContent;
}

/** The place of one entry in a chain: what the next entry needs to be appended or checked. */
export interface ChainPosition {
  readonly sequence: number;
  readonly hash: string;
}

/** Undefined for what has no canonical JSON, such as a number that is too large: sealing never wrote it. */
function tryHashEntry(prev_hash: string, sequence: number, entry: EntryContent): string | undefined {
  try {
    return hashEntry(prev_hash, sequence, entry);
  } catch {
    return undefined;
  }
}

/** SHA-256 of the previous hash and the entry's canonical JSON (RFC 8785), with `sequence` and `prev_hash`, without `hash`. */
function hashEntry(prev_hash: string, sequence: number, entry: EntryContent): string {
  const text = canonicalize({ ...entry, sequence, prev_hash }) ?? '';
  return createHash('sha256').update(prev_hash).update(text).digest('hex');
}

/** Seals entries in order, after the last entry of a chain. */
export function appendToChain(last: ChainPosition, entries: readonly EntryContent[]): SealedEntry[] {
  let { sequence, hash } = last;
  return entries.map((entry) => {
    const prev_hash = hash;
    sequence += 1;
    hash = hashEntry(prev_hash, sequence, entry);
    return { sequence, prev_hash, hash, entry };
  });
}

/** The sequence of the first entry that is missing, moved or changed. Null if all entries follow `previous` unbroken. */
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
