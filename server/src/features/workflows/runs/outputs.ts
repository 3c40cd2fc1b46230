// A task's results: its output from `output.as`, the context from `export.as`, and where the run continues.
import type { Json, Task, Template, Then } from '../definition/model.ts';
import { evaluate, type Scope } from './evaluate.ts';
import type { Execution } from './execution.ts';
import { type JsonText, writeValue } from './recorded.ts';
import { move, type RunState, withoutPending } from './state.ts';

export interface Completion {
  readonly output: JsonText;
  /** The state after the task. */
  readonly state: RunState;
}

/** `state` is the state of the list that contains the task. In `scope`, `$input` is the task's input. */
export async function completeTask({
  execution,
  task,
  state,
  scope,
  raw,
  then = task.then,
}: {
  readonly execution: Execution;
  readonly task: Task;
  readonly state: RunState;
  readonly scope: Scope;
  readonly raw: unknown;
  readonly then?: Then | undefined;
}): Promise<Completion> {
  const output = await transform(execution, 'output.as', task.outputAs, scope, writeValue(raw));
  const context =
    task.exportAs === undefined ? undefined : await transform(execution, 'export.as', task.exportAs, scope, output);
  const after = { ...withoutPending(state), data: output.value as Json };
  const exported = context === undefined ? after : { ...after, context: context.value as Json };
  return { output, state: move(execution.definition, exported, then) };
}

async function transform(
  execution: Execution,
  name: 'output.as' | 'export.as',
  template: Template | undefined,
  scope: Scope,
  value: JsonText,
): Promise<JsonText> {
  if (template === undefined) return value;
  const values = await evaluate(execution, { [name]: template }, { ...scope, input: value.value as Json });
  return writeValue(values[name]);
}
