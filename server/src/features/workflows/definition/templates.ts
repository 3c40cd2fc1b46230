// Owns templates: JSON in which each text that is wholly `${ … }` is an expression, and stands for its value.
import type { JqData, JqError } from '../../../kit/jq/evaluate.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import type { Expression, Json, Template } from './model.ts';

/**
 *   ${ .name }         the expression ` .name `
 *   Dear ${ .name }    no expression, but a text
 */
export const readExpression = (text: string): Expression | undefined =>
  text.startsWith('${') && text.endsWith('}') ? text.slice(2, -1) : undefined;

/** The expressions in the order in which they appear, each once. */
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
  /** `template` is the name of the template that has the expression that failed. */
  | (JqError & { readonly template?: Name });

/** Evaluates all templates with one call of jq, or without one if they have no expression. */
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

/** What jq returned was parsed from JSON. */
const asJson = (value: unknown): Json => value as Json;

/** A copy with each text replaced; keys stay. A definition is at most 64 levels deep, so recursion is safe. */
function mapTexts(template: Template, map: (text: string) => Json): Json {
  if (typeof template === 'string') return map(template);
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template)) return template.map((item) => mapTexts(item, map));
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, mapTexts(item, map)]));
}
