// Owns the limit on lookups that lead nowhere. A request with an unknown credential, or to an unknown app without one, costs
// a query and is counted in no other rate limit, because nobody is known whose limit it could be.
//
// Only such lookups are counted, so a request that succeeds costs no call of Redis. What the counts say is kept in the
// process: whoever is above the limit is refused before the query, until the window ends.
//
//   lookup of a made-up token  counter `failed_credentials:192.0.2.1`  what happens
//   1st to 5th                 1 … 5                                   look up, count, 401
//   6th to 300th               6 … 300                                 look up, count, pause, 401
//   301st                      301                                     the same; keep "over until 12:01:00"
//   from then on               301                                     pause, 429, without a query and without a count
//
// The pause is outside of the guard (`pausesRefusal` of the exchange). Most programs wait for an answer before they send the
// next request, so a storm from many addresses, each below its limit, does not keep the process busy either.
import { LatestMap } from '../../kit/latest-map.ts';
import type { Problem } from '../../kit/problem.ts';
import type { Counters } from './counters.ts';
import { rateLimited, toWholeSeconds } from './limits.ts';

/**
 * credentials  per client address: the credential is unknown, revoked or expired
 * apps         per client address: no credential, and the app is unknown or not open; or a page of an origin that the app
 *              does not list; or the token of a hook that does not exist
 * kinds        per credential: it is valid, but the operation does not accept it
 */
export type FailureKind = 'credentials' | 'apps' | 'kinds';

export const failureQuotas: Readonly<Record<FailureKind, number>> = { credentials: 300, apps: 300, kinds: 1_200 };
const windowSeconds = 60;
const failuresWithoutPause = 5;
const maxKept = 10_000;

export interface FailedLookups {
  /** Counts a failed lookup, towards the quota times `factor`. Returns whether the answer should pause. */
  count(kind: FailureKind, who: string, factor?: number): Promise<boolean>;
  /** The 429 for `who`, if there were too many in this minute. Known without a query. */
  findRefusal(kind: FailureKind, who: string): Problem | undefined;
}

export function createFailedLookups(counters: Counters): FailedLookups {
  /** The time at which the window of a counter ends whose count is above the limit. */
  const overUntil = new LatestMap<string, number>(maxKept);

  return {
    async count(kind, who, factor = 1) {
      const { count, resetMs } = await counters.add(`failed_${kind}:${who}`, windowSeconds);
      if (count > failureQuotas[kind] * factor) overUntil.set(`${kind}:${who}`, performance.now() + resetMs);
      return count > failuresWithoutPause;
    },
    findRefusal(kind, who) {
      if (overUntil.size === 0) return undefined;
      const name = `${kind}:${who}`;
      const msLeft = (overUntil.get(name) ?? 0) - performance.now();
      if (msLeft > 0) return tooManyFailures(kind, toWholeSeconds(msLeft));
      overUntil.delete(name);
      return undefined;
    },
  };
}

const tooManyFailures = (kind: FailureKind, seconds: number): Problem =>
  rateLimited(`${messages[kind]} Retry in ${seconds} seconds.`, failureQuotas[kind], windowSeconds, seconds);

const messages: Record<FailureKind, string> = {
  credentials: 'Too many requests from your address had a credential that is not valid.',
  apps: 'Too many requests from your address, without a credential, were for apps or hooks that are unknown or not open.',
  kinds: 'Too many requests were refused because the operation does not accept this credential.',
};
