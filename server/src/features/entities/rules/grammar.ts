// Owns the language of rules: what a schema may say of who may do what, read into rules or refused with every fault.
import { type Fault, type Language, type Loc, readCondition } from './conditions.ts';
import { columnNamed, type Fields, namesOf } from './fields.ts';
import { parseOperand } from './operand.ts';
import type { Rule } from './rule.ts';
import { isObject } from './values.ts';

const syntax = 'rule_syntax';

const language: Language = {
  depth: 5,
  nodes: 200,
  entries: [1, 20],
  tests: 8,
  listed: 200,
  operators: new Set('user_condition $eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch'.split(' ')),
  faults: { object: syntax, list: syntax, too_short: syntax, too_long: syntax, operator: syntax, value: syntax },
  place(key, inElement) {
    const column = inElement ? undefined : columnNamed(key);
    if (column !== undefined) return { column };
    if (!inElement && !key.startsWith('data.')) return undefined;
    const names = namesOf(inElement ? key : key.slice('data.'.length));
    return names && { names };
  },
  operand: parseOperand,
  isValue: () => false,
};

export type Parsed<T> = T | { readonly faults: readonly Fault[] };

export function parseRule(json: unknown, loc: Loc, fields: Fields): Parsed<{ readonly rule: Rule }> {
  if (json === true) return { rule: 'everyone' };
  if (json === false) return { rule: 'nobody' };
  if (json === null || json === '' || (isObject(json) && Object.keys(json).length === 0)) return { rule: 'missing' };
  const read = readCondition(json, loc, fields, language);
  return 'faults' in read ? read : { rule: read.condition };
}

/** Of an entity, or of one of its fields (where what is missing is no rule at all: the entity's alone counts). */
export interface Rules {
  readonly create: Rule;
  readonly read: Rule;
  readonly update: Rule;
  readonly delete: Rule;
  readonly update_check: Rule;
}

const operations = {
  entity: ['create', 'read', 'update', 'delete', 'write', 'update_check'],
  field: ['create', 'read', 'update', 'write'],
};

/** Reads an `rls` member; `write` stands in for what is missing of create, update and delete. */
export function parseRules(
  json: unknown,
  loc: Loc,
  fields: Fields,
  of: keyof typeof operations,
): Parsed<{ readonly rules: Rules }> {
  const missing: Rules = {
    create: 'missing',
    read: 'missing',
    update: 'missing',
    delete: 'missing',
    update_check: 'missing',
  };
  if (json === undefined || json === null) return { rules: missing };
  if (!isObject(json)) return { faults: [{ loc, msg: 'must be an object', type: syntax }] };
  const faults: Fault[] = [];
  const read: Record<string, Rule> = {};
  for (const [operation, rule] of Object.entries(json)) {
    const at = [...loc, operation];
    const parsed: Parsed<{ readonly rule: Rule }> = operations[of].includes(operation)
      ? parseRule(rule, at, fields)
      : { faults: [{ loc: at, msg: `an operation is one of ${operations[of].join(', ')}`, type: syntax }] };
    if ('faults' in parsed) faults.push(...parsed.faults);
    else if (parsed.rule !== 'missing') read[operation] = parsed.rule;
  }
  if (faults.length > 0) return { faults };
  const { write = 'missing', ...rest } = read;
  return { rules: { ...missing, create: write, update: write, delete: write, ...rest } };
}
