// The reason why a launch was refused. It is stored with the launch, and returned to callers that wait for the
// launch or repeat it.
import type { Reason } from '../../../gateways/ad-platform/index.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { platformUnavailable } from '../accounts/account.ts';

export interface PlatformReason {
  readonly code: string;
  readonly message: string;
  /** The platform's minimum, if the budget is too low and the platform reported one. */
  readonly minimum_daily_budget_micros?: number;
}

export interface LaunchFailure {
  readonly code: 'platform_rejected' | 'ad_platform_unavailable' | 'app_not_found';
  readonly platform_reasons?: readonly PlatformReason[];
  /** Whether the app now has an account. */
  readonly account_created?: boolean;
  readonly retry_after_ms?: number;
}

/**
 * Converts a refusal that changed nothing. A busy platform or an operator's problem is not reported as an input error.
 */
export function toFailure(reasons: readonly Reason[]): LaunchFailure {
  const busy = reasons.find(({ kind }) => kind === 'busy');
  if (busy !== undefined)
    return {
      code: 'ad_platform_unavailable',
      ...(busy.retryAfterMs !== undefined && { retry_after_ms: busy.retryAfterMs }),
    };
  if (reasons.some(({ kind }) => kind === 'operator'))
    return { code: 'ad_platform_unavailable', retry_after_ms: operatorMs };
  return { code: 'platform_rejected', platform_reasons: presentReasons(reasons), account_created: true };
}

/** Operators need time to fix a problem. */
const operatorMs = 300_000;

export const presentReasons = (reasons: readonly Reason[]): PlatformReason[] =>
  reasons.map(({ code, message, minimum }) => ({
    code,
    message,
    ...(minimum !== undefined && { minimum_daily_budget_micros: Number(minimum.micros) }),
  }));

/** Converts an error thrown by a step into a storable form. Undefined if the error is a bug. */
export function fromProblem(error: unknown): LaunchFailure | undefined {
  if (!(error instanceof Problem)) return undefined;
  const { code, members } = error;
  if (code === 'platform_rejected') return { code, ...members };
  return code === 'ad_platform_unavailable' ? { code } : undefined;
}

export function toProblem({ code, platform_reasons, account_created, retry_after_ms }: LaunchFailure): Problem {
  if (code === 'app_not_found') return notFound('app_not_found');
  if (code === 'ad_platform_unavailable') return platformUnavailable(retry_after_ms);
  return new Problem(
    'bad_request',
    'platform_rejected',
    account_created
      ? 'The advertising account exists, but no campaign was created. Fix the problems listed in `platform_reasons`, then send the request again.'
      : 'The ad platform rejected the new account, so no campaign was created. Fix the problems listed in `platform_reasons`, then send the request again.',
    { members: { platform_reasons, account_created } },
  );
}
