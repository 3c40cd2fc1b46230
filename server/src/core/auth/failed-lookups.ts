// Owns the limit on lookups that lead nowhere. A request with an unknown credential, or to an unknown app without one, costs
// a query and is counted in no other rate limit, because nobody is known whose limit it could be.
//
// Only such lookups are counted, so a request that succeeds costs no call of Redis. What the counts say is kept in the
// process: whoever is above the limit is refused before the query, until the window ends.
//
//   lookup of a made-up token  counter `failed_credentials:192.0.2.1`  what happens
//   1st to 300th               1 … 300                                 look up, 401, count
//   301st                      301                                     look up, 401, count; keep "over until 12:01:00"
//   from then on               301                                     429, without a query and without a count
import type { Counters } from './counters.ts';
import { rateLimited, toWholeSeconds } from './limits.ts';

/**
 * credentials  per client address: the credential is unknown, revoked or expired
 * apps         per client address: no credential, and the app is unknown or not open; or a page of an origin that the app
 *              does not list
 * kinds        per credential: it is valid, but the operation does not accept it
 */
export type FailureKind = 'credentials' | 'apps' | 'kinds';

export const failureQuota = 300;
const windowSeconds = 60;
const maxKept = 10_000;

export interface FailedLookups {
  /** Counts a failed lookup. The caller does not wait for the count. */
  count(kind: FailureKind, who: string): void;
  /** Whether `who` has failed too often in this minute. Known without a query. */
  isOver(kind: FailureKind, who: string): boolean;
  /** Throws 429 if so. */
  refuseIfOver(kind: FailureKind, who: string): void;
}

export function createFailedLookups(counters: Counters): FailedLookups {
  /** The time at which the window of a counter ends whose count is above the limit. */
  const overUntil = new Map<string, number>();

  function msLeft(kind: FailureKind, who: string): number {
    if (overUntil.size === 0) return 0;
    const name = `${kind}:${who}`;
    const left = (overUntil.get(name) ?? 0) - performance.now();
    if (left <= 0) overUntil.delete(name);
    return Math.max(0, left);
  }

  function keep(name: string, until: number): void {
    if (overUntil.size >= maxKept) {
      const [oldest] = overUntil.keys();
      if (oldest !== undefined) overUntil.delete(oldest);
    }
    overUntil.set(name, until);
  }

  return {
    count(kind, who) {
      void counters.add(`failed_${kind}:${who}`, windowSeconds).then(({ count, resetMs }) => {
        if (count > failureQuota) keep(`${kind}:${who}`, performance.now() + resetMs);
      });
    },
    isOver: (kind, who) => msLeft(kind, who) > 0,
    refuseIfOver(kind, who) {
      const ms = msLeft(kind, who);
      if (ms === 0) return;
      const seconds = toWholeSeconds(ms);
      throw rateLimited(`${messages[kind]} Retry in ${seconds} seconds.`, failureQuota, windowSeconds, seconds);
    },
  };
}

const messages: Record<FailureKind, string> = {
  credentials: 'Too many requests from your address had a credential that is not valid.',
  apps: 'Too many requests from your address, without a credential, were for apps that are unknown or not open.',
  kinds: 'Too many requests were refused because the operation does not accept this credential.',
};
