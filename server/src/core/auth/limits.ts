// Owns rate limits as data: a figure, a window, whom it counts, and what may scale it (contract §0.8).
import { Problem } from '../../kit/problem.ts';
import { type Plan, rateFactors } from './plans.ts';
import type { CredentialKind } from './tokens.ts';

/**
 * caller: a person's sessions apart from their tokens and keys; a workspace key by itself; an app user over all tokens
 * workspace: a session its own per person; all personal tokens and keys of the workspace share one
 * user: a person over all credentials · app: all callers of the app · address: the client address
 */
export type LimitScope =
  | 'caller'
  | 'workspace'
  | 'user'
  | 'app'
  | 'address'
  | 'caller+app'
  | 'workspace+app'
  | 'address+app';

export interface Limit {
  readonly quota: number;
  readonly windowSeconds: number;
  readonly per: LimitScope;
  /** Operations of one group share one counter. */
  readonly group?: string;
  /** plan: the plan's factor, or the workspace's own · override: only the workspace's own · never: fixed */
  readonly scaledBy: 'plan' | 'override' | 'never';
}

interface LimitOptions {
  readonly group?: string;
  readonly scaledBy?: Limit['scaledBy'];
}

export const perMinute = (quota: number, per: LimitScope, options: LimitOptions = {}): Limit => ({
  quota,
  windowSeconds: 60,
  per,
  scaledBy: per === 'address' ? 'never' : 'plan',
  ...options,
});

/** 429: too many, with how long to wait. */
export function rateLimited(message: string, limit: number, windowSeconds: number, retryAfter: number): Problem {
  return new Problem('rate_limited', 'rate_limited', message, {
    members: { limit, window_seconds: windowSeconds, retry_after: retryAfter },
    headers: { 'retry-after': String(retryAfter) },
  });
}

/** Whole seconds until a window ends, never 0. */
export const toWholeSeconds = (resetMs: number): number => Math.max(1, Math.ceil(resetMs / 1000));

export const unlimited = 'unlimited';

/** What holds for those who use an app, over all its operations and on every plan, in place of an operation's figure. */
export const appUserLimit = perMinute(600, 'caller', { group: 'runtime', scaledBy: 'never' });
export const anonymousLimit = perMinute(120, 'address+app', { group: 'runtime', scaledBy: 'never' });

export interface CountedCaller {
  readonly kind: CredentialKind | 'anonymous';
  readonly credential_id: string;
  readonly user_id: string | null;
  readonly app_user_id: string | null;
  readonly workspace_id: string | null;
}

/** The counter a caller's request falls into. */
export function nameCounter(
  limit: Limit,
  operation: string,
  who: CountedCaller | undefined,
  address: string,
  app: string,
): string {
  const base = `${limit.group ?? operation}:`;
  const [per, withApp] = limit.per.split('+');
  const whose =
    per === 'address' || who === undefined ? `i:${address}` : per === 'app' ? `a:${app}` : ownCounter(per ?? '', who);
  return base + whose + (withApp ? `:${app}` : '');
}

function ownCounter(per: string, who: CountedCaller): string {
  if (who.kind === 'app_user_token') return `e:${who.app_user_id}`;
  if (who.kind === 'workspace_key') return `k:${who.credential_id}`;
  if (per === 'user') return `p:${who.user_id}`;
  if (who.kind === 'session') return `s:${who.user_id}`;
  return per === 'workspace' && who.workspace_id !== null ? `w:${who.workspace_id}` : `u:${who.user_id}`;
}

export function scaleQuota(limit: Limit, plan: Plan | null, override: number | null): number {
  if (limit.scaledBy === 'never') return limit.quota;
  const factor = override ?? (limit.scaledBy === 'plan' && plan !== null ? rateFactors[plan] : 1);
  return Math.max(1, Math.floor(limit.quota * factor));
}
