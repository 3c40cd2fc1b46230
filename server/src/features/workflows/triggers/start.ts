// Starts runs for triggers: events, ticks and hook requests.

import { findPlanRefusal, type Plan } from '../../../core/auth/plans.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { type EndDeps, endRun, failed } from '../runs/end.ts';
import { type NewRun, type StartDeps, startRuns } from '../runs/start.ts';
import type { WorkflowRow } from '../store/rows.ts';
import { lockRun } from '../store/runs.ts';
import { findWorkflowOf } from '../store/workflows.ts';
import { toRef, turnOffWorkflow } from '../turn-off.ts';

export type TriggerDeps = StartDeps & EndDeps;

/**
 * A run to start for a trigger. If the condition could not be evaluated, `failure` is set and the run fails
 * immediately.
 */
export interface TriggeredRun {
  readonly workflow: WorkflowRow;
  readonly input: unknown;
  readonly depth: number;
  /** A workflow has only one run per cause, however often the cause is handled. */
  readonly cause?: string;
  readonly failure?: string;
}

/** Returns the ids of the new runs. Skips a cause that already has a run. */
export function startTriggered(
  db: Db,
  deps: TriggerDeps,
  triggered: readonly TriggeredRun[],
  now: Date,
): Promise<string[]> {
  return transaction(db, async (db) => {
    const ids: string[] = [];
    const sound = triggered.filter(({ failure }) => failure === undefined);
    if (sound.length > 0) ids.push(...(await startRuns(db, deps, sound.map(toNewRun), now)));
    for (const run of triggered) {
      if (run.failure !== undefined) ids.push(...(await startFailed(db, deps, run, run.failure, now)));
    }
    return ids;
  });
}

const toNewRun = ({ workflow, input, depth, cause }: TriggeredRun): NewRun => ({
  workspace_id: workflow.workspace_id,
  app_id: workflow.app_id,
  workflow,
  trigger_type: workflow.trigger_type,
  input,
  depth,
  ...(cause !== undefined && { cause }),
  is_test_run: false,
});

/**
 * Records the failed condition as a failed run, so users can see it. Twenty consecutive failed runs make the workflow
 * inactive.
 */
async function startFailed(
  db: Db,
  deps: TriggerDeps,
  run: TriggeredRun,
  failure: string,
  now: Date,
): Promise<string[]> {
  const ids = await startRuns(db, deps, [toNewRun(run)], now);
  const detail = `The trigger's condition failed: ${failure}`;
  for (const id of ids) {
    const row = await lockRun(db, { workspace_id: run.workflow.workspace_id, id });
    const problem = { type: 'expression', title: 'Expression error', status: 400, detail };
    if (row !== undefined) await endRun(db, deps, row, { end: failed(problem) }, now);
  }
  return ids;
}

/**
 * Returns whether the workspace's plan includes workflows. If not, the plan has changed since the workflow was turned
 * on, so the workflow is made inactive for that reason.
 */
export async function isInPlan(db: Db, workflow: WorkflowRow, plan: Plan, now: Date): Promise<boolean> {
  if (findPlanRefusal(plan, 'workflows') === undefined) return true;
  await turnOffWorkflow(db, toRef(workflow), 'workflows_not_available', now);
  return false;
}

/** The cause of every run that an automation starts begins with this prefix. */
export const automationCause = 'automation:';

/** A run that an automation requests. */
export interface RequestedRun {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly workflow_id: string;
  readonly trigger_type: NewRun['trigger_type'];
  readonly input: unknown;
  readonly depth: number;
  readonly cause: `${typeof automationCause}${string}`;
}

/** Starts a run of an active workflow, regardless of its own trigger. */
export async function startRequested(
  db: Db,
  deps: StartDeps,
  { workflow_id, ...requested }: RequestedRun,
  now: Date,
): Promise<'started' | 'not_found' | 'inactive'> {
  const { workspace_id, app_id } = requested;
  const workflow = await findWorkflowOf(db, { workspace_id, id: app_id }, workflow_id);
  if (workflow === undefined || workflow.status === 'archived') return 'not_found';
  if (workflow.status !== 'active') return 'inactive';
  await startRuns(db, deps, [{ ...requested, workflow, is_test_run: false }], now);
  return 'started';
}
