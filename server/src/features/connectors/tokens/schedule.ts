// The token refresh schedule (docs/internals/connectors.md#refreshing): before tokens expire, and again after a
// failure. Pure.

const minuteMs = 60 * 1000;
const leadMs = 5 * minuteMs;

/** The delay after each successive failure. The last delay applies to all further failures. */
const retryDelaysMs = [minuteMs, 5 * minuteMs, 15 * minuteMs, 60 * minuteMs] as const;

/** While one process waits for the service's response, others send no request. Longer than any request can take. */
export const leaseMs = minuteMs;

/**
 * When to refresh newly issued tokens: 5 minutes before they expire, or halfway through a lifetime of less than 10
 * minutes. Null if they do not expire or there is no refresh token.
 */
export function planRefresh(issuedAt: Date, expiresAt: Date | undefined, hasRefreshToken: boolean): Date | null {
  if (expiresAt === undefined || !hasRefreshToken) return null;
  const lifetimeMs = expiresAt.getTime() - issuedAt.getTime();
  return new Date(expiresAt.getTime() - Math.min(leadMs, lifetimeMs / 2));
}

const delayAfter = (failures: number): number => retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? 0;

/**
 * When to try again after this many failures. The last scheduled attempt is at the token's expiry. After that the time
 * is null, and only a use of the connection triggers another attempt. A refresh with an unknown outcome is retried
 * until the outcome is known.
 */
export function planRetry(now: Date, failures: number, expiresAt: Date | null, isOutcomeKnown: boolean): Date | null {
  const next = now.getTime() + delayAfter(failures);
  if (expiresAt === null) return new Date(next);
  if (now < expiresAt) return new Date(Math.min(next, expiresAt.getTime()));
  return isOutcomeKnown ? null : new Date(next);
}

export interface TokenTimes {
  readonly expires_at: Date | null;
  readonly next_refresh_at: Date | null;
  readonly refresh_attempts: number;
  readonly refresh_ended_at: Date | null;
}

export const isExpired = ({ expires_at }: Pick<TokenTimes, 'expires_at'>, now: Date): boolean =>
  expires_at !== null && expires_at <= now;

/** Whether a process is waiting for the service's response. */
export const isClaimed = ({ refresh_started_at }: { readonly refresh_started_at: Date | null }, now: Date): boolean =>
  refresh_started_at !== null && now.getTime() - refresh_started_at.getTime() < leaseMs;

/**
 * Whether a use of the connection should refresh first. Refreshing an expired token is tried once a minute, even if the
 * scheduled delay has reached an hour.
 */
export function isWorthRefreshing(times: TokenTimes, now: Date): boolean {
  const { next_refresh_at, refresh_attempts, refresh_ended_at } = times;
  if (next_refresh_at !== null && next_refresh_at <= now) return true;
  if (!isExpired(times, now)) return false;
  return refresh_attempts === 0 || isMinuteOld(refresh_ended_at, now);
}

/**
 * Whether to refresh an unexpired token that the service has refused. A token issued less than a minute ago is not
 * refreshed, because the 401 probably has another cause. After a failure, the schedule decides.
 */
export function mayRefreshRefused(times: TokenTimes & { readonly connected_at: Date | null }, now: Date): boolean {
  const { next_refresh_at, refresh_attempts, refresh_ended_at, connected_at } = times;
  if (refresh_attempts > 0 && next_refresh_at !== null && next_refresh_at > now) return false;
  return isMinuteOld(refresh_ended_at ?? connected_at, now);
}

const isMinuteOld = (time: Date | null, now: Date): boolean =>
  time === null || now.getTime() - time.getTime() >= minuteMs;
