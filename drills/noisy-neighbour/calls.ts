// The record of each call that the quiet workspace makes.

export const callKinds = ['read', 'put', 'list', 'members'] as const;
export type CallKind = (typeof callKinds)[number];

export interface QuietCall {
  readonly kind: CallKind;
  /** The time at which the call should have started. */
  readonly at: number;
  readonly ms: number;
  /** 0 if there was no response. */
  readonly status: number;
  /** The call's number among calls of its kind. A `put` writes it to the record, and thus to the webhook's delivery. */
  readonly n: number;
}
