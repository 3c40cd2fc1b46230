// A webhook's health: its consecutive failures, when to send warnings, and when to turn it off
// (docs/api/webhooks.md#failing-webhooks). All functions are pure.
import type { LastError } from './contract.ts';

export interface WebhookHealth {
  readonly last_trigger_time: Date | null;
  readonly last_error: LastError | null;
  readonly consecutive_failures: number;
  readonly disabled_at: Date | null;
}

export interface AttemptSummary {
  readonly attempted_at: Date;
  /** Null if the attempt succeeded. */
  readonly error: LastError | null;
  /** True for a delivery's first failed attempt. Failed deliveries are counted, not failed attempts. */
  readonly isFirstFailure: boolean;
}

export const turnOffThreshold = 20;
const warningThresholds = [10, 15, 18];

export interface HealthUpdate extends WebhookHealth {
  /** The failure counts at which a warning is sent. At 20 the webhook is turned off. */
  readonly warnings: readonly number[];
}

/**
 * Applies attempts in chronological order. Example: after 9 consecutive failures, two deliveries fail for the first
 * time, and then one of them fails again. The count changes 9 → 10 (warning) → 11 → 11. A success resets it to 0.
 */
export function applyAttempts(health: WebhookHealth, attempts: readonly AttemptSummary[], now: Date): HealthUpdate {
  const warnings: number[] = [];
  let { last_trigger_time, last_error, consecutive_failures, disabled_at } = health;
  for (const { attempted_at, error, isFirstFailure: counts } of attempts) {
    if (last_trigger_time === null || attempted_at > last_trigger_time) last_trigger_time = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    // Attempts already running when the webhook was turned off are not counted.
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
