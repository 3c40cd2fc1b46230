// Owns what is noted of each call of the quiet workspace.

export const callKinds = ['read', 'put', 'list', 'members'] as const;
export type CallKind = (typeof callKinds)[number];

export interface QuietCall {
  readonly kind: CallKind;
  /** When it should have started. */
  readonly at: number;
  readonly ms: number;
  /** 0 if there was no answer. */
  readonly status: number;
  /** Counts the calls of one kind. A `put` writes it into the record, and so into the webhook's delivery. */
  readonly n: number;
}
