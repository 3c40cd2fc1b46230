// Owns starting runs for what triggers wait for: events, ticks and requests to hooks.

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

/** What a trigger starts. `failure`: its condition could not be evaluated, so that the run has failed at once. */
export interface TriggeredRun {
  readonly workflow: WorkflowRow;
  readonly input: unknown;
  readonly depth: number;
  /** Makes sure that the same cause starts one run of the workflow, however often it is handled. */
  readonly cause?: string;
  readonly failure?: string;
}

/** Returns the ids of the runs; not of those whose cause has started one before. */
export function startTriggered(
  db: Db,
  triggered: readonly TriggeredRun[],
  deps: TriggerDeps,
  now: Date,
): Promise<string[]> {
  return transaction(db, async (db) => {
    const ids: string[] = [];
    const sound = triggered.filter(({ failure }) => failure === undefined);
    if (sound.length > 0) ids.push(...(await startRuns(db, sound.map(toNewRun), deps, now)));
    for (const run of triggered) {
      if (run.failure !== undefined) ids.push(...(await startFailed(db, run, run.failure, deps, now)));
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

/** Nothing is silent: people find the failure among the runs, and twenty of them make the workflow inactive. */
async function startFailed(
  db: Db,
  run: TriggeredRun,
  failure: string,
  deps: TriggerDeps,
  now: Date,
): Promise<string[]> {
  const ids = await startRuns(db, [toNewRun(run)], deps, now);
  const detail = `The condition of the trigger failed: ${failure}`;
  for (const id of ids) {
    const row = await lockRun(db, { workspace_id: run.workflow.workspace_id, id });
    const problem = { type: 'expression', title: 'Expression error', status: 400, detail };
    if (row !== undefined) await endRun(db, row, failed(problem), deps, now);
  }
  return ids;
}

/**
 * Whether the workspace's plan has workflows. If not, the workflow is made inactive, and says why: the plan was changed after
 * the workflow was turned on.
 */
export async function isInPlan(db: Db, workflow: WorkflowRow, plan: Plan, now: Date): Promise<boolean> {
  if (findPlanRefusal(plan, 'workflows') === undefined) return true;
  await turnOffWorkflow(db, toRef(workflow), 'workflows_not_available', now);
  return false;
}

/** How the cause of a run begins that an automation has started. */
export const automationCause = 'automation:';

/** What an automation asks for. */
export interface RequestedRun {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly workflow_id: string;
  readonly trigger_type: NewRun['trigger_type'];
  readonly input: unknown;
  readonly depth: number;
  readonly cause: `${typeof automationCause}${string}`;
}

/** Starts a run of an active workflow, whatever its own trigger is. */
export async function startRequested(
  db: Db,
  { workflow_id, ...requested }: RequestedRun,
  deps: StartDeps,
  now: Date,
): Promise<'started' | 'not_found' | 'inactive'> {
  const { workspace_id, app_id } = requested;
  const workflow = await findWorkflowOf(db, { workspace_id, id: app_id }, workflow_id);
  if (workflow === undefined || workflow.status === 'archived') return 'not_found';
  if (workflow.status !== 'active') return 'inactive';
  await startRuns(db, [{ ...requested, workflow, is_test_run: false }], deps, now);
  return 'started';
}
