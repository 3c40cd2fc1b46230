// The task `emit`, which publishes one of the app's own events. It starts the workflows that wait for its type.
import type { EmitTask } from '../../definition/model.ts';
import { fail } from '../errors.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import type { Execution } from '../execution.ts';
import { writeValue } from '../recorded.ts';
import type { PreparedTask } from './prepared-task.ts';

const maxTypeLength = 200;

/** The event is published in the transaction that records the step. The task's output is its input. */
export async function prepareEmit(execution: Execution, task: EmitTask, scope: Scope): Promise<PreparedTask> {
  const { type, data } = await evaluate(execution, { type: task.eventType, data: task.data }, scope);
  if (typeof type !== 'string' || type === '' || type.length > maxTypeLength)
    throw fail('validation', 'The event type must be a string of 1 to 200 characters.');
  const storable = writeValue({ type, data }).value as { type: string; data: unknown };
  const { run, deps } = execution;
  const { workspace_id, app_id, id: run_id, depth } = run;
  const event = { workspace_id, app_id, ...storable, depth: depth + 1, run_id };
  return {
    kind: 'done',
    shownInput: storable,
    output: scope.input,
    record: async (db, now) => void (await deps.publish(db, 'app.event_emitted', event, now)),
  };
}
