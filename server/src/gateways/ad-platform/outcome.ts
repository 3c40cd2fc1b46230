// Owns what a call of the ad platform can end with. Not knowing whether a change was applied is one of the outcomes.

/** A change of something on the platform. */
export type Change<Result> =
  | { readonly outcome: 'applied'; readonly result: Result; readonly requestId: string | null }
  /** The platform answered that it changed nothing, and why. */
  | { readonly outcome: 'refused'; readonly reasons: readonly Reason[]; readonly requestId: string | null }
  /** Sent, without a readable answer: it may have been applied. Read before you send it again. */
  | { readonly outcome: 'unknown'; readonly requestId: string | null }
  /** Certainly not sent: nothing is configured, there is no access token, or no connection. */
  | Unavailable;

/** A read. What the platform refuses to answer is not available either. */
export type Reading<Result> =
  | { readonly outcome: 'read'; readonly result: Result; readonly requestId: string | null }
  | Unavailable;

export interface Unavailable {
  readonly outcome: 'unavailable';
  /** For the log: `not_configured`, `timeout`, `status_503`, `authorizationError.USER_PERMISSION_DENIED` and the like. */
  readonly reason: string;
}

export interface Reason {
  /** What a caller does about it. `operator`: only the operator can do something, such as grant access. */
  readonly kind: 'duplicate_name' | 'budget_too_low' | 'busy' | 'operator' | 'input';
  /** The platform's own words, such as `campaignBudgetError.BUDGET_BELOW_PER_DAY_MINIMUM`. */
  readonly code: string;
  readonly message: string;
  /** The part of the request, such as `mutate_operations[0].campaign_budget_operation.create.amount_micros`. */
  readonly field: string;
  /** Which operation of a mutate it is about. Undefined if it is about the whole request. */
  readonly operation: number | undefined;
  /** With `budget_too_low`, if the platform says it. */
  readonly minimum?: { readonly currencyCode: string; readonly micros: string };
  /** With `busy`: how long to wait. Undefined if the platform does not say it. */
  readonly retryAfterMs?: number;
}
