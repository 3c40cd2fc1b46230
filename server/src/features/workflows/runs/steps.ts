// Owns the record of each step: what was done with what, and how it ended, without secrets.
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { Task, Then } from '../definition/model.ts';
import type { StepRecord } from '../store/steps.ts';
import { catchFailure } from './catching.ts';
import { cancelled, endRun, failed } from './end.ts';
import { ClaimLost, type Failure, fail, TaskFailure, toTaskError } from './errors.ts';
import type { Scope } from './evaluate.ts';
import { type Execution, keep, notifyFollowers, recordStep, toStoredState } from './execution.ts';
import { completeTask } from './outputs.ts';
import { type JsonText, limitFailure, rewriteValue, writeRecorded } from './recorded.ts';
import { attemptOf, findExpired, findTask, move, type Pending, type RunState, withoutPending } from './state.ts';

/** A task that runs, with the state of the list that contains it. */
export interface RunningTask {
  readonly task: Task;
  readonly state: RunState;
  readonly startedAt: number;
  /** What the step shows as its input. */
  readonly shownInput?: JsonText;
}

/** A task that waits has its step already. */
const numberOf = ({ steps, pending }: RunState): number => (pending?.kind === 'wait' ? steps : steps + 1);

export function toStep(execution: Execution, running: RunningTask, end: Partial<StepRecord>): StepRecord {
  const { task, state, startedAt, shownInput } = running;
  return {
    number: numberOf(state),
    task_path: task.path,
    name: task.name,
    task_type: task.type,
    status: 'running',
    attempt: attemptOf(state),
    started_at: new Date(startedAt),
    completed_at: null,
    input: writeRecorded(shownInput ?? rewriteValue(state.data), execution.mask),
    output: null,
    error: null,
    ...end,
  };
}

/** Records that a task is done. `record` is what else is written in the same transaction. */
export async function completeStep(
  execution: Execution,
  running: RunningTask,
  scope: Scope,
  raw: unknown,
  options: { readonly next?: Then; readonly record?: (db: Db, now: Date) => Promise<void> } = {},
): Promise<void> {
  const { next, record } = options;
  if (record === undefined) return (await storeCompleted(execution, execution.db, running, scope, raw, next))();
  const finish = await transaction(execution.db, async (db) => {
    await record(db, execution.deps.clock.now());
    return storeCompleted(execution, db, running, scope, raw, next);
  });
  finish();
}

/** In the caller's transaction. Returns what to do once it has committed. */
export async function storeCompleted(
  execution: Execution,
  db: Db,
  running: RunningTask,
  scope: Scope,
  raw: unknown,
  then?: Then,
): Promise<() => void> {
  const { task, state } = running;
  const { output, state: after } = await completeTask(execution, task, state, scope, raw, then);
  const next = { ...after, steps: numberOf(state) };
  const completed_at = execution.deps.clock.now();
  const shown = writeRecorded(output, execution.mask);
  const step = toStep(execution, running, { status: 'completed', completed_at, output: shown });
  const status = await recordStep(execution, db, step, toStoredState(execution, next));
  return () => {
    keep(execution, next, status);
    notifyFollowers(execution, false);
  };
}

export async function skipStep(execution: Execution, running: RunningTask): Promise<void> {
  const { task, state, startedAt } = running;
  const next = { ...move(execution.definition, state, task.then), steps: numberOf(state) };
  const step = toStep(execution, running, { status: 'skipped', completed_at: new Date(startedAt) });
  keep(execution, next, await recordStep(execution, execution.db, step, toStoredState(execution, next)));
  notifyFollowers(execution, false);
}

/** Records a step that goes on after this claim. */
export async function beginStep(execution: Execution, running: RunningTask, pending: Pending): Promise<void> {
  const { state } = running;
  const next = { ...state, steps: numberOf(state), pending };
  const step = toStep(execution, running, {});
  keep(execution, next, await recordStep(execution, execution.db, step, toStoredState(execution, next)));
  notifyFollowers(execution, true);
}

/**
 * Records that a task has failed, and where the run goes on. If nothing catches the error, the run ends in the same transaction.
 * Returns whether it did. Anything but a failure of the task is thrown again.
 */
export async function failStep(execution: Execution, running: RunningTask, error: unknown): Promise<boolean> {
  if (!(error instanceof TaskFailure)) throw error;
  const now = execution.deps.clock.now();
  const left = { ...withoutPending(running.state), steps: numberOf(running.state) };
  const thrown = limitFailure(error.failure, execution.mask);
  const { state, failure } = leaveExpired(execution, left, thrown, now.getTime());
  const next = await catchFailure(execution, state, failure, now.getTime());
  const shown = execution.mask(toTaskError(thrown));
  const step = toStep(execution, running, { status: 'failed', completed_at: now, error: JSON.stringify(shown) });
  const stored = 'caught' in next ? tryToStore(execution, next.caught) : { failure: next.uncaught };
  if ('caught' in next && 'state' in stored) {
    keep(execution, next.caught, await recordStep(execution, execution.db, step, stored));
    notifyFollowers(execution, true);
    return false;
  }
  const uncaught = 'failure' in stored ? stored.failure : failure;
  await failRun(execution, step, uncaught, now);
  return true;
}

/** If the time of a task around it is up, too, then that one has failed. */
function leaveExpired({ definition }: Execution, state: RunState, failure: Failure, now: number) {
  const expired = findExpired(state, now);
  if (expired === undefined) return { state, failure };
  const container = findTask(definition, state.frames[expired]?.path ?? '');
  return { state: { ...state, frames: state.frames.slice(0, expired) }, failure: timeUp(container).failure };
}

export const timeUp = ({ timeoutMs }: Task): TaskFailure =>
  fail(
    'timeout',
    timeoutMs === undefined
      ? 'The timeout of a task around it was reached.'
      : `It took longer than its timeout of ${timeoutMs / 1000} seconds.`,
    { cause: 'timeout' },
  );

function tryToStore(execution: Execution, state: RunState) {
  try {
    return toStoredState(execution, state);
  } catch (error) {
    if (error instanceof TaskFailure) return { failure: error.failure };
    throw error;
  }
}

async function failRun(execution: Execution, step: StepRecord, uncaught: Failure, now: Date): Promise<void> {
  const { run, deps, mask } = execution;
  await transaction(execution.db, async (db) => {
    const status = await recordStep(execution, db, step, { state: null, state_sealed: null });
    const failure = failed(mask(uncaught), { name: step.name, step: step.number });
    const end = status === 'cancelling' ? cancelled : failure;
    if (!(await endRun(db, run, end, deps, now, { claims: run.claims }))) throw new ClaimLost();
  });
}
