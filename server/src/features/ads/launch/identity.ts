// Owns what makes two launches the same: the draft, and the key by which its campaign is found again at the platform.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CampaignInput } from './contract.ts';

/**
 * The draft's id, else the caller's Idempotency-Key, else the content. Only one launch of it can be current. A key belongs to a
 * caller: two people may choose the same.
 */
export function identify(campaign: CampaignInput, key: string | undefined, caller: string): string {
  if (campaign.draft_id !== undefined) return hash(['draft', campaign.draft_id]);
  return hash(key === undefined ? ['content', campaign] : ['key', caller, key]);
}

const hash = (value: readonly unknown[]): string =>
  createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const keyLength = 10;

/** The first ten characters of a hash in base 32. A launch after one that created nothing, or was removed, has another key. */
export function toLaunchKey(appId: string, identity: string, generation: number): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([appId, identity, generation]))
    .digest();
  const bits = Array.from(digest, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return Array.from(
    { length: keyLength },
    (_, at) => alphabet[Number.parseInt(bits.slice(at * 5, at * 5 + 5), 2)],
  ).join('');
}
