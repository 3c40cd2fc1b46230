// The rule grammar: parses a schema's `rls` members, or returns all faults (docs/api/rules.md#grammar).
import { type Dialect, type Fault, type Loc, parseCondition } from './conditions.ts';
import { parseOperand } from './operand.ts';
import { findColumn, parseNames, type SchemaProperties } from './properties.ts';
import type { Rule } from './rule.ts';
import { isObject } from './values.ts';

const syntaxFault = 'rule_syntax';

export const ruleDialect: Dialect = {
  maxDepth: 5,
  maxNodes: 200,
  entries: [1, 20],
  maxTests: 8,
  maxListItems: 200,
  maxTextTemplates: 20,
  operators: new Set('user_condition $eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch'.split(' ')),
  faultTypes: {
    object: syntaxFault,
    list: syntaxFault,
    too_short: syntaxFault,
    too_long: syntaxFault,
    operator: syntaxFault,
    value: syntaxFault,
  },
  parsePath(key, inElement) {
    const column = inElement ? undefined : findColumn(key);
    if (column !== undefined) return { column };
    if (!inElement && !key.startsWith('data.')) return undefined;
    const names = parseNames(inElement ? key : key.slice('data.'.length));
    return names && { names };
  },
  parseOperand: parseOperand,
  isLiteral: () => false,
};

/** Limits that were introduced after a rule was stored do not apply to it. */
export type RuleOrigin = 'new' | 'stored';

const dialects: Readonly<Record<RuleOrigin, Dialect>> = {
  new: ruleDialect,
  stored: { ...ruleDialect, maxTextTemplates: Number.POSITIVE_INFINITY },
};

/** Whether a rule in a document counts as missing, that is, absent, null or empty. */
export const isMissing = (json: unknown): boolean =>
  json === undefined || json === null || json === '' || (isObject(json) && Object.keys(json).length === 0);

export const rowOperations = ['create', 'read', 'update', 'delete'] as const;

/** The record operations for which an entity's `rls` has no rule. */
export function listMissingRules(rls: unknown): (typeof rowOperations)[number][] {
  const declared: Readonly<Record<string, unknown>> = isObject(rls) ? rls : {};
  const hasRule = (operation: string) => Object.hasOwn(declared, operation) && !isMissing(declared[operation]);
  return rowOperations.filter((operation) => !hasRule(operation) && (operation === 'read' || !hasRule('write')));
}

/** The record operations whose rule is `true`, so everybody may perform them, even without signing in. */
export function listOpenRules(rls: unknown): (typeof rowOperations)[number][] {
  const declared: Readonly<Record<string, unknown>> = isObject(rls) ? rls : {};
  const missing = listMissingRules(rls);
  const ruleOf = (operation: string) =>
    isMissing(declared[operation]) && operation !== 'read' ? declared.write : declared[operation];
  return rowOperations.filter((operation) => !missing.includes(operation) && ruleOf(operation) === true);
}

/**
 * The rule that a document declares for an operation, by itself or as `write`. Undefined if there is none.
 */
export function findDeclaredRule(rls: unknown, operation: keyof Rules): unknown {
  if (!isObject(rls)) return undefined;
  const find = (name: string) => (Object.hasOwn(rls, name) && !isMissing(rls[name]) ? rls[name] : undefined);
  return find(operation) ?? (operation === 'read' || operation === 'update_check' ? undefined : find('write'));
}

export type Parsed<T> = T | { readonly faults: readonly Fault[] };

export function parseRule(
  json: unknown,
  loc: Loc,
  properties: SchemaProperties,
  origin: RuleOrigin = 'new',
): Parsed<{ readonly rule: Rule }> {
  if (json === true) return { rule: 'everyone' };
  if (json === false) return { rule: 'nobody' };
  if (isMissing(json)) return { rule: 'missing' };
  const parsed = parseCondition(json, loc, properties, dialects[origin]);
  return 'faults' in parsed ? parsed : { rule: parsed.condition };
}

/** The rules for an entity or one of its fields. If a field has no rule, only the entity's rule applies. */
export interface Rules {
  readonly create: Rule;
  readonly read: Rule;
  readonly update: Rule;
  readonly delete: Rule;
  readonly update_check: Rule;
}

export const noRules: Rules = {
  create: 'missing',
  read: 'missing',
  update: 'missing',
  delete: 'missing',
  update_check: 'missing',
};

const operationNames = {
  entity: ['create', 'read', 'update', 'delete', 'write', 'update_check'],
  field: ['create', 'read', 'update', 'write'],
};

/** Parses an `rls` member. `write` is the default for create, update and delete. */
export function parseRules(
  json: unknown,
  loc: Loc,
  properties: SchemaProperties,
  of: keyof typeof operationNames,
  origin: RuleOrigin = 'new',
): Parsed<{ readonly rules: Rules }> {
  if (json === undefined || json === null) return { rules: noRules };
  if (!isObject(json)) return { faults: [{ loc, msg: 'must be an object', type: syntaxFault }] };
  const faults: Fault[] = [];
  const declared: Record<string, Rule> = {};
  for (const [operation, rule] of Object.entries(json)) {
    const at = [...loc, operation];
    const parsed: Parsed<{ readonly rule: Rule }> = operationNames[of].includes(operation)
      ? parseRule(rule, at, properties, origin)
      : { faults: [{ loc: at, msg: `must be one of ${operationNames[of].join(', ')}`, type: syntaxFault }] };
    if ('faults' in parsed) faults.push(...parsed.faults);
    else if (parsed.rule !== 'missing') declared[operation] = parsed.rule;
  }
  if (faults.length > 0) return { faults };
  const { write = 'missing', ...rest } = declared;
  return { rules: { ...noRules, create: write, update: write, delete: write, ...rest } };
}
