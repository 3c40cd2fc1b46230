// The tasks that contain other tasks: do, for and try. They record a step only if they themselves fail.
import type { DoTask, ForTask, Json, Task, TryTask } from '../definition/model.ts';
import { fail } from './errors.ts';
import { evaluate, holds, type Scope, toTemplate } from './evaluate.ts';
import type { Execution } from './execution.ts';
import { completeTask } from './outputs.ts';
import { writeValue } from './recorded.ts';
import { type Frame, hasNextTurn, nextTurn, pop, push, type RunState, topOf } from './state.ts';

export type Container = DoTask | ForTask | TryTask;

export const isContainer = (task: Task): task is Container =>
  task.type === 'do' || task.type === 'for' || task.type === 'try';

const maxTurns = 1_000;

/** Starts a task's list. */
export async function enterContainer(execution: Execution, task: Container, scope: Scope): Promise<RunState> {
  const { input, startedAt, state } = scope;
  const frame: Frame = {
    path: task.path,
    list: task.type === 'try' ? 'try' : 'do',
    index: 0,
    input: task.type === 'try' || task.outputAs !== undefined || task.exportAs !== undefined ? input : null,
    startedAt,
    ...(task.timeoutMs !== undefined && { deadline: startedAt + task.timeoutMs }),
  };
  if (task.type === 'try') return push(state, { ...frame, attempt: 1 }, input);
  if (task.type === 'do') return push(state, frame, input);
  const items = await listItems(execution, task, scope);
  const begun = push(state, { ...frame, loop: { items, turn: 0 } }, input);
  if (items.length > 0 && (await mayTakeTurn(execution, task, begun))) return begun;
  return finishContainer(execution, task, begun);
}

async function listItems(execution: Execution, task: ForTask, scope: Scope): Promise<readonly Json[]> {
  const { in: items } = await evaluate(execution, { in: toTemplate(task.in) }, scope);
  if (!Array.isArray(items)) throw fail('expression', '`in` must be an array.');
  if (items.length > maxTurns) throw fail('runtime', 'The loop has more than 1,000 items. Pass fewer items at a time.');
  return writeValue(items).value as Json[];
}

/** Called when the last frame's list has ended. Starts the loop's next turn, or ends the task. */
export async function finishList(execution: Execution, task: Container): Promise<RunState> {
  const { state } = execution;
  const frame = topOf(state);
  if (task.type === 'for' && frame !== undefined && hasNextTurn(frame)) {
    const next = nextTurn(state);
    if (await mayTakeTurn(execution, task, next)) return next;
  }
  return finishContainer(execution, task, state);
}

async function mayTakeTurn(execution: Execution, task: ForTask, state: RunState): Promise<boolean> {
  if (task.while === undefined) return true;
  return holds(execution, 'while', task.while, toScope(task, state));
}

const finishContainer = async (execution: Execution, task: Container, state: RunState): Promise<RunState> =>
  (
    await completeTask({
      execution,
      task,
      state: pop(state),
      scope: { ...toScope(task, state), state: pop(state) },
      raw: state.data,
    })
  ).state;

/** Returns the scope for the task's own expressions while its list is the last frame. */
function toScope(task: Container, state: RunState): Scope {
  const frame = topOf(state);
  return { input: state.data, taskInput: frame?.input ?? null, task, startedAt: frame?.startedAt ?? 0, state };
}
