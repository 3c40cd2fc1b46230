// Owns how a run ends: once, with what that means for its workflow, in one transaction.
import { auditService } from '../../../core/audit/audit.ts';
import { refund } from '../../../core/credits/reservations.ts';
import { listResponsibleEmails } from '../../../core/identity/members.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { type RunEnd, type RunRow, saveEnd, saveWorkflowResult } from '../store/runs.ts';
import { cancelRunningSteps } from '../store/steps.ts';
import { insertWarnings } from '../store/warnings.ts';
import type { RunDeps } from './deps.ts';
import type { Failure } from './errors.ts';
import { toRunTopic } from './execution.ts';
import { cutDetail } from './recorded.ts';

export type EndDeps = Pick<RunDeps, 'wake' | 'mail'>;

/** How many runs in a row may fail before their workflow is made inactive. */
export const maxConsecutiveFailures = 20;

export const completed: RunEnd = {
  status: 'completed',
  status_reason: null,
  error_message: null,
  failed_step: null,
  failure: null,
};

/** Its reason is that of whoever cancelled it. */
export const cancelled: RunEnd = { ...completed, status: 'cancelled' };

/** `failure` must be masked. `task` is the name of the task that failed, if one did. */
export const failed = (
  failure: Failure,
  task?: { readonly name: string; readonly step: number },
  status_reason: RunEnd['status_reason'] = null,
): RunEnd => ({
  status: 'failed',
  status_reason,
  error_message: cutDetail(task === undefined ? failure.detail : `Task '${task.name}' failed: ${failure.detail}`),
  failed_step: task?.step ?? null,
  failure: JSON.stringify({ ...failure, detail: cutDetail(failure.detail) }),
});

export interface EndOptions {
  /** Ends the run only under this claim. */
  readonly claims?: number;
  /** The reservation of a call that was begun: it is given back. */
  readonly reservationId?: string;
}

/** Ends a run, if it has not ended. Returns whether it did. */
export function endRun(
  db: Db,
  run: RunRow,
  end: RunEnd,
  deps: EndDeps,
  now: Date,
  { claims, reservationId }: EndOptions = {},
): Promise<boolean> {
  return transaction(db, async (db) => {
    if (!(await saveEnd(db, run, end, now, claims))) return false;
    if (end.status !== 'completed') await cancelRunningSteps(db, run, now);
    await recordResult(db, run, end.status, deps, now);
    if (reservationId !== undefined) await refund(db, { workspace_id: run.workspace_id, id: reservationId }, now);
    afterCommit(db, () => deps.wake.notify(toRunTopic(run.id)));
    return true;
  });
}

/** Warns the people who are responsible for the app if its workflow was made inactive because its runs fail. */
async function recordResult(
  db: Db,
  run: RunRow,
  status: RunEnd['status'],
  { mail }: EndDeps,
  now: Date,
): Promise<void> {
  const turnedOff = await saveWorkflowResult(db, run, status, maxConsecutiveFailures, now);
  if (turnedOff === undefined) return;
  const { workspace_id, app_id, workflow_id } = run;
  const target = { kind: 'workflow', id: workflow_id };
  const after = { status: 'inactive', status_reason: 'consecutive_failures' };
  await auditService(
    db,
    workspace_id,
    { type: 'workflow.turned_off', target, app_id, before: { status: 'active' }, after },
    now,
  );
  if (!mail.configured) return;
  const emails = await listResponsibleEmails(db, { workspace_id }, app_id);
  const warnings = emails.map((email) => ({ id: newId(), workspace_id, workflow_id, email }));
  await insertWarnings(db, warnings, now);
}
