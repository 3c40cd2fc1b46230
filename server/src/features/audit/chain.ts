// Owns the chain: how an entry's hash is made of the one before it, and how a broken one is found. Pure.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const firstPrevHash = '0'.repeat(64);

export interface SealedEntry {
  readonly sequence: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** SHA-256 over the previous hash and the canonical JSON (RFC 8785) of the entry with its place, without its own hash. */
function hashEntry(prev_hash: string, sequence: number, entry: Readonly<Record<string, unknown>>): string {
  const text = canonicalize({ ...entry, sequence, prev_hash }) ?? '';
  return createHash('sha256').update(prev_hash).update(text).digest('hex');
}

/** Gives entries their place at the end of a chain. */
export function appendToChain(
  head: { sequence: number; hash: string },
  entries: readonly Readonly<Record<string, unknown>>[],
): SealedEntry[] {
  let { sequence, hash } = head;
  return entries.map((entry) => {
    const prev_hash = hash;
    sequence += 1;
    hash = hashEntry(prev_hash, sequence, entry);
    return { sequence, prev_hash, hash, entry };
  });
}

/** The sequence number at which a run of links stops being what was sealed; null when it is whole. */
export function findFirstBroken(
  links: readonly SealedEntry[],
  before: { sequence: number; hash: string },
): number | null {
  let { sequence, hash } = before;
  for (const link of links) {
    sequence += 1;
    const fits =
      link.sequence === sequence && link.prev_hash === hash && link.hash === hashEntry(hash, sequence, link.entry);
    if (!fits) return sequence;
    hash = link.hash;
  }
  return null;
}
