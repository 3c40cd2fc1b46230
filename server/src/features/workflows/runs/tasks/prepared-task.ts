// Owns how a task is carried out once its expressions have been evaluated.
import type { Db } from '../../../../tables.ts';
import type { Json, Then } from '../../definition/model.ts';

/** A task whose expressions have been evaluated. */
export type PreparedTask =
  | { readonly kind: 'done'; readonly shownInput: unknown; readonly output: Json; readonly next?: Then }
  /** Changes rows: in the transaction that records the step. Returns the output. */
  | {
      readonly kind: 'transaction';
      readonly shownInput: unknown;
      run(db: Db, limits: { readonly timeoutMs: number; readonly now: Date }): Promise<unknown>;
    }
  /** Calls the outside, which may take long. Abandoned if `signal` is aborted. */
  | {
      readonly kind: 'call';
      readonly shownInput: unknown;
      call(limits: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<CallResult>;
    };

export interface CallResult {
  readonly output: unknown;
  /** Written in the transaction that records the step. */
  readonly record?: (db: Db, now: Date) => Promise<void>;
}
