// The outcomes of a call to the ad platform, including not knowing whether a change was applied.

/** The outcome of a change on the platform. */
export type Change<Result> =
  | { readonly outcome: 'applied'; readonly result: Result; readonly requestId: string | null }
  /** The platform replied that it changed nothing, and gave the reasons. */
  | { readonly outcome: 'refused'; readonly reasons: readonly Reason[]; readonly requestId: string | null }
  /**
   * The request was sent, but there was no readable response, so it may have been applied. Read the state before
   * resending it.
   */
  | { readonly outcome: 'unknown'; readonly requestId: string | null }
  /**
   * The request was certainly not sent, because the platform is not configured or there was no access token or
   * connection.
   */
  | Unavailable;

/** The outcome of a read. A refused read counts as unavailable. */
export type Reading<Result> =
  | { readonly outcome: 'read'; readonly result: Result; readonly requestId: string | null }
  | Unavailable;

export interface Unavailable {
  readonly outcome: 'unavailable';
  /** For the log. Examples: `not_configured`, `timeout`, `status_503`, `authorizationError.USER_PERMISSION_DENIED`. */
  readonly reason: string;
}

export interface Reason {
  /**
   * The kind of problem, which determines how a caller handles it. `operator` means that only the operator can help,
   * for example by granting access.
   */
  readonly kind: 'duplicate_name' | 'budget_too_low' | 'busy' | 'operator' | 'input';
  /** The platform's own code, such as `campaignBudgetError.BUDGET_BELOW_PER_DAY_MINIMUM`. */
  readonly code: string;
  readonly message: string;
  /** The part of the request, such as `mutate_operations[0].campaign_budget_operation.create.amount_micros`. */
  readonly field: string;
  /** The index of the mutate operation that failed. Undefined if the reason concerns the whole request. */
  readonly operation: number | undefined;
  /** Set with `budget_too_low`, if the platform reports a minimum. */
  readonly minimum?: { readonly currencyCode: string; readonly micros: string };
  /** Set with `busy`: how long to wait. Undefined if the platform does not report it. */
  readonly retryAfterMs?: number;
}
