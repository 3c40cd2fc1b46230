// Handles a failed task: the innermost `try` that catches the error retries, handles or ignores it.
import type { RetryPolicy, TryTask } from '../definition/model.ts';
import { type Failure, type TaskError, TaskFailure, toTaskError } from './errors.ts';
import { holds, type Scope } from './evaluate.ts';
import type { Execution } from './execution.ts';
import { enterCatch, type Frame, findTask, pop, type RunState, retry, topOf } from './state.ts';

/**
 * Returns the state in which the run continues, or the error if nothing catches it. `state` is the state of the list
 * that contains the failed task. If no retries are left and there is no `catch.do`, the error is passed on to the next
 * `try`.
 */
export async function catchFailure(
  execution: Execution,
  state: RunState,
  failure: Failure,
  now: number,
): Promise<{ readonly caught: RunState } | { readonly uncaught: Failure }> {
  let error = failure;
  for (let unwound = state; unwound.frames.length > 0; unwound = pop(unwound)) {
    const frame = topOf(unwound) as Frame;
    const task = frame.path === '' ? undefined : findTask(execution.definition, frame.path);
    if (task?.type !== 'try' || frame.list !== 'try') continue;
    const verdict = await matches(execution, task, frame, unwound, toTaskError(error));
    if (typeof verdict === 'object') error = verdict;
    if (verdict !== true) continue;
    const retryAt = findRetry(task.catch.retry, frame, now);
    if (retryAt !== undefined) return { caught: retry(unwound, retryAt) };
    if (task.catch.tasks !== undefined || task.catch.retry === undefined)
      return { caught: enterCatch(unwound, toTaskError(error)) };
  }
  return { uncaught: error };
}

/**
 * Whether the `catch` applies to this error. If one of its expressions fails, that failure is returned and replaces the
 * error.
 */
async function matches(
  execution: Execution,
  task: TryTask,
  frame: Frame,
  state: RunState,
  error: TaskError,
): Promise<boolean | Failure> {
  const { with: wanted, as, when, exceptWhen } = task.catch;
  if (wanted?.type !== undefined && wanted.type !== error.type) return false;
  if (wanted?.status !== undefined && wanted.status !== error.status) return false;
  if (wanted?.title !== undefined && wanted.title !== error.title) return false;
  if (wanted?.detail !== undefined && wanted.detail !== error.detail) return false;
  const variables = { [as]: { ...error } };
  const scope: Scope = {
    input: frame.input,
    taskInput: frame.input,
    task,
    startedAt: frame.startedAt,
    state,
    variables,
  };
  try {
    if (when !== undefined && !(await holds(execution, 'catch.when', when, scope))) return false;
    return exceptWhen === undefined || !(await holds(execution, 'catch.exceptWhen', exceptWhen, scope));
  } catch (thrown) {
    if (thrown instanceof TaskFailure) return thrown.failure;
    throw thrown;
  }
}

const maxDelayMs = 30 * 24 * 60 * 60 * 1000;

/** Returns when the next attempt starts, or undefined if there is none. */
function findRetry(
  policy: RetryPolicy | undefined,
  { attempt = 1, startedAt }: Frame,
  now: number,
): number | undefined {
  if (policy === undefined || attempt > policy.maxAttempts) return undefined;
  const at = now + computeDelay(policy, attempt, Math.random());
  return policy.maxDurationMs !== undefined && at > startedAt + policy.maxDurationMs ? undefined : at;
}

/**
 * Returns the delay before the retry that follows the given attempt. With a delay of 5 s, the first three are 5, 5, 5
 * (constant), 5, 10, 15 (linear) or 5, 10, 20 (exponential). `random` is between 0 and 1.
 */
export function computeDelay({ delayMs, backoff, jitterMs }: RetryPolicy, attempt: number, random: number): number {
  const factors = { constant: 1, linear: attempt, exponential: 2 ** (attempt - 1) };
  const jitter = jitterMs === undefined ? 0 : jitterMs.from + random * (jitterMs.to - jitterMs.from);
  return Math.min(maxDelayMs, Math.round(delayMs * factors[backoff] + jitter));
}
