// Owns what a webhook's deliveries say about it: its failures in a row, when people are warned, and when it is turned off
// (docs/contract.md §4.5). Pure.
import type { LastError } from './contract.ts';

export interface Standing {
  readonly last_trigger_time: Date | null;
  readonly last_error: LastError | null;
  readonly consecutive_failures: number;
  readonly disabled_at: Date | null;
}

export interface Attempted {
  readonly attempted_at: Date;
  /** Null: it succeeded. */
  readonly error: LastError | null;
  /** The first failure of its delivery. Deliveries are counted, not attempts. */
  readonly counts: boolean;
}

export const turnedOffAt = 20;
const warnedAt = [10, 15, 18];

export interface Judged extends Standing {
  /** The figures at which people are told; the last of them turns it off. */
  readonly warnings: readonly number[];
}

/** The webhook's standing after these attempts, in the order they were made. */
export function standingAfter(standing: Standing, attempts: readonly Attempted[], now: Date): Judged {
  const warnings: number[] = [];
  let { last_trigger_time, last_error, consecutive_failures, disabled_at } = standing;
  for (const { attempted_at, error, counts } of attempts) {
    if (last_trigger_time === null || attempted_at > last_trigger_time) last_trigger_time = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    else if (counts) {
      consecutive_failures += 1;
      if (warnedAt.includes(consecutive_failures)) warnings.push(consecutive_failures);
      if (consecutive_failures >= turnedOffAt && disabled_at === null) {
        disabled_at = now;
        warnings.push(consecutive_failures);
      }
    }
  }
  return { last_trigger_time, last_error, consecutive_failures, disabled_at, warnings };
}
