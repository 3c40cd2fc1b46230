// Templates, which are JSON values. Each string that consists entirely of `${ … }` is an expression and is
// replaced with its value.
import type { JqData, JqError } from '../../../kit/jq/evaluate.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import type { Expression, Json, Template } from './model.ts';

/**
 * Returns the expression in a string, or undefined if the string is not an expression.
 *
 *   ${ .name }         the expression ` .name `
 *   Dear ${ .name }    plain text, not an expression
 */
export const readExpression = (text: string): Expression | undefined =>
  text.startsWith('${') && text.endsWith('}') ? text.slice(2, -1) : undefined;

/** Lists the distinct expressions in order of appearance. */
export function listExpressions(template: Template): Expression[] {
  const found = new Set<Expression>();
  mapTexts(template, (text) => {
    const expression = readExpression(text);
    if (expression !== undefined) found.add(expression);
    return text;
  });
  return [...found];
}

export type Evaluation<Name extends string> =
  | { readonly values: Readonly<Record<Name, Json>> }
  /** `template` names the template whose expression failed. */
  | (JqError & { readonly template?: Name });

/** Evaluates all templates with a single jq call, or with none if they contain no expressions. */
export async function evaluateTemplates<Name extends string>(
  jq: Jq,
  templates: Readonly<Record<Name, Template>>,
  data: JqData,
  signal?: AbortSignal,
): Promise<Evaluation<Name>> {
  const named = entriesOf(templates);
  const expressions = [...new Set(named.flatMap(([, template]) => listExpressions(template)))];
  const result = await jq.evaluate(expressions, data, signal);
  if ('error' in result) {
    const failed = result.index === undefined ? undefined : expressions[result.index];
    const [template] = named.find(([, each]) => failed !== undefined && listExpressions(each).includes(failed)) ?? [];
    return template === undefined ? result : { ...result, template };
  }
  const values = new Map(expressions.map((expression, place) => [expression, result.values[place]]));
  const render = (text: string): Json => {
    const expression = readExpression(text);
    return expression === undefined ? text : asJson(values.get(expression));
  };
  const rendered = named.map(([name, template]) => [name, mapTexts(template, render)] as const);
  return { values: Object.fromEntries(rendered) as Record<Name, Json> };
}

const entriesOf = <Name extends string>(templates: Readonly<Record<Name, Template>>) =>
  Object.entries(templates) as [Name, Template][];

/** jq's result was parsed from JSON. */
const asJson = (value: unknown): Json => value as Json;

/**
 * Returns a copy with each string replaced. Keys are unchanged. Recursion is safe, because a definition has at most 64
 * levels.
 */
function mapTexts(template: Template, map: (text: string) => Json): Json {
  if (typeof template === 'string') return map(template);
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template)) return template.map((item) => mapTexts(item, map));
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, mapTexts(item, map)]));
}
