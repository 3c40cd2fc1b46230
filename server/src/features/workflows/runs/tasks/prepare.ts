// Prepares tasks that contain no other tasks: evaluating their expressions, and deciding how to perform them.
import { toShortType } from '../../definition/error-types.ts';
import type { SwitchTask, Task, Then } from '../../definition/model.ts';
import type { Container } from '../containers.ts';
import { fail, TaskFailure, titleOf } from '../errors.ts';
import { evaluate, holds, type Scope } from '../evaluate.ts';
import type { Execution } from '../execution.ts';

import { prepareAgent } from './agent.ts';
import { prepareConnector } from './connector.ts';
import { prepareEmit } from './emit.ts';
import { prepareEntity } from './entity.ts';
import { prepareHttp } from './http.ts';
import type { PreparedTask } from './prepared-task.ts';

type LeafTask = Exclude<Task, Container | { readonly type: 'wait' }>;

export async function prepareTask(execution: Execution, task: LeafTask, scope: Scope): Promise<PreparedTask> {
  switch (task.type) {
    case 'set': {
      const { set } = await evaluate(execution, { set: task.set }, scope);
      return { kind: 'done', shownInput: scope.input, output: set };
    }
    case 'switch':
      return {
        kind: 'done',
        shownInput: scope.input,
        output: scope.input,
        next: await chooseCase(execution, task, scope),
      };
    case 'raise':
      throw await raise(execution, task, scope);
    case 'emit':
      return prepareEmit(execution, task, scope);
    case 'call':
      if (task.call === 'http') return prepareHttp(execution, task, scope);
      if (task.call === 'agent.send') return prepareAgent(execution, task, scope);
      if (task.call === 'connector.request') return prepareConnector(execution, task, scope);
      return prepareEntity(execution, task, scope);
  }
}

/** Returns where the first matching case leads. If no case matches, the task's own `then` applies. */
async function chooseCase(execution: Execution, { cases, then }: SwitchTask, scope: Scope): Promise<Then | undefined> {
  for (const { when, then } of cases)
    if (when === undefined || (await holds(execution, 'when', when, scope))) return then;
  return then;
}

async function raise(execution: Execution, { error }: Task & { readonly type: 'raise' }, scope: Scope) {
  const { type, status, title = null, detail = null } = await evaluate(execution, { ...error }, scope);
  if (typeof type !== 'string' || type === '')
    return fail('validation', "The raised error's `type` must be a non-empty string.");
  const code = Number(status);
  if (!Number.isInteger(code) || code < 100 || code > 599)
    return fail('validation', "The raised error's `status` must be an integer from 100 to 599.");
  const shortType = toShortType(type);
  const shownTitle = typeof title === 'string' ? title : titleOf(shortType);
  const shownDetail = typeof detail === 'string' ? detail : shownTitle;
  return new TaskFailure({ type: shortType, status: code, title: shownTitle, detail: shownDetail, cause: 'raised' });
}
