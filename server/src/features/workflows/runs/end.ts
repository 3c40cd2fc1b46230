// Ends a run, which happens only once. Its workflow is updated in the same transaction.
import { refund } from '../../../core/credits/reservations.ts';
import { warnResponsible } from '../../../core/identity/warnings.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { type RunEnd, type RunRow, saveEnd, saveWorkflowResult } from '../store/runs.ts';
import { cancelRunningSteps } from '../store/steps.ts';
import { auditTurnedOff } from '../turn-off.ts';
import type { RunDeps } from './deps.ts';
import { type Failure, toStorableFailure } from './errors.ts';
import { toRunTopic } from './execution.ts';
import { unmasked } from './mask.ts';
import { cutDetail, limitFailure } from './recorded.ts';

export type EndDeps = Pick<RunDeps, 'wake'>;

/** A workflow becomes inactive after this many consecutive failed runs. */
const maxConsecutiveFailures = 20;

export const completed: RunEnd = {
  status: 'completed',
  status_reason: null,
  error_message: null,
  failed_step: null,
  failure: null,
};

/** The code that cancels the run adds the reason. */
export const cancelled: RunEnd = { ...completed, status: 'cancelled' };

/** `error` must be masked. `task` is the failed task, if any. */
export function failed(
  error: Failure,
  task?: { readonly name: string; readonly step: number },
  status_reason: RunEnd['status_reason'] = null,
): RunEnd {
  const failure = limitFailure(toStorableFailure(error), unmasked);
  const message = task === undefined ? failure.detail : `Task '${task.name}' failed: ${failure.detail}`;
  return {
    status: 'failed',
    status_reason,
    error_message: cutDetail(message, unmasked),
    failed_step: task?.step ?? null,
    failure: JSON.stringify(failure),
  };
}

/**
 * Ends a run that has not ended yet. If `claims` is given, the run must still have that claim. Returns whether this
 * call ended the run.
 */
export function endRun(
  db: Db,
  deps: EndDeps,
  run: RunRow,
  { end, claims }: { readonly end: RunEnd; readonly claims?: number },
  now: Date,
): Promise<boolean> {
  return transaction(db, async (db) => {
    const ended = await saveEnd(db, run, end, now, claims);
    if (ended === undefined) return false;
    if (end.status !== 'completed') await cancelRunningSteps(db, run, now);
    await recordResult(db, run, end.status, now);
    const { reservation_id } = ended;
    if (reservation_id !== null) await refund(db, { workspace_id: run.workspace_id, id: reservation_id }, now);
    afterCommit(db, () => deps.wake.notify(toRunTopic(run.id)));
    return true;
  });
}

/**
 * Records the result on the workflow. If too many failures have made the workflow inactive, warns the people
 * responsible for the app.
 */
async function recordResult(db: Db, run: RunRow, status: RunEnd['status'], now: Date): Promise<void> {
  const turnedOff = await saveWorkflowResult(db, run, status, maxConsecutiveFailures, now);
  if (turnedOff === undefined) return;
  const { workspace_id, app_id, workflow_id } = run;
  await auditTurnedOff(db, run, 'consecutive_failures', now);
  const subject = `The workflow "${turnedOff.name}" was deactivated`;
  const body = `${inactiveText}\n\nWorkflow: ${turnedOff.name} (${workflow_id})\n`;
  await warnResponsible(db, { workspace_id, app_id, subject, body }, now);
}

const inactiveText = `This workflow's last ${maxConsecutiveFailures} runs failed, so it was deactivated. Its trigger no longer starts runs.

What to do:
1. Find the cause. Each failed run shows its error, and each step shows its input.
2. Fix the definition or the service it calls, then start a run manually to test it.
3. Activate the workflow again.`;
