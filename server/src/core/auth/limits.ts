// The definition of rate limits: a quota, a window, the callers who share a counter, and the factor that scales
// the quota (docs/api/conventions.md#rate-limits). Also owns byte budgets, which are limits in bytes (#byte-budgets).
import { Problem } from '../../kit/problem.ts';
import { type Plan, rateFactors } from './plans.ts';
import type { CredentialKind } from './tokens.ts';

/**
 * The requests that share a counter:
 *
 *   caller     a person's sessions; a person's tokens and keys; one workspace key; all tokens of one app user
 *   workspace  a person's sessions in the workspace; all personal tokens and keys in the workspace, combined
 *   user       everything one person sends, with any credential
 *   app        everything sent to one app
 *   hook       everything sent to one hook
 *   address    everything sent from one client address (IPv6: from one /64)
 *   whole workspace  everything that a workspace's members, keys and app users send (byte budgets only)
 *   x+app      like x, counted separately for each app
 */
export type LimitScope =
  | 'caller'
  | 'workspace'
  | 'user'
  | 'app'
  | 'hook'
  | 'address'
  | 'whole workspace'
  | 'caller+app'
  | 'workspace+app'
  | 'address+app';

export interface Limit {
  readonly quota: number;
  readonly windowSeconds: number;
  readonly per: LimitScope;
  /** Operations in the same group share one counter. */
  readonly group?: string;
  /**
   * `plan` scales the quota by the workspace's own factor, or else by its plan's factor. `override` scales it only by
   * the workspace's own factor. `never` does not scale it.
   */
  readonly scaledBy: 'plan' | 'override' | 'never';
}

export const isPerApp = ({ per }: Limit): boolean => per.endsWith('app');

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

/** The headers that report the remaining quota, and the seconds until it resets. */
export const toLimitHeaders = (name: string, quota: number, windowSeconds: number, left: number, seconds: number) => ({
  'ratelimit-policy': `"${name}";q=${quota};w=${windowSeconds}`,
  ratelimit: `"${name}";r=${Math.max(0, left)};t=${seconds}`,
});

/** A 429 with the number of seconds to wait before retrying. */
export function rateLimited(message: string, quota: number, windowSeconds: number, retryAfter: number): Problem {
  return new Problem('rate_limited', 'rate_limited', message, {
    members: { limit: quota, window_seconds: windowSeconds, retry_after: retryAfter },
    headers: { 'retry-after': String(retryAfter) },
  });
}

/** Rounds up to at least 1, because `Retry-After: 0` would invite an immediate retry. */
export const toWholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));

export const unlimited = 'unlimited';

/** App users and anonymous callers are also limited across all operations, whatever the plan. */
export const appUserLimit = perMinute(600, 'caller', { group: 'runtime', scaledBy: 'never' });
export const anonymousLimit = perMinute(120, 'address+app', { group: 'runtime', scaledBy: 'never' });

// ---- byte budgets: limits whose quota is in bytes

/** A limit for one caller, and a limit for the whole workspace. */
export type ByteBudget = readonly Limit[];

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

const budget = (group: string, windowSeconds: number, workspaceBytes: number, callerBytes?: number): ByteBudget => {
  const limit = (quota: number, per: Limit['per']): Limit => ({ quota, windowSeconds, per, group, scaledBy: 'plan' });
  const whole = limit(workspaceBytes, 'whole workspace');
  return callerBytes === undefined ? [whole] : [limit(callerBytes, 'caller'), whole];
};

/** For operations on many records. Counts request bodies, and the stored records that are read, changed or deleted. */
export const bulkBytes = budget('bulk_bytes', 60, 180 * mebibyte, 60 * mebibyte);
/** For writing app files. */
export const fileBytes = budget('file_bytes', 60, 240 * mebibyte, 120 * mebibyte);
/** For writing and downloading export archives. */
export const exportBytes = budget('export_bytes', 24 * 60 * 60, 10 * gibibyte);

/** The facts from which a counter's name is built. */
export interface CountedCaller {
  readonly kind: CredentialKind;
  readonly credential_id: string;
  readonly user_id: string | null;
  readonly app_user_id: string | null;
  readonly workspace_id: string | null;
}

/**
 * Returns the name of the counter for a request. `app` is the app or hook in the path. Examples: `listApps:u:<user>`,
 * `listMembers:s:<user>:<workspace>`, `runtime:e:<app user>`, `entread:w:<workspace>:<app>`, `signIn:i:192.0.2.1`,
 * `receiveHook:h:<hook>`.
 */
export function nameCounter(
  limit: Limit,
  operation: string,
  caller: CountedCaller | undefined,
  client: string,
  app: string,
): string {
  const [per = '', perApp] = limit.per.split('+');
  const owner = nameOwner(per, caller, client, app);
  return `${limit.group ?? operation}:${owner}${perApp ? `:${app}` : ''}`;
}

function nameOwner(per: string, caller: CountedCaller | undefined, client: string, app: string): string {
  if (per === 'hook') return `h:${app}`;
  if (per === 'address' || caller === undefined) return `i:${client}`;
  if (per === 'app') return `a:${app}`;
  if (caller.kind === 'app_user_token') return `e:${caller.app_user_id}`;
  if (caller.kind === 'workspace_key') return `k:${caller.credential_id}`;
  if (per === 'user') return `p:${caller.user_id}`;
  const isPerWorkspace = per === 'workspace' && caller.workspace_id !== null;
  if (caller.kind === 'session')
    return isPerWorkspace ? `s:${caller.user_id}:${caller.workspace_id}` : `s:${caller.user_id}`;
  return isPerWorkspace ? `w:${caller.workspace_id}` : `u:${caller.user_id}`;
}

/** `override` is the workspace's own factor. */
export function scaleQuota(limit: Limit, plan: Plan | null, override: number | null): number {
  if (limit.scaledBy === 'never') return limit.quota;
  const factor = override ?? (limit.scaledBy === 'plan' && plan !== null ? rateFactors[plan] : 1);
  return Math.max(1, Math.floor(limit.quota * factor));
}
