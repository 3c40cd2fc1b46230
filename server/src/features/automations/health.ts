// The effect of runs on their automation: when it last ran, why it failed, and whether it is turned off
// (docs/api/automations.md#failing-automations).
import type { AutomationRow } from './contract.ts';
import type { Health } from './store/runs.ts';

/** The part of an attempt's result that concerns the automation. */
export interface RunReport {
  readonly automation_id: string;
  readonly attempted_at: Date;
  /** Why the attempt failed, or null if it succeeded. */
  readonly error: string | null;
  /** Whether the run ended with this attempt. Failed runs are counted, not failed attempts. */
  readonly isEnd: boolean;
  /** Set if the automation can no longer run and must be turned off immediately. */
  readonly turnsOff?: true;
}

export const maxFailures = 20;

export interface HealthUpdate extends Health {
  readonly isTurnedOff: boolean;
}

/**
 * Applies reports in chronological order. Example: after 18 consecutive failures, an attempt fails and will be retried,
 * and then two runs fail. The count changes 18 → 18 → 19 → 20, which turns the automation off. A later success resets
 * the count to 0 but leaves the automation off.
 */
export function applyReports(automation: AutomationRow, reports: readonly RunReport[]): HealthUpdate {
  let { is_active, last_run_at, last_error, consecutive_failures } = automation;
  for (const { attempted_at, error, isEnd, turnsOff } of reports) {
    if (last_run_at === null || attempted_at > last_run_at) last_run_at = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    // Runs already in progress when the automation was turned off are not counted.
    else if (isEnd && is_active) consecutive_failures += 1;
    if (consecutive_failures >= maxFailures || turnsOff) is_active = false;
  }
  return {
    id: automation.id,
    is_active,
    next_tick_at: is_active ? automation.next_tick_at : null,
    last_run_at,
    last_error,
    consecutive_failures,
    isTurnedOff: automation.is_active && !is_active,
  };
}
