// Owns tasks that contain others: do, for and try. They leave no step of their own, unless they fail themselves.
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

/** Begins the list of a task. */
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
  if (!Array.isArray(items)) throw fail('expression', 'the value of `in` is not an array.');
  if (items.length > maxTurns)
    throw fail('runtime', 'the loop would take more than 1,000 turns. Give it fewer items at a time.');
  return writeValue(items).value as Json[];
}

/** The list of the last frame has ended: another turn of the loop, or the end of the task. */
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
  (await completeTask(execution, task, pop(state), { ...toScope(task, state), state: pop(state) }, state.data)).state;

/** For expressions of the task itself, while its list is the last frame. */
function toScope(task: Container, state: RunState): Scope {
  const frame = topOf(state);
  return { input: state.data, taskInput: frame?.input ?? null, task, startedAt: frame?.startedAt ?? 0, state };
}
