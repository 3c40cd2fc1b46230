// A launch's identity: the draft, and the key that identifies its campaign on the platform.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CampaignInput } from './contract.ts';

/**
 * The draft's id, the caller's Idempotency-Key, or the content. Each identity can have only one current launch. Keys
 * are scoped to the caller, because two callers may choose the same key.
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

/**
 * The first ten base-32 characters of a hash. The key changes if the previous launch created no campaign or its
 * campaign was removed.
 */
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
