// Owns evaluating the expressions of a task, with the variables that they may read (docs/api/workflows.md#expressions).
import { setTimeout as sleep } from 'node:timers/promises';
import { scanFilter } from '../../../kit/jq/scan.ts';
import type { Expression, Json, Task, Template } from '../definition/model.ts';
import { evaluateTemplates, listExpressions } from '../definition/templates.ts';
import { fail } from './errors.ts';
import type { Execution } from './execution.ts';
import { listScopeVariables, type RunState } from './state.ts';

/** What the expressions of a task see. */
export interface Scope {
  /** `.` */
  readonly input: Json;
  /** `$input` */
  readonly taskInput: Json;
  readonly task: Pick<Task, 'name'>;
  readonly startedAt: number;
  readonly state: RunState;
  /** More variables, which hide others of the same name. */
  readonly variables?: Readonly<Record<string, Json>>;
}

const busyMs = 200;

/** The values of templates; those of absent ones are absent. */
type Values<Templates> = { readonly [Name in keyof Templates]: Exclude<Templates[Name], Json> | Json };

/** Evaluates the expressions in templates, in one call. An expression that fails is an error of the task. */
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
  // Not the fault of the definition. To give up would repeat a call that the task has made.
  while ('kind' in result && result.kind === 'busy') {
    await sleep(busyMs, undefined, { signal });
    result = await evaluateTemplates(deps.jq, present, data, signal);
  }
  if ('values' in result) return result.values as Values<Templates>;
  const where = result.template === undefined ? 'An expression' : `The expression in \`${result.template}\``;
  throw fail('expression', `${where} failed: ${result.error}`, result.kind === 'timeout' ? { cause: 'timeout' } : {});
}

/** A secret that does not exist would be null, and a request would go out with `Bearer null`. */
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
  if (name !== undefined) throw fail('configuration', `The app has no secret ${name}. Store it, then run this again.`);
}

const dropAbsent = (templates: Readonly<Record<string, Template | undefined>>): Record<string, Template> =>
  Object.fromEntries(Object.entries(templates).filter((entry): entry is [string, Template] => entry[1] !== undefined));

export const toTemplate = (expression: Expression): Template => `\${${expression}}`;

/** `name` is what the definition calls the expression. One that is null or false does not hold. */
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
