// Owns how a run ends: once, with what that means for its workflow, in one transaction.
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

/** How many runs in a row may fail before their workflow is made inactive. */
const maxConsecutiveFailures = 20;

export const completed: RunEnd = {
  status: 'completed',
  status_reason: null,
  error_message: null,
  failed_step: null,
  failure: null,
};

/** Its reason is that of whoever cancelled it. */
export const cancelled: RunEnd = { ...completed, status: 'cancelled' };

/** `error` must be masked. `task` is the name of the task that failed, if one did. */
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

/** Ends a run, if it has not ended; with `claims` only under that claim. Returns whether it did. */
export function endRun(db: Db, run: RunRow, end: RunEnd, deps: EndDeps, now: Date, claims?: number): Promise<boolean> {
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

/** Warns the people who are responsible for the app if its workflow was made inactive because its runs fail. */
async function recordResult(db: Db, run: RunRow, status: RunEnd['status'], now: Date): Promise<void> {
  const turnedOff = await saveWorkflowResult(db, run, status, maxConsecutiveFailures, now);
  if (turnedOff === undefined) return;
  const { workspace_id, app_id, workflow_id } = run;
  await auditTurnedOff(db, run, 'consecutive_failures', now);
  const subject = `The workflow "${turnedOff.name}" was made inactive`;
  const body = `${inactiveText}\n\nWorkflow: ${turnedOff.name} (${workflow_id})\n`;
  await warnResponsible(db, { workspace_id, app_id, subject, body }, now);
}

const inactiveText = `The last ${maxConsecutiveFailures} runs of this workflow have failed, so it was made inactive. Its triggers start no more runs.

What to do:
1. Find the cause: each failed run has its error, and its steps show what they received.
2. Correct the definition, or what it calls, and start a run by hand to try it.
3. Make the workflow active again.`;
