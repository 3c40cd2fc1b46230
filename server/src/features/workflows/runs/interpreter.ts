// Executes a definition (docs/internals/workflows.md), one transition at a time, until the run ends or has to
// wait. Each step's result is stored before the next step starts.
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { Json, Task, WaitTask } from '../definition/model.ts';
import { enterContainer, finishList, isContainer } from './containers.ts';
import { ClaimLost, stop } from './errors.ts';
import { evaluate, holds, type Scope } from './evaluate.ts';
import { type Execution, keep, recordState } from './execution.ts';
import { completeTask } from './outputs.ts';
import { rewriteValue, writeValue } from './recorded.ts';
import {
  currentTask,
  findExpired,
  findTask,
  nextDeadline,
  pop,
  type RunState,
  topOf,
  withoutPending,
} from './state.ts';
import {
  beginStep,
  checkSpace,
  checkSteps,
  completeStep,
  failStep,
  type RunningTask,
  skipStep,
  storeBegun,
  storeCompleted,
  timeUp,
  toStep,
} from './steps.ts';
import { inShare } from './tasks/entity.ts';
import { prepareTask } from './tasks/prepare.ts';
import type { PreparedTask } from './tasks/prepared-task.ts';
import { whileShown } from './tasks/slow-call.ts';

const limits = { transitions: 10_000, runMs: 30 * 24 * 60 * 60 * 1000 };
const transitionsPerTurn = 32;
/** A retry with a shorter delay sleeps within its claim, because releasing it would not be worthwhile. */
const maxSleepMs = 1_000;

/** Why the interpreter stopped: the run failed and has ended, it must be ended now, or it continues later. */
export type Pause = 'failed' | 'completed' | 'cancelled' | { readonly until: number };

/** Throws ClaimLost if this worker has lost its claim, and RunStopped if the run must not continue. */
export async function interpret(execution: Execution): Promise<Pause> {
  for (;;) {
    if (execution.isCancelled) return 'cancelled';
    if (execution.state.frames.length === 0) return 'completed';
    // Gives other work a chance to run.
    if (execution.state.transitions % transitionsPerTurn === 0) await setImmediate();
    if (execution.signal.aborted) throw new ClaimLost();
    const pause = await takeTransition(execution, execution.deps.clock.now().getTime());
    if (pause !== undefined) return pause;
  }
}

async function takeTransition(execution: Execution, now: number): Promise<Pause | undefined> {
  const { pending } = execution.state;
  if (pending?.kind === 'wait') return continueWait(execution, now, pending);
  if (pending?.kind === 'retry') return continueRetry(execution, now, pending.until);
  if (performance.now() > execution.sliceEndsAt) return endSlice(execution, now);
  checkBounds(execution, now);
  execution.state = { ...execution.state, transitions: execution.state.transitions + 1 };
  const { state, definition } = execution;
  const expired = findExpired(state, now);
  if (expired !== undefined) return failExpired(execution, expired);
  const task = currentTask(definition, state);
  if (task === undefined) return leaveList(execution);
  if (!isContainer(task)) {
    checkSteps(state);
    await checkSpace(execution);
  }
  return runTask(execution, { task, state, startedAt: now });
}

/**
 * Ends this claim, so another run can be claimed. The current state may not be stored yet, because entering or leaving
 * a list records no step.
 */
async function endSlice(execution: Execution, now: number): Promise<Pause | undefined> {
  const { db, state, definition, reservationId } = execution;
  try {
    keep(execution, state, await recordState(db, execution, state, reservationId), reservationId);
    return { until: now };
  } catch (error) {
    const { path = '', startedAt = now } = topOf(state) ?? {};
    const task = currentTask(definition, state);
    if (task !== undefined) return toPause(await failStep(execution, { task, state, startedAt: now }, error));
    const left = { task: findTask(definition, path), state: pop(state), startedAt };
    return toPause(await failStep(execution, left, error));
  }
}

const endOf = ({ run }: Execution): number => run.started_at.getTime() + limits.runMs;

function checkTime(execution: Execution, now: number): void {
  if (now >= endOf(execution)) throw stop('timeout', 'The run reached the maximum duration of 30 days.', 408);
}

function checkBounds(execution: Execution, now: number): void {
  const { transitions } = execution.state;
  checkTime(execution, now);
  if (transitions >= limits.transitions)
    throw stop('step_limit', 'The run reached the limit of 10,000 tasks. Check its loops and jumps.', 508);
}

const toPause = (hasFailed: boolean): Pause | undefined => (hasFailed ? 'failed' : undefined);

/** Fails the task that contains the frame, because it has timed out. The run leaves all lists inside that task. */
async function failExpired(execution: Execution, index: number): Promise<Pause | undefined> {
  const { state, definition } = execution;
  const { path = '', startedAt = 0 } = state.frames[index] ?? {};
  const task = findTask(definition, path);
  const left = { ...state, frames: state.frames.slice(0, index) };
  return toPause(await failStep(execution, { task, state: left, startedAt }, timeUp(task)));
}

/** Called when the last frame's list has ended. */
async function leaveList(execution: Execution): Promise<Pause | undefined> {
  const { state, definition } = execution;
  const { path = '', startedAt = 0 } = topOf(state) ?? {};
  if (path === '') {
    execution.state = pop(state);
    return undefined;
  }
  const task = findTask(definition, path);
  if (!isContainer(task)) throw new Error(`the task at ${path} contains no tasks`);
  try {
    execution.state = await finishList(execution, task);
    return undefined;
  } catch (error) {
    return toPause(await failStep(execution, { task, state: pop(state), startedAt }, error));
  }
}

async function runTask(execution: Execution, begun: RunningTask): Promise<Pause | undefined> {
  const { task, state, startedAt } = begun;
  let running = begun;
  try {
    const outer: Scope = { input: state.data, taskInput: state.data, task, startedAt, state };
    if (task.if !== undefined && !(await holds(execution, 'if', task.if, outer))) {
      await skipStep(execution, running);
      return undefined;
    }
    const input = await readInput(execution, task, outer);
    const scope: Scope = { ...outer, input, taskInput: input };
    if (isContainer(task)) {
      execution.state = await enterContainer(execution, task, scope);
      return undefined;
    }
    if (task.inputFrom !== undefined) running = { ...begun, shownInput: rewriteValue(input) };
    if (task.type === 'wait') return await beginWait(execution, running, task);
    const prepared = await prepareTask(execution, task, scope);
    if (prepared.shownInput !== input) running = { ...begun, shownInput: writeValue(prepared.shownInput) };
    if (prepared.kind === 'done') {
      await completeStep(execution, { ...running, record: prepared.record }, scope, prepared.output, prepared.next);
      return undefined;
    }
    const called = await carryOut(execution, running, prepared, scope);
    if (called === undefined) return undefined;
    running = called.running;
    await completeStep(execution, running, scope, called.returned);
    return undefined;
  } catch (error) {
    return toPause(await failStep(execution, running, error));
  }
}

async function readInput(execution: Execution, { inputFrom }: Task, scope: Scope): Promise<Json> {
  if (inputFrom === undefined) return scope.input;
  return writeValue((await evaluate(execution, { 'input.from': inputFrom }, scope))['input.from']).value as Json;
}

interface Called {
  /** The task, including the data that its step must record. */
  readonly running: RunningTask;
  readonly returned: unknown;
}

/** Returns undefined if the step has already been recorded or the run was cancelled. */
async function carryOut(
  execution: Execution,
  running: RunningTask,
  prepared: Exclude<PreparedTask, { readonly kind: 'done' }>,
  scope: Scope,
): Promise<Called | undefined> {
  if (prepared.kind === 'change') return changeOnce(execution, running, prepared, scope);
  const timeoutMs = findTimeLeft(execution, running);
  const step = toStep(execution, running, {});
  const result = await whileShown(execution, step, (signal) => prepared.call({ signal, timeoutMs }));
  if (result !== 'cancelled') return { running: { ...running, record: result.record }, returned: result.output };
  execution.isCancelled = true;
  return undefined;
}

/**
 * Changes records in the transaction that records the step. Expressions that read the result are evaluated afterwards,
 * because they may take a long time. In the meantime the step is recorded as running, and the state contains the
 * result.
 */
async function changeOnce(
  execution: Execution,
  running: RunningTask,
  { change }: { readonly change: Change },
  scope: Scope,
): Promise<Called | undefined> {
  if (running.state.pending?.kind !== 'changed') {
    const finish = await inShare(execution, 'short', () =>
      transaction(execution.db, (db) => changeAndStore(db, execution, running, change, scope)),
    );
    finish();
  }
  const { state } = execution;
  if (state.pending?.kind !== 'changed') return undefined;
  return { running: { ...running, state }, returned: state.pending.returned };
}

type Change = (PreparedTask & { readonly kind: 'change' })['change'];

/** Returns a function to call after the commit. */
async function changeAndStore(db: Db, execution: Execution, running: RunningTask, change: Change, scope: Scope) {
  const { task, state } = running;
  const limits = { timeoutMs: findTimeLeft(execution, running), now: execution.deps.clock.now() };
  const returned = await change(db, limits);
  if (task.outputAs === undefined && task.exportAs === undefined)
    return storeCompleted(db, execution, running, await completeTask({ execution, task, state, scope, raw: returned }));
  return storeBegun(db, execution, running, { kind: 'changed', returned: writeValue(returned).value as Json });
}

/**
 * The remaining time depends on the task's own `timeout.after`, the timeouts of the tasks that contain it, and the end
 * of the run.
 */
function findTimeLeft(execution: Execution, { task, state, startedAt }: RunningTask): number {
  const end = Math.min(startedAt + (task.timeoutMs ?? Number.POSITIVE_INFINITY), nextDeadline(state), endOf(execution));
  return Math.max(1, end - execution.deps.clock.now().getTime());
}

// ---- waiting

async function beginWait(execution: Execution, running: RunningTask, task: WaitTask): Promise<undefined> {
  const { startedAt, state } = running;
  const input = running.shownInput?.value ?? state.data;
  await beginStep(execution, running, {
    kind: 'wait',
    startedAt,
    input: input as RunState['data'],
    until: startedAt + task.waitMs,
    ...(task.timeoutMs !== undefined && { deadline: startedAt + task.timeoutMs }),
  });
}

async function continueWait(
  execution: Execution,
  now: number,
  { startedAt, input, until, deadline = Number.POSITIVE_INFINITY }: NonNullable<RunState['pending']> & { kind: 'wait' },
): Promise<Pause | undefined> {
  const { state, definition } = execution;
  const task = currentTask(definition, state);
  if (task === undefined) throw new Error('the run waits outside of a task');
  const running: RunningTask = { task, state, startedAt, shownInput: writeValue(input) };
  const end = Math.min(deadline, nextDeadline(state));
  if (now < Math.min(until, end, endOf(execution))) return { until: Math.min(until, end, endOf(execution)) };
  if (until <= end) checkTime(execution, now);
  try {
    if (until > end) throw timeUp(task);
    await completeStep(execution, running, { input, taskInput: input, task, startedAt, state }, input);
    return undefined;
  } catch (error) {
    return toPause(await failStep(execution, running, error));
  }
}

async function continueRetry(execution: Execution, now: number, until: number): Promise<Pause | undefined> {
  const at = Math.min(until, nextDeadline(execution.state), endOf(execution));
  if (at <= now) execution.state = withoutPending(execution.state);
  else if (at - now > maxSleepMs) return { until: at };
  else await sleep(at - now, undefined, { signal: execution.signal }).catch(() => {});
  return undefined;
}
