// Owns what runs say about their automation: when it last ran, why it failed, and when it is turned off
// (docs/api/automations.md#failing-automations).
import type { AutomationRow } from './contract.ts';
import type { Health } from './store/runs.ts';

/** One attempt of a run, as far as it concerns the automation. */
export interface RunReport {
  readonly automation_id: string;
  readonly attempted_at: Date;
  /** Why the attempt failed; null if it succeeded. */
  readonly error: string | null;
  /** The run ended with this attempt. Failed runs are counted, not failed attempts. */
  readonly isEnd: boolean;
  /** The automation can't run any more, whatever it does: it is turned off at once. */
  readonly turnsOff?: true;
}

export const maxFailures = 20;

export interface HealthUpdate extends Health {
  readonly isTurnedOff: boolean;
}

/**
 * Applies reports in the order of their times. Example: 18 consecutive failures, then an attempt fails that is retried, and two
 * runs end without success: 18 → 18 → 19 → 20, which turns the automation off. A success then sets 0, and leaves it off.
 */
export function applyReports(automation: AutomationRow, reports: readonly RunReport[]): HealthUpdate {
  let { is_active, last_run_at, last_error, consecutive_failures } = automation;
  for (const { attempted_at, error, isEnd, turnsOff } of reports) {
    if (last_run_at === null || attempted_at > last_run_at) last_run_at = attempted_at;
    last_error = error;
    if (error === null) consecutive_failures = 0;
    // Runs that were running when the automation was turned off are no longer counted.
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
