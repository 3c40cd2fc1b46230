// Owns evaluating the expressions of a task, with the variables that they may read (docs/api/workflows.md#expressions): those
// of several templates in one call, and without a call if there is none.
import type { Expression, Json, Task, Template } from '../definition/model.ts';
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

/** Evaluates the expressions in templates. An expression that fails is an error of the task. */
export async function evaluate<Name extends string>(
  execution: Execution,
  templates: Readonly<Partial<Record<Name, Template>>>,
  scope: Scope,
): Promise<Record<Name, Json>> {
  const filters: Expression[] = [];
  for (const template of Object.values<Template | undefined>(templates)) collectExpressions(template, filters);
  const values = filters.length === 0 ? [] : await evaluateAll(execution, filters, scope);
  let next = 0;
  const entries = Object.entries<Template | undefined>(templates).map(([name, template]) => [
    name,
    template === undefined ? null : fillIn(template, () => values[next++] ?? null),
  ]);
  return Object.fromEntries(entries) as Record<Name, Json>;
}

export const toTemplate = (expression: Expression): Template => `\${ ${expression} }`;

/** An expression that is null or false does not hold. */
export async function holds(execution: Execution, expression: Expression, scope: Scope): Promise<boolean> {
  const [value] = await evaluateAll(execution, [expression], scope);
  return value !== null && value !== false;
}

async function evaluateAll(execution: Execution, filters: readonly Expression[], scope: Scope): Promise<Json[]> {
  const { deps, run, signal, secrets } = execution;
  const variables = listVariables(execution, scope);
  const data = { input: scope.input, variables, owner: run.workspace_id, secrets: Object.values(secrets) };
  const result = await deps.jq.evaluate(filters, data, signal);
  if ('values' in result) return result.values as Json[];
  if (result.kind === 'busy') throw new Error('no thread for expressions was free'); // not the fault of the definition
  throw fail('expression', result.error, result.kind === 'timeout' ? { cause: 'timeout' } : {});
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

// ---- templates

const expressionForm = /^\s*\$\{([\s\S]*)\}\s*$/;

const toExpression = (text: string): Expression | undefined =>
  text.endsWith('}') || text.endsWith(' ') || text.endsWith('\n') ? expressionForm.exec(text)?.[1] : undefined;

function collectExpressions(template: Template | undefined, into: Expression[]): void {
  if (typeof template === 'string') {
    const expression = toExpression(template);
    if (expression !== undefined) into.push(expression);
  } else if (typeof template === 'object' && template !== null)
    for (const inner of Object.values<Template>(template)) collectExpressions(inner, into);
}

/** In the same order as `collectExpressions`. */
function fillIn(template: Template, nextValue: () => Json): Json {
  if (typeof template === 'string') return toExpression(template) === undefined ? template : nextValue();
  if (typeof template !== 'object' || template === null) return template;
  if (Array.isArray(template)) return template.map((inner) => fillIn(inner, nextValue));
  return Object.fromEntries(Object.entries(template).map(([name, inner]) => [name, fillIn(inner, nextValue)]));
}
