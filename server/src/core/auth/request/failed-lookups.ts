// The limit on failed lookups. A request with an unknown credential, or without a credential for an unknown app,
// costs a query, but no other rate limit counts it, because the caller is unknown.
//
// Successful requests are not counted here, so they need no call to Redis. Each process remembers which addresses and
// credentials are over the limit, and refuses their requests without a query until the window ends.
//
//   lookup of a made-up token  counter `failed_credentials:192.0.2.1`  what happens
//   1st to 5th                 1 … 5                                   look up, count, 401
//   6th to 300th               6 … 300                                 look up, count, pause, 401
//   301st                      301                                     the same; remember "over until 12:01:00"
//   from then on               301                                     pause, 429; no query, not counted
//
// The pause happens outside the guard (`exchange.pausesRefusal`). Most programs wait for a response before they send
// the next request, so even many addresses that each stay below the limit can't keep the process busy.
import { LatestMap } from '../../../kit/latest-map.ts';
import type { Problem } from '../../../kit/problem.ts';
import { rateLimited, toWholeSeconds } from '../limits.ts';
import type { Counters } from '../rate-limits/counters.ts';

/**
 * credentials  per client address: the credential is unknown, revoked or expired
 * apps         per client address: the request has no credential and the app is unknown or not open, it comes from a
 *              page whose origin the app does not list, or it has an unknown hook token
 * kinds        per credential: the credential is valid, but the operation does not accept it
 */
export type FailureKind = 'credentials' | 'apps' | 'kinds';

export const failureQuotas: Readonly<Record<FailureKind, number>> = { credentials: 300, apps: 300, kinds: 1_200 };
const windowSeconds = 60;
const failuresWithoutPause = 5;
const maxKept = 10_000;

export interface FailedLookups {
  /** Counts a failed lookup against the quota, multiplied by `factor`. Returns whether to delay the response. */
  count(kind: FailureKind, who: string, factor?: number): Promise<boolean>;
  /** Returns the 429 if `who` has had too many failures in the current minute. Needs no query. */
  findRefusal(kind: FailureKind, who: string): Problem | undefined;
}

export function createFailedLookups(counters: Counters): FailedLookups {
  /** When the window ends, for each counter above its limit. */
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
  credentials: 'Too many requests from your address had an invalid credential.',
  apps: "Too many unauthenticated requests from your address were for apps or hooks that don't exist or aren't public.",
  kinds: "Too many requests were refused because their operations don't accept this credential.",
};
