// The job that starts scheduled runs when they become due.
import { toErrorText } from '../../../kit/background/error-text.ts';
import { transaction } from '../../../kit/db/database.ts';
import { classifyFailure } from '../../../kit/db/failures.ts';
import { findNextTick } from '../../../kit/schedule/index.ts';
import type { Db } from '../../../tables.ts';
import { toTrigger } from '../definition/trigger.ts';
import type { WorkflowRow } from '../store/rows.ts';
import { lockNextDue, saveWorkflow } from '../store/workflows.ts';
import { auditTurnedOff, toRef, turnOffWorkflow } from '../turn-off.ts';
import { isInPlan, startTriggered, type TriggerDeps } from './start.ts';
import { ended } from './trigger-columns.ts';

const maxAtOnce = 200;

/**
 * Starts one run for each workflow whose tick is due, and sets the next tick. If a workflow missed several ticks
 * because no worker was running, only one run is started. Each workflow has its own transaction, so if one fails, the
 * others are still processed. The failed workflow is retried when the job next runs. Returns how many workflows were
 * handled.
 */
export async function startDueRuns(db: Db, deps: TriggerDeps, now: Date): Promise<number> {
  const failures: unknown[] = [];
  const failedIds: string[] = [];
  let handled = 0;
  while (handled + failedIds.length < maxAtOnce) {
    let current: string | undefined;
    try {
      const isDue = await transaction(db, async (db) => {
        const due = await lockNextDue(db, failedIds, now);
        current = due?.id;
        if (due !== undefined) await handleTick(db, deps, due, now);
        return due !== undefined;
      });
      if (!isDue) break;
      handled += 1;
    } catch (error) {
      if (current === undefined || classifyFailure(error) !== undefined) throw error;
      failures.push(error);
      failedIds.push(current);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} scheduled workflows not started: ${toErrorText(failures[0])}`,
    );
  return handled;
}

type DueWorkflow = NonNullable<Awaited<ReturnType<typeof lockNextDue>>>;

async function handleTick(db: Db, deps: TriggerDeps, workflow: DueWorkflow, now: Date): Promise<void> {
  const next = planNextTick(workflow, now);
  if (next === undefined) {
    await turnOffWorkflow(db, toRef(workflow), 'definition_invalid', now);
    return;
  }
  if (workflow.is_workspace_deleted) {
    // A workflow without a next tick must be inactive when the workspace is restored.
    const isEnd = next.withoutRun === null;
    await saveWorkflow(db, workflow, isEnd ? { ...ended, updated_date: now } : { next_tick_at: next.withoutRun });
    if (isEnd) await auditTurnedOff(db, toRef(workflow), 'end_condition_reached', now);
    return;
  }
  if (!(await isInPlan(db, workflow, workflow.plan, now))) return;
  const at = (workflow.next_tick_at ?? now).toISOString();
  const ticks = workflow.ticks + 1;
  const hasEnded = next.afterRun === null;
  await saveWorkflow(
    db,
    workflow,
    hasEnded ? { ...ended, ticks, updated_date: now } : { next_tick_at: next.afterRun, ticks },
  );
  if (hasEnded) await auditTurnedOff(db, toRef(workflow), 'end_condition_reached', now);
  const run = { workflow, input: { scheduled_at: at }, depth: 0, cause: `tick ${at}` };
  await startTriggered(db, deps, [run], now);
}

/**
 * Returns the ticks after this one, or undefined if the schedule can't be read. It may have been stored by another
 * version of Plinth.
 */
function planNextTick(workflow: WorkflowRow, now: Date) {
  try {
    const { config } = toTrigger(workflow.trigger);
    if (config.trigger_type !== 'scheduled') return undefined;
    const { ticks, next_tick_at } = workflow;
    const plan = (count: number) => findNextTick(config, count, now, next_tick_at ?? now);
    return { afterRun: plan(ticks + 1), withoutRun: plan(ticks) };
  } catch {
    return undefined;
  }
}
