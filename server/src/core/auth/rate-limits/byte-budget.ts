// Byte budgets: how many bytes operations may receive and process in a window
// (docs/api/conventions.md#byte-budgets). Rate limits count only requests, but a single request may carry 10 MiB or
// change 64 MiB of records.
import { nameClient } from '../../../kit/http/connection/client-address.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
import { declaredLength } from '../../../kit/http/request/receive.ts';
import type { Problem } from '../../../kit/problem.ts';
import { type ByteBudget, type Limit, nameCounter, rateLimited, scaleQuota, toWholeSeconds } from '../limits.ts';
import type { AnonymousLookup, LookupResult } from '../request/lookup.ts';
import type { Route } from '../route.ts';
import type { Counters } from './counters.ts';
import { toCountedCaller, toInsider } from './limit-check.ts';

/**
 * Counts the body's declared length before the body is read, and throws 429 if the route's budget is used up. For a
 * GET, only the bytes that its handler reports are counted.
 */
export async function enforceByteBudget(
  exchange: Exchange,
  { method }: Route,
  limits: ByteBudget,
  lookup: LookupResult | AnonymousLookup,
  counters: Counters,
): Promise<void> {
  exchange.countBytes = createByteCount(exchange, limits, lookup, counters);
  if (method === 'GET') return;
  const refusal = await exchange.countBytes(declaredLength(exchange.request.raw));
  if (refusal !== undefined) throw refusal;
}

/** Adds bytes that a worker processed. This never throws, but later requests get 429 if the budget is used up. */
export const countWorkspaceBytes = async (
  counters: Counters,
  limits: ByteBudget,
  workspace_id: string,
  bytes: number,
): Promise<void> => {
  for (const limit of limits.filter(({ per }) => per === 'whole workspace'))
    await counters.add(nameWorkspaceCounter(limit, workspace_id), limit.windowSeconds, bytes);
};

const nameWorkspaceCounter = ({ group }: Limit, workspace_id: string): string => `${group}:t:${workspace_id}`;

/**
 * Returns a function that counts bytes and, once the budget is exceeded, returns the 429. Anonymous callers are counted
 * by address instead of by workspace, so strangers can't use up the workspace's budget.
 */
function createByteCount(
  exchange: Exchange,
  limits: ByteBudget,
  lookup: LookupResult | AnonymousLookup,
  counters: Counters,
): (bytes: number) => Promise<Problem | undefined> {
  const caller = lookup.kind === 'anonymous' ? undefined : toCountedCaller(lookup);
  const insider = lookup.kind === 'anonymous' ? undefined : toInsider(lookup);
  const counted = limits.flatMap((limit) => {
    const quota = scaleQuota(limit, insider?.plan ?? null, insider?.rate_multiplier ?? null);
    if (limit.per !== 'whole workspace')
      return [
        { limit, quota, name: nameCounter(limit, exchange.operation.name, caller, nameClient(exchange.address), '') },
      ];
    return caller?.workspace_id ? [{ limit, quota, name: nameWorkspaceCounter(limit, caller.workspace_id) }] : [];
  });
  return async (bytes) => {
    const adding = counted.map(({ name, limit }) => counters.add(name, limit.windowSeconds, bytes));
    for (const [index, { limit, quota }] of counted.entries()) {
      const count = await adding[index];
      if (count !== undefined && count.count > quota) return refuse(exchange, limit, quota, count.resetMs);
    }
    return undefined;
  };
}

function refuse({ reply }: Exchange, { group, windowSeconds, per }: Limit, quota: number, resetMs: number): Problem {
  const seconds = toWholeSeconds(resetMs);
  reply.header('ratelimit-policy', `"${group}";q=${quota};w=${windowSeconds};qu="content-bytes"`);
  reply.header('ratelimit', `"${group}";r=0;t=${seconds}`);
  const whom = per === 'caller' ? 'for each caller' : 'across the workspace';
  return rateLimited(
    `Operations of this kind are limited to ${quota} bytes per ${windowSeconds} seconds ${whom}. Retry in ${seconds} seconds.`,
    quota,
    windowSeconds,
    seconds,
  );
}
