// Owns the health of a webhook: its consecutive failures, when people are warned, and when it is turned off
// (docs/api/webhooks.md#failing-webhooks). Pure.
import type { LastError } from './contract.ts';

export interface WebhookHealth {
  readonly last_trigger_time: Date | null;
  readonly last_error: LastError | null;
  readonly consecutive_failures: number;
  readonly disabled_at: Date | null;
}

export interface AttemptSummary {
  readonly attempted_at: Date;
  /** Null: the attempt succeeded. */
  readonly error: LastError | null;
  /** The first failed attempt of its delivery. Failed deliveries are counted, not failed attempts. */
  readonly isFirstFailure: boolean;
}

export const turnOffThreshold = 20;
const warningThresholds = [10, 15, 18];

export interface HealthUpdate extends WebhookHealth {
  /** The numbers of consecutive failures at which people are warned. 20 turns the webhook off. */
  readonly warnings: readonly number[];
}

/**
 * Applies attempts in the order they were made. Example: 9 consecutive failures, then two deliveries fail for the first
 * time and one of them fails again: 9 → 10 (warning) → 11 → 11. A success then sets 0.
 */
export function applyAttempts(health: WebhookHealth, attempts: readonly AttemptSummary[], now: Date): HealthUpdate {
  const warnings: number[] = [];
  let { last_trigger_time, last_error, consecutive_failures, disabled_at } = health;
  for (const { attempted_at, error, isFirstFailure: counts } of attempts) {
    if (last_trigger_time === null || attempted_at > last_trigger_time) last_trigger_time = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    // Attempts that were running when the webhook was turned off are no longer counted.
    else if (counts && disabled_at === null) {
      consecutive_failures += 1;
      if (warningThresholds.includes(consecutive_failures)) warnings.push(consecutive_failures);
      if (consecutive_failures >= turnOffThreshold) {
        disabled_at = now;
        warnings.push(consecutive_failures);
      }
    }
  }
  return { last_trigger_time, last_error, consecutive_failures, disabled_at, warnings };
}
