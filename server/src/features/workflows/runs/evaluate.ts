// Evaluates a task's expressions, with the variables that they may read (docs/api/workflows.md#expressions).
import { setTimeout as sleep } from 'node:timers/promises';
import { scanFilter } from '../../../kit/jq/scan.ts';
import type { Expression, Json, Task, Template } from '../definition/model.ts';
import { evaluateTemplates, listExpressions } from '../definition/templates.ts';
import { fail } from './errors.ts';
import type { Execution } from './execution.ts';
import { listScopeVariables, type RunState } from './state.ts';

/** The data that a task's expressions can read. */
export interface Scope {
  /** The value of `.`. */
  readonly input: Json;
  /** The value of `$input`. */
  readonly taskInput: Json;
  readonly task: Pick<Task, 'name'>;
  readonly startedAt: number;
  readonly state: RunState;
  /** Additional variables, which hide variables with the same name. */
  readonly variables?: Readonly<Record<string, Json>>;
}

const busyMs = 200;

/** The templates' values. An absent template has no value. */
type Values<Templates> = { readonly [Name in keyof Templates]: Exclude<Templates[Name], Json> | Json };

/** Evaluates the templates' expressions with one call. If an expression fails, the task fails. */
export async function evaluate<Templates extends Readonly<Record<string, Template | undefined>>>(
  execution: Execution,
  templates: Templates,
  scope: Scope,
): Promise<Values<Templates>> {
  const { deps, run, signal } = execution;
  requireSecrets(execution, templates);
  const variables = listVariables(execution, scope);
  const data = { input: scope.input, variables, owner: run.workspace_id, secrets: scope.state.secretValues ?? [] };
  const present = dropAbsent(templates);
  let result = await evaluateTemplates(deps.jq, present, data, signal);
  // The definition is not at fault if jq is busy. Giving up here would make the task repeat a call that it has already
  // made.
  while ('kind' in result && result.kind === 'busy') {
    await sleep(busyMs, undefined, { signal });
    result = await evaluateTemplates(deps.jq, present, data, signal);
  }
  if ('values' in result) return result.values as Values<Templates>;
  const where = result.template === undefined ? 'An expression' : `The expression in \`${result.template}\``;
  throw fail('expression', `${where} failed: ${result.error}`, result.kind === 'timeout' ? { cause: 'timeout' } : {});
}

/** A missing secret would evaluate to null, and a request would be sent with `Bearer null`. */
function requireSecrets(
  { definition, secrets }: Execution,
  templates: Readonly<Record<string, Template | undefined>>,
): void {
  const missing = definition.secretNames.filter((name) => !Object.hasOwn(secrets, name));
  if (missing.length === 0) return;
  const expressions = Object.values(dropAbsent(templates)).flatMap(listExpressions);
  const read = new Set(
    expressions.flatMap((each) => scanFilter(each).variables.map(({ name, field }) => name === 'secrets' && field)),
  );
  const name = missing.find((each) => read.has(each));
  if (name !== undefined)
    throw fail('configuration', `The app has no secret named ${name}. Add it, then run the workflow again.`);
}

const dropAbsent = (templates: Readonly<Record<string, Template | undefined>>): Record<string, Template> =>
  Object.fromEntries(Object.entries(templates).filter((entry): entry is [string, Template] => entry[1] !== undefined));

export const toTemplate = (expression: Expression): Template => `\${${expression}}`;

/** An expression holds unless its value is null or false. `name` is the expression's name in the definition. */
export async function holds(
  execution: Execution,
  name: string,
  expression: Expression,
  scope: Scope,
): Promise<boolean> {
  const { [name]: value } = await evaluate(execution, { [name]: toTemplate(expression) }, scope);
  return value !== null && value !== undefined && value !== false;
}

function listVariables({ definition, run, secrets }: Execution, scope: Scope): Record<string, unknown> {
  const { state, task, startedAt, taskInput, variables } = scope;
  return {
    context: state.context,
    input: taskInput,
    workflow: { id: run.workflow_id, run_id: run.id, started_at: run.started_at.toISOString() },
    task: { name: task.name, started_at: new Date(startedAt).toISOString() },
    secrets,
    error: null,
    ...listScopeVariables(definition, state),
    ...variables,
  };
}
