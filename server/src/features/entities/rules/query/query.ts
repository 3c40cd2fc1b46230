// The query language for records: parses filters, evaluates them on a record and compiles them to SQL. If the
// principal may not read a field in a record, the query treats the field as missing.
import { isStorableText } from '../../../../kit/text.ts';
import { spendSteps } from '../budget.ts';
import { type Dialect, type Loc, parseCondition } from '../conditions.ts';
import type { RuleChecks } from '../decision/checks.ts';
import { decideCondition } from '../decision/decide.ts';
import { evaluateCondition } from '../decision/evaluate.ts';
import { type FieldRules, findGoverningRules } from '../field-rules.ts';
import type { Parsed } from '../grammar.ts';
import { findColumn, parseNames, type SchemaProperties } from '../properties.ts';
import type { Condition, DataRecord, Path } from '../rule.ts';
import { type CompileVisibility, compileDecision } from '../sql/sql.ts';
import type { SqlParameters } from '../sql/text.ts';

const maxNodes = 100;

export const queryDialect: Dialect = {
  maxDepth: 5,
  maxNodes,
  entries: [0, maxNodes],
  maxTests: maxNodes,
  maxListItems: 1000,
  maxTextTemplates: 0,
  operators: new Set(
    '$eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch $contains $startsWith $not'.split(' '),
  ),
  faultTypes: {
    object: 'dict_type',
    list: 'list_type',
    too_short: 'too_short',
    too_long: 'too_long',
    operator: 'unsupported_operator',
    value: 'value_error',
  },
  parsePath: (key, inElement) => (inElement ? parseDataPath(key) : parsePath(key)),
  parseOperand: (json) => (isStorable(json) ? { kind: 'value', value: json } : 'must be a value that can be stored'),
  isLiteral: (json) => !Object.keys(json).some((key) => key.startsWith('$')),
};

/** Parses a path in a query. The prefix `data.` is optional. */
export function parsePath(text: string): Path | undefined {
  const column = findColumn(text);
  return column === undefined
    ? parseDataPath(text.startsWith('data.') ? text.slice('data.'.length) : text)
    : { column };
}

function parseDataPath(text: string): Path | undefined {
  const names = parseNames(text);
  return names && { names };
}

/** The maximum nesting depth of a record's values. */
const maxValueDepth = 10;

function isStorable(json: unknown, depth = 0): boolean {
  if (typeof json === 'string') return isStorableText(json);
  if (typeof json === 'number') return Number.isFinite(json);
  if (typeof json !== 'object' || json === null) return true;
  if (depth === maxValueDepth) return false;
  return Object.entries(json).every(([name, value]) => isStorableText(name) && isStorable(value, depth + 1));
}

/** Parses a query, which is a condition without templates. Every record matches `{}`. */
export function parseQuery(
  json: unknown,
  loc: Loc,
  properties: SchemaProperties,
): Parsed<{ readonly query: Condition }> {
  const parsed = parseCondition(json, loc, properties, queryDialect);
  return 'faults' in parsed ? parsed : { query: parsed.condition };
}

/** The field rules, and the rule checks for the principal who runs the query. */
export interface QueryContext {
  readonly fieldRules: FieldRules;
  readonly checks: RuleChecks;
}

/** Whether the record matches. Only deleteRecords matches records in the process. Lists match them in SQL. */
export function matchesQuery(query: Condition, { fieldRules, checks }: QueryContext, record: DataRecord): boolean {
  return checks.withinBudget('delete', (budget) => {
    const isVisible = (names: readonly string[]) => {
      const rules = findGoverningRules(fieldRules, names, 'read');
      spendSteps(budget, rules.length);
      return rules.every((rule) => checks.allows(rule, 'read', record));
    };
    return evaluateCondition(query, { principal: undefined, record, data: record.data, budget, isVisible }) === true;
  });
}

export const compileQuery = (query: Condition, context: QueryContext, params: SqlParameters): string =>
  compileDecision(decideCondition(query, undefined, true), params, compileVisibility(context, params));

/** The returned function compiles each field's condition only once, even if the query names the field several times. */
export function compileVisibility({ fieldRules, checks }: QueryContext, params: SqlParameters): CompileVisibility {
  const compiled = new Map<string, string | undefined>();
  return (names) => {
    const path = names.join('.');
    if (!compiled.has(path)) {
      const decisions = findGoverningRules(fieldRules, names, 'read').map((rule) => checks.decide(rule, 'read'));
      const parts = decisions.filter((decision) => decision !== true).map((each) => compileDecision(each, params));
      compiled.set(path, parts.length === 0 ? undefined : parts.join(' and '));
    }
    return compiled.get(path);
  };
}
