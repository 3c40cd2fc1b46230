// The ways to perform a task whose expressions have been evaluated.
import type { Db } from '../../../../tables.ts';
import type { Json, Then } from '../../definition/model.ts';

/** A task whose expressions have been evaluated. */
export type PreparedTask =
  | {
      readonly kind: 'done';
      readonly shownInput: unknown;
      readonly output: Json;
      readonly next?: Then;
      /** If the task completes, this is written in the transaction that records the step. */
      readonly record?: Write;
    }
  /** Changes records in the transaction that records the step. Returns the output. */
  | {
      readonly kind: 'change';
      readonly shownInput: unknown;
      change(db: Db, limits: { readonly timeoutMs: number; readonly now: Date }): Promise<unknown>;
    }
  /** A call that may take a long time. It is abandoned if `signal` is aborted. */
  | {
      readonly kind: 'call';
      readonly shownInput: unknown;
      call(limits: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<CallResult>;
    };

export interface CallResult {
  readonly output: unknown;
  /** Written in the transaction that records the step, even if the task fails after the call. */
  readonly record?: Write;
}

export type Write = (db: Db, now: Date) => Promise<void>;
