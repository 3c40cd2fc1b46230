// Records each step: its task, data and result, without secrets.
import { refund } from '../../../core/credits/reservations.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { Task, Then } from '../definition/model.ts';
import type { StepRecord } from '../store/steps.ts';
import { catchFailure } from './catching.ts';
import { cancelled, endRun, failed } from './end.ts';
import {
  ClaimLost,
  type Failure,
  fail,
  RunStopped,
  type StopReason,
  stop,
  TaskFailure,
  toTaskError,
} from './errors.ts';
import type { Scope } from './evaluate.ts';
import { type Execution, keep, notifyFollowers, recordStep, toStoredState } from './execution.ts';
import { type Completion, completeTask } from './outputs.ts';
import { type JsonText, limitFailure, rewriteValue, writeRecorded } from './recorded.ts';
import { attemptOf, findExpired, findTask, move, type Pending, type RunState, withoutPending } from './state.ts';
import type { Write } from './tasks/prepared-task.ts';

/** A running task, and the state of the list that contains it. */
export interface RunningTask {
  readonly task: Task;
  readonly state: RunState;
  readonly startedAt: number;
  /** The input that users see in the step. */
  readonly shownInput?: JsonText;
  /** Written with the step even if the task fails, because the call has already been made. */
  readonly record?: Write;
}

/** If the task is waiting or has changed records, its step has already been recorded. */
const numberOf = ({ steps, pending }: RunState): number =>
  pending?.kind === 'wait' || pending?.kind === 'changed' ? steps : steps + 1;

const maxSteps = 1_000;

/** Called before a task records a step. */
export function checkSteps(state: RunState): void {
  if (numberOf(state) > maxSteps)
    throw stop('step_limit', 'The run reached the limit of 1,000 steps. Check its loops and jumps.', 508);
}

/** A step with a short input and output. What a longer one adds is noticed before the next step. */
const expectedStepBytes = 1_000;

/** Called before a task starts. Under way or not, a run ends if its workspace has no space to record another step. */
export async function checkSpace({ db, run, deps }: Execution): Promise<void> {
  if (await deps.storage.hasSpace(db, run.workspace_id, expectedStepBytes, deps.clock.now())) return;
  throw new RunStopped(null, {
    type: 'runtime',
    title: 'Storage full',
    status: 402,
    detail:
      "The workspace's storage quota is full, so the run could not record another step. Delete records, or ask the operator for a higher quota. Then run the workflow again.",
    code: 'storage_quota_exceeded',
  });
}

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

/**
 * Records that a task has completed. Expressions are evaluated before the transaction, because they may take a long
 * time.
 */
export async function completeStep(
  execution: Execution,
  running: RunningTask,
  scope: Scope,
  raw: unknown,
  then?: Then,
): Promise<void> {
  const { task, state, record } = running;
  const completion = await completeTask({ execution, task, state, scope, raw, then });
  const finish = await inTransaction(execution, record, (db) => storeCompleted(db, execution, running, completion));
  finish();
}

/** Starts a transaction only if something else must be written with the step. */
function inTransaction<Result>(
  { db, deps }: Execution,
  record: Write | undefined,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  if (record === undefined) return work(db);
  return transaction(db, async (db) => {
    await record(db, deps.clock.now());
    return work(db);
  });
}

/** Runs in the caller's transaction. Returns a function to call after the commit. */
export async function storeCompleted(
  db: Db,
  execution: Execution,
  running: RunningTask,
  { output, state: after }: Completion,
): Promise<() => void> {
  const { state } = running;
  const next = { ...after, steps: numberOf(state) };
  const completed_at = execution.deps.clock.now();
  const shown = writeRecorded(output, execution.mask);
  const step = toStep(execution, running, { status: 'completed', completed_at, output: shown });
  const status = await recordStep(db, execution, step, toStoredState(execution, next));
  return () => {
    keep(execution, next, status);
    notifyFollowers(execution, false);
  };
}

export async function skipStep(execution: Execution, running: RunningTask): Promise<void> {
  const { task, state, startedAt } = running;
  const next = { ...move(execution.definition, withoutPending(state), task.then), steps: numberOf(state) };
  const step = toStep(execution, running, { status: 'skipped', completed_at: new Date(startedAt) });
  keep(execution, next, await recordStep(execution.db, execution, step, toStoredState(execution, next)));
  notifyFollowers(execution, false);
}

/** Records a step that continues after this claim. */
export async function beginStep(execution: Execution, running: RunningTask, pending: Pending): Promise<void> {
  (await storeBegun(execution.db, execution, running, pending))();
  notifyFollowers(execution, true);
}

/** Runs in the caller's transaction. Returns a function to call after the commit. */
export async function storeBegun(
  db: Db,
  execution: Execution,
  running: RunningTask,
  pending: Pending,
): Promise<() => void> {
  const { state } = running;
  const next = { ...state, steps: numberOf(state), pending };
  const status = await recordStep(db, execution, toStep(execution, running, {}), toStoredState(execution, next));
  return () => keep(execution, next, status);
}

/**
 * Records that a task has failed, and where the run continues. If nothing catches the error, the run ends in the same
 * transaction. Returns whether the run ended. Rethrows any error that is not a task failure.
 */
export async function failStep(execution: Execution, running: RunningTask, error: unknown): Promise<boolean> {
  if (error instanceof RunStopped) return stopAt(execution, running, error);
  if (!(error instanceof TaskFailure)) throw error;
  checkSteps(running.state);
  const now = execution.deps.clock.now();
  const left = { ...withoutPending(running.state), steps: numberOf(running.state) };
  const thrown = limitFailure(error.failure, execution.mask);
  const { state, failure } = leaveExpired(execution, left, thrown, now.getTime());
  const next = await catchFailure(execution, state, failure, now.getTime());
  const shown = execution.mask(toTaskError(thrown));
  const step = toStep(execution, running, { status: 'failed', completed_at: now, error: JSON.stringify(shown) });
  const stored = 'caught' in next ? tryToStore(execution, next.caught) : { failure: next.uncaught };
  const record = running.record ?? giveBack(execution);
  if ('caught' in next && 'state' in stored) {
    const status = await inTransaction(execution, record, (db) => recordStep(db, execution, step, stored));
    keep(execution, next.caught, status);
    notifyFollowers(execution, true);
    return false;
  }
  const uncaught = 'failure' in stored ? stored.failure : failure;
  await failRun(execution, step, { failure: uncaught }, record, now);
  return true;
}

/** Called when the run must end in the middle of a task. */
async function stopAt(execution: Execution, running: RunningTask, { failure, reason }: RunStopped): Promise<true> {
  const now = execution.deps.clock.now();
  const thrown = limitFailure(failure, execution.mask);
  const error = JSON.stringify(execution.mask(toTaskError(thrown)));
  const step = toStep(execution, running, { status: 'failed', completed_at: now, error });
  await failRun(execution, step, { failure: thrown, reason }, giveBack(execution), now);
  return true;
}

/** Refunds the credits reserved for a call that has no result. */
function giveBack({ run, reservationId: id }: Execution): Write | undefined {
  return id === null ? undefined : (db, now) => refund(db, { workspace_id: run.workspace_id, id }, now);
}

/** If a containing task has also timed out, that task fails instead. */
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
      ? 'An enclosing task reached its timeout.'
      : `The task exceeded its ${timeoutMs / 1000}-second timeout.`,
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

async function failRun(
  execution: Execution,
  step: StepRecord,
  { failure, reason = null }: { readonly failure: Failure; readonly reason?: StopReason | null },
  record: Write | undefined,
  now: Date,
): Promise<void> {
  const { run, deps, mask } = execution;
  await transaction(execution.db, async (db) => {
    await record?.(db, now);
    const status = await recordStep(db, execution, step, { state: null, state_sealed: null });
    const end =
      status === 'cancelling' ? cancelled : failed(mask(failure), { name: step.name, step: step.number }, reason);
    if (!(await endRun(db, deps, run, { end, claims: run.claims }, now))) throw new ClaimLost();
  });
}
