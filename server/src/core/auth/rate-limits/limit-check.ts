// A request's rate-limit check. It counts the request, sets the RateLimit headers, and throws 429 above the quota.
//
// Early counting: the counter's name depends on the caller, who is only known after the lookup in PostgreSQL. If
// counting waited for the lookup, every request would need a round trip to PostgreSQL followed by a round trip to
// Redis. Each process therefore keeps a hint per credential: the facts that determine the counter's name. With a hint,
// both round trips start at the same time (request/known-credentials.ts).
//
//   request  hint  what happens
//   1st      none  look up (kind personal_token, user ann) → count `u:ann` → decide; keep the hint
//   2nd      kept  look up, and count `u:ann` at the same time → decide
//
// No decision is based on a hint. For every request, the lookup still reads whether the credential is valid.
import { nameClient } from '../../../kit/http/connection/client-address.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
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
} from '../limits.ts';
import type { AppLookup, LookupResult } from '../request/lookup.ts';
import type { Route } from '../route.ts';
import type { CredentialKind } from '../tokens.ts';
import type { Count, Counters } from './counters.ts';

/** A limit, and this request's count towards it. */
export interface LimitCount {
  readonly limit: Limit;
  readonly counting: Promise<Count>;
}

/** App users and anonymous callers are also limited across all operations, so the tighter of the two limits applies. */
export function limitsFor({ limit }: Route, kind: CredentialKind | 'anonymous' | undefined): readonly Limit[] {
  const own = limit === unlimited ? [] : [limit];
  if (kind === 'app_user_token') return [...own, appUserLimit];
  return kind === 'anonymous' ? [...own, anonymousLimit] : own;
}

/**
 * Adds 1 to each of the request's counters. The counts are sent to Redis together. `appId` must be an existing app. If
 * counters were named after arbitrary text in a path, each made-up id would have its own counter. Requests for unknown
 * apps share one counter.
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

/** The workspace whose plan and factor scale the quotas: an insider's (`toInsider`) or a hook's. */
type QuotaScale = Pick<LookupResult, 'plan' | 'rate_multiplier'>;

/**
 * Waits for the counts, and throws 429 if one exceeds its quota. The RateLimit headers describe the limit with the
 * fewest requests left:
 *
 *   listRecords by an app user, plan free     count  quota  left
 *   entread, the route's                         40    100    60   ← the headers
 *   runtime, across all operations               41    600   559
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

/** Callers are not counted in workspaces other than their own, because strangers could otherwise use up the limit. */
export const toCountedCaller = (lookup: LookupResult): CountedCaller => ({
  ...lookup,
  workspace_id: isInWorkspace(lookup) ? lookup.workspace_id : null,
});

/** The app in the path, if it belongs to the caller's workspace. */
export function toCountedApp(lookup: LookupResult & Partial<AppLookup>): string | null {
  const { app_id = null, app_workspace_id } = lookup;
  return isInWorkspace(lookup) && app_workspace_id === lookup.workspace_id ? app_id : null;
}

/** Quotas are not scaled for callers outside the workspace, because a scaled quota would reveal its plan. */
export const toInsider = (lookup: LookupResult | undefined): LookupResult | undefined =>
  lookup !== undefined && isInWorkspace(lookup) ? lookup : undefined;

/** True for members, and for credentials that belong to the workspace itself (workspace keys and app user tokens). */
export const isInWorkspace = (lookup: LookupResult): boolean => lookup.role !== null || lookup.user_id === null;
