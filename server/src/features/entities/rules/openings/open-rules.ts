// Finds the operations that an entity's rules open to people unrelated to the record, and recommends rules
// that close them (docs/internals/row-rule-findings.md).
import { newStepBudget } from '../budget.ts';
import type { FieldRules } from '../field-rules.ts';
import { noFieldRules } from '../field-rules.ts';
import { findDeclaredRule, noRules, parseRule, type Rules, rowOperations } from '../grammar.ts';
import type { SchemaProperties } from '../properties.ts';
import type { Condition, OperandList, Rule, Test } from '../rule.ts';
import { isObject } from '../values.ts';
import { isPlaceholder } from './callers.ts';
import { type CallerKind, findOpening } from './openings.ts';
import type { FieldShape, ObjectShape } from './values.ts';

export type RowOperation = (typeof rowOperations)[number];
export type Stranger = 'anonymous' | 'any_user';

export interface RulesToScan {
  /** The `rls` member as written in the document. */
  readonly rls: unknown;
  readonly rules: Rules;
  readonly fieldRules: FieldRules;
  readonly properties: SchemaProperties;
  readonly shape: ObjectShape;
}

export interface OpenOperation {
  readonly operation: RowOperation;
  readonly principal: Stranger;
  /** The rule as written in the document, for this operation or for `write`. */
  readonly current: unknown;
  /** A narrower rule that still gives the record's creator some access. */
  readonly recommended: unknown;
}

/** Lists the open operations. `isComplete` is false if some rules took too many steps to decide. */
export function listOpenOperations(
  scanned: RulesToScan,
  now: Date,
): { readonly open: OpenOperation[]; readonly isComplete: boolean } {
  const open: OpenOperation[] = [];
  let isComplete = true;
  for (const operation of rowOperations) {
    const current = findDeclaredRule(scanned.rls, operation);
    if (current === undefined) continue;
    const found = findStranger(operation, scanned.rules[operation], scanned, now);
    if (found === 'undecided') isComplete = false;
    else if (found !== 'none')
      open.push({ operation, principal: found, current, recommended: recommendRule(operation, current, scanned, now) });
  }
  return { open, isComplete };
}

/** Finds a caller who may perform the operation on a record that is not theirs and does not name them. */
function findStranger(
  operation: RowOperation,
  rule: Rule,
  { rules, shape }: RulesToScan,
  now: Date,
): Stranger | 'none' | 'undecided' {
  // Signed-in users create their own records, so only anonymous callers count as strangers here.
  const callers: readonly CallerKind[] = operation === 'create' ? ['anonymous'] : ['anonymous', 'any_user'];
  const considered = { ...rules, [operation]: operation === 'read' ? withoutMarks(rule) : rule };
  const after = { rules: considered, fieldRules: noFieldRules, shape: withoutCallers(shape) };
  const result = findOpening({ operation, before: noRules, after, callers, budget: newStepBudget() }, now);
  if (typeof result === 'string') return result;
  return result.opening.principal === 'anonymous' ? 'anonymous' : 'any_user';
}

/** Excludes records that name the caller, such as records assigned to them, because those are considered theirs. */
const withoutCallers = ({ fields, required }: ObjectShape): ObjectShape => ({
  required,
  fields: new Map(
    [...fields].map(([name, field]): [string, FieldShape] => [
      name,
      { ...field, accepts: (value) => !namesCaller(value) && field.accepts(value) },
    ]),
  ),
});

const namesCaller = (value: unknown): boolean => {
  if (typeof value === 'string') return placeholderInside.test(value) || isPlaceholder(value);
  if (Array.isArray(value)) return value.some(namesCaller);
  return isObject(value) && Object.values(value).some(namesCaller);
};
const placeholderInside = /5e7a11ce-0000-4000-8000-\d{12}|some-user-\d+@app\.example|Some User \d+/;

/**
 * Removes the parts of a rule that allow access because a field has a certain value. For example, a record that is
 * marked as published is meant to be read. `{"state": {"$ne": "archived"}}` does not count as a mark, because it allows
 * records that were never marked.
 */
function withoutMarks(rule: Rule): Rule {
  return typeof rule === 'string' ? rule : dropMarks(rule, true);
}

const never: Condition = { kind: 'or', parts: [] };

/** `isAsserted` is false inside a negation, where a test allows records that do not have the value. */
function dropMarks(condition: Condition, isAsserted: boolean): Condition {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { ...condition, parts: condition.parts.map((part) => dropMarks(part, isAsserted)) };
    case 'nor':
      return { ...condition, parts: condition.parts.map((part) => dropMarks(part, !isAsserted)) };
    case 'user':
      return condition;
    case 'field':
      return isAsserted ? dropMark(condition.path, condition.test) : condition;
  }
}

function dropMark(path: Extract<Condition, { kind: 'field' }>['path'], test: Test): Condition {
  switch (test.op) {
    case 'eq':
      return test.operand.kind === 'value' && test.operand.value === null ? { kind: 'field', path, test } : never;
    case 'in':
    case 'all':
      return test.operands.scalars.has(null) ? { kind: 'field', path, test: { ...test, operands: onlyNull } } : never;
    case 'some':
      return { kind: 'field', path, test: { op: 'some', condition: dropMarks(test.condition, true) } };
    default:
      return { kind: 'field', path, test };
  }
}

const onlyNull: OperandList = { scalars: new Set([null]), others: [] };

// ---- recommended rules

const owner = { created_by_id: '{{user.id}}' };

/**
 * Returns the first of these rules that closes the operation and still gives the creator some access: the rule without
 * its open alternatives, the rule restricted to the creator, and a rule that allows only the creator.
 */
function recommendRule(operation: RowOperation, current: unknown, scanned: RulesToScan, now: Date): unknown {
  const isGood = (json: unknown): boolean => {
    const parsed = parseRule(json, [], scanned.properties);
    return (
      !('faults' in parsed) &&
      findStranger(operation, parsed.rule, scanned, now) === 'none' &&
      isUsable(operation, parsed.rule, scanned, now)
    );
  };
  if (operation === 'create') return owner;
  return listNarrower(current, isGood).find(isGood) ?? owner;
}

function listNarrower(current: unknown, isClosed: (json: unknown) => boolean): unknown[] {
  if (!isObject(current)) return [];
  const alternatives = Object.keys(current).length === 1 && Array.isArray(current.$or) ? current.$or : [];
  const closed = alternatives.filter((part) => isClosed(part));
  return [
    ...(closed.length > 0 ? [toAlternatives(closed)] : []),
    // A condition that tests only the caller adds nothing to a rule for one person.
    ...(Object.keys(current).every((key) => key === 'user_condition') ? [] : [{ $and: [owner, current] }]),
  ];
}

function toAlternatives(parts: readonly unknown[]): unknown {
  const owned = parts.some((part) => isObject(part) && part.created_by_id === owner.created_by_id);
  const all = owned ? parts : [owner, ...parts];
  return all.length === 1 ? all[0] : { $or: all };
}

/** Whether a record's creator or a user with certain attributes may still perform the operation. */
function isUsable(operation: RowOperation, rule: Rule, { shape, rules }: RulesToScan, now: Date): boolean {
  const after = { rules: { ...rules, [operation]: rule }, fieldRules: noFieldRules, shape };
  const result = findOpening(
    { operation, before: noRules, after, callers: ['creator', 'some_user'], budget: newStepBudget() },
    now,
  );
  return typeof result !== 'string';
}
