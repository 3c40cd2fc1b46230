// Owns why a launch was refused: stored with the launch, and answered to whoever waits for it or sends it again.
import type { Reason } from '../../../gateways/ad-platform/index.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { platformUnavailable } from '../accounts/account.ts';

export interface PlatformReason {
  readonly code: string;
  readonly message: string;
  /** If the budget is too low for the platform, and it says how much it asks for. */
  readonly minimum_daily_budget_micros?: number;
}

export interface LaunchFailure {
  readonly code: 'platform_rejected' | 'ad_platform_unavailable' | 'app_not_found';
  readonly platform_reasons?: readonly PlatformReason[];
  /** The app has an account now. */
  readonly account_created?: boolean;
  readonly retry_after_ms?: number;
}

/** A refusal that changed nothing. What is busy, or the operator's to change, is no fault of the input. */
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

/** Nobody corrects it at once. */
const operatorMs = 300_000;

export const presentReasons = (reasons: readonly Reason[]): PlatformReason[] =>
  reasons.map(({ code, message, minimum }) => ({
    code,
    message,
    ...(minimum !== undefined && { minimum_daily_budget_micros: Number(minimum.micros) }),
  }));

/** What a step threw, as something that can be stored. Undefined: it is a fault of the program. */
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
      ? 'No campaign was created. The app has an account. Correct what `platform_reasons` names, then send the request again.'
      : 'The ad platform refused to create the account, so that no campaign was created either. Correct what `platform_reasons` names, then send the request again.',
    { members: { platform_reasons, account_created } },
  );
}
