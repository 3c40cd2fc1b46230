// Owns the tasks that do something themselves: evaluates what a task is about, and says how it is then carried out.
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

/** The first case that applies. If none does, the next task follows. */
async function chooseCase(execution: Execution, { cases, then }: SwitchTask, scope: Scope): Promise<Then | undefined> {
  for (const { when, then } of cases)
    if (when === undefined || (await holds(execution, 'when', when, scope))) return then;
  return then;
}

async function raise(execution: Execution, { error }: Task & { readonly type: 'raise' }, scope: Scope) {
  const { type, status, title = null, detail = null } = await evaluate(execution, { ...error }, scope);
  if (typeof type !== 'string' || type === '')
    return fail('validation', 'The type of the error to raise is not a text.');
  const code = Number(status);
  if (!Number.isInteger(code) || code < 100 || code > 599)
    return fail('validation', 'The status of the error to raise is not a number from 100 to 599.');
  const shortType = toShortType(type);
  const shownTitle = typeof title === 'string' ? title : titleOf(shortType);
  const shownDetail = typeof detail === 'string' ? detail : shownTitle;
  return new TaskFailure({ type: shortType, status: code, title: shownTitle, detail: shownDetail, cause: 'raised' });
}
