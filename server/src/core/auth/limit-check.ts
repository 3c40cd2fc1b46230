// Owns the rate-limit check of a request: counts it, sets the RateLimit headers, and refuses with 429 beyond the quota.
//
// Early counting: the name of the counter depends on the caller, and only the lookup in PostgreSQL knows the caller.
// Waiting for it would put a round trip to Redis behind a round trip to PostgreSQL on every request. So each process
// keeps a hint per credential: the facts that name its counter. With a hint, both round trips start at the same time
// (known-credentials.ts).
//
//   request  hint  what happens
//   1st      none  look up (kind personal_token, user ann) → count `u:ann` → decide; keep the hint
//   2nd      kept  look up, and count `u:ann` meanwhile → decide
//
// A hint decides nothing: every request still reads in the lookup whether the credential is valid.
import { nameClient } from '../../kit/http/client-address.ts';
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Count, Counters } from './counters.ts';
import {
  anonymousLimit,
  appUserLimit,
  type CountedCaller,
  type Limit,
  nameCounter,
  rateLimited,
  scaleQuota,
  toLimitHeaders,
  toWholeSeconds,
  unlimited,
} from './limits.ts';
import type { AppLookup, LookupResult } from './lookup.ts';
import type { Route } from './route.ts';
import type { CredentialKind } from './tokens.ts';

/** A limit, and the count of this request towards it. */
export interface LimitCount {
  readonly limit: Limit;
  readonly counting: Promise<Count>;
}

/** App users and anonymous callers are also limited over all operations, so the smaller limit applies to them. */
export function limitsFor({ limit }: Route, kind: CredentialKind | 'anonymous' | undefined): readonly Limit[] {
  const own = limit === unlimited ? [] : [limit];
  if (kind === 'app_user_token') return [...own, appUserLimit];
  return kind === 'anonymous' ? [...own, anonymousLimit] : own;
}

/**
 * Adds 1 to each counter of the request. The commands are sent to Redis together. `appId` is an app that exists: what a path
 * contains must not name a counter, or each made-up id would have one of its own. Requests for unknown apps share one.
 */
export const countRequest = (
  { operation, address }: Exchange,
  limits: readonly Limit[],
  caller: CountedCaller | undefined,
  appId: string | null,
  counters: Counters,
): readonly LimitCount[] =>
  limits.map((limit) => {
    const client = caller === undefined || limit.per.startsWith('address') ? nameClient(address) : '';
    const name = nameCounter(limit, operation.name, caller, client, appId ?? '');
    return { limit, counting: counters.add(name, limit.windowSeconds) };
  });

/** What scales the quotas: the workspace of an insider (`toInsider`), or of a hook. */
type QuotaScale = Pick<LookupResult, 'plan' | 'rate_multiplier'>;

/**
 * Waits for the counts, and throws 429 if one is above its quota. The RateLimit headers are about the limit that has the
 * least left:
 *
 *   listRecords of an app user, plan free     count  quota  left
 *   entread, the route's                         40    100    60   ← the headers
 *   runtime, over all operations                 41    600   559
 */
export async function enforceLimits(
  exchange: Exchange,
  counts: readonly LimitCount[],
  scale: QuotaScale | undefined,
): Promise<void> {
  let tightest: { limit: Limit; quota: number; left: number; resetMs: number } | undefined;
  for (const { limit, counting } of counts) {
    const { count, resetMs, shared } = await counting;
    if (!shared && !exchange.partial.includes('rate_limit')) exchange.partial.push('rate_limit');
    const quota = scaleQuota(limit, scale?.plan ?? null, scale?.rate_multiplier ?? null);
    const left = quota - count;
    if (tightest === undefined || left < tightest.left) tightest = { limit, quota, left, resetMs };
  }
  if (tightest === undefined) return;
  const { limit, quota, left, resetMs } = tightest;
  const seconds = toWholeSeconds(resetMs);
  const name = limit.group ?? exchange.operation.name;
  exchange.reply.headers(toLimitHeaders(name, quota, limit.windowSeconds, left, seconds));
  if (left >= 0) return;
  throw rateLimited(
    `At most ${quota} requests per ${limit.windowSeconds} seconds are allowed. Retry in ${seconds} seconds.`,
    quota,
    limit.windowSeconds,
    seconds,
  );
}

/** A caller is never counted in a workspace that is not theirs: a stranger could use up its limit. */
export const toCountedCaller = (lookup: LookupResult): CountedCaller => ({
  ...lookup,
  workspace_id: isInWorkspace(lookup) ? lookup.workspace_id : null,
});

/** The app that the path names, if it is one of the caller's workspace. */
export function toCountedApp(lookup: LookupResult & Partial<AppLookup>): string | null {
  const { app_id = null, app_workspace_id } = lookup;
  return isInWorkspace(lookup) && app_workspace_id === lookup.workspace_id ? app_id : null;
}

/** A caller outside the workspace must not learn its plan from a quota, so quotas are not scaled for them. */
export const toInsider = (lookup: LookupResult | undefined): LookupResult | undefined =>
  lookup !== undefined && isInWorkspace(lookup) ? lookup : undefined;

/** A member, or a credential that belongs to the workspace itself (workspace key, app user token). */
export const isInWorkspace = (lookup: LookupResult): boolean => lookup.role !== null || lookup.user_id === null;
