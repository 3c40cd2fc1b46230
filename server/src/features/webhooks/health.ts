// Owns what a webhook's deliveries say about it: its failures in a row, when people are warned, and when it is turned off
// (docs/contract.md §4.5). Pure.
import type { LastError } from './contract.ts';

export interface WebhookHealth {
  readonly last_trigger_time: Date | null;
  readonly last_error: LastError | null;
  readonly consecutive_failures: number;
  readonly disabled_at: Date | null;
}

export interface AttemptSummary {
  readonly attempted_at: Date;
  /** Null: it succeeded. */
  readonly error: LastError | null;
  /** The first failure of its delivery. Deliveries are counted, not attempts. */
  readonly isFirstFailure: boolean;
}

export const turnOffThreshold = 20;
const warningThresholds = [10, 15, 18];

export interface HealthUpdate extends WebhookHealth {
  /** The figures at which people are told; the last of them turns it off. */
  readonly warnings: readonly number[];
}

/** The webhook's standing after these attempts, in the order they were made. */
export function applyAttempts(standing: WebhookHealth, attempts: readonly AttemptSummary[], now: Date): HealthUpdate {
  const warnings: number[] = [];
  let { last_trigger_time, last_error, consecutive_failures, disabled_at } = standing;
  for (const { attempted_at, error, isFirstFailure: counts } of attempts) {
    if (last_trigger_time === null || attempted_at > last_trigger_time) last_trigger_time = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    else if (counts) {
      consecutive_failures += 1;
      if (warningThresholds.includes(consecutive_failures)) warnings.push(consecutive_failures);
      if (consecutive_failures >= turnOffThreshold && disabled_at === null) {
        disabled_at = now;
        warnings.push(consecutive_failures);
      }
    }
  }
  return { last_trigger_time, last_error, consecutive_failures, disabled_at, warnings };
}
