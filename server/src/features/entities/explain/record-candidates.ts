// Lists changes to a single field that are worth trying after a rule denies access: setting the field to a value
// that the rule compares it with or to a similar value, or removing the field.
import { countTextSteps, type StepBudget, spendSteps } from '../rules/budget.ts';
import type { Clause } from '../rules/decision/clauses.ts';
import { isObject, isScalarValue } from '../rules/values.ts';
import { type PatchOperation, toPointer } from './json-patch.ts';
import type { JudgedClause, Judgement } from './judgement.ts';

/** A record field, with the values that the rules compare it with. */
interface ChangeableField {
  readonly names: readonly string[];
  readonly operands: readonly unknown[];
}

/** The fields that the denying rules test and that the caller may read. */
export function listChangeableFields({ rules }: Judgement, resolve: (clause: Clause) => unknown): ChangeableField[] {
  const found = new Map<string, { names: readonly string[]; operands: unknown[] }>();
  for (const clause of rules.filter(({ decision }) => decision !== 'allow').flatMap((rule) => rule.clauses)) {
    const names = findVisibleNames(clause);
    if (names === undefined) continue;
    const field = found.get(names.join('.')) ?? { names, operands: [] };
    const operand = resolve(clause.clause);
    field.operands.push(...(Array.isArray(operand) ? [...operand, operand] : [operand]));
    found.set(names.join('.'), field);
  }
  return [...found.values()];
}

function findVisibleNames({ clause: { subject }, on }: JudgedClause): readonly string[] | undefined {
  if (subject === undefined || !('field' in subject) || subject.field.column !== undefined) return undefined;
  const { names } = subject.field;
  // The caller must be able to see the whole top-level field, because it is read and written as a whole.
  return on.isVisible({ names: names.slice(0, 1) }) ? names : undefined;
}

const maxSize = 20;

/** Throws StepBudgetExceeded if the operands are too long, which is possible if they contain templates. */
export function listCandidates(
  { names, operands }: ChangeableField,
  document: unknown,
  budget: StepBudget,
): PatchOperation[] {
  const values = operands.flatMap(listNearbyValues);
  const sizes = operands.filter((each): each is number => Number.isInteger(each)).filter((n) => n >= 0 && n <= maxSize);
  const arrays = sizes.flatMap((size) => [Array(size).fill(''), Array(size).fill(0)]);
  const anything = ['', 'a', 0, 1, true, false, [], {}, null];
  const tried = [...operands, ...values, ...anything, ...arrays];
  const distinct = new Map(tried.map((value) => [stringify(value, budget), value]));
  const changes = [...distinct.values()].map((value) => setValue(document, names, value));
  return [...appendValues(document, names, operands), ...changes, ...removeValue(document, names)];
}

function stringify(value: unknown, budget: StepBudget): string {
  const text = JSON.stringify(value);
  spendSteps(budget, countTextSteps(text.length));
  return text;
}

function listNearbyValues(operand: unknown): unknown[] {
  if (typeof operand === 'number') return [operand + 1, operand - 1, [operand]];
  if (typeof operand === 'string') return [`${operand}0`, [operand]];
  return typeof operand === 'boolean' ? [!operand, [operand]] : [];
}

/** Appends values to an existing list instead of replacing the list. */
const appendValues = (document: unknown, names: readonly string[], values: readonly unknown[]): PatchOperation[] =>
  Array.isArray(follow(document, names))
    ? values.filter(isScalarValue).map((value) => ({ op: 'add', path: `${toPointer(names)}/-`, value }))
    : [];

/** Sets a value, and adds any objects that are missing from the path. */
function setValue(document: unknown, names: readonly string[], value: unknown): PatchOperation {
  const existing = countExisting(document, names);
  const missing = names.slice(existing + 1);
  const whole = missing.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return { op: 'add', path: toPointer(names.slice(0, existing + 1)), value: whole };
}

function removeValue(document: unknown, names: readonly string[]): PatchOperation[] {
  const inside = countExisting(document, names) === names.length - 1 ? follow(document, names.slice(0, -1)) : undefined;
  const name = names.at(-1) ?? '';
  return isObject(inside) && Object.hasOwn(inside, name) ? [{ op: 'remove', path: toPointer(names) }] : [];
}

/** Counts the leading names that refer to existing objects. The last name is never counted. */
function countExisting(document: unknown, names: readonly string[]): number {
  let count = 0;
  while (count < names.length - 1 && isObject(follow(document, names.slice(0, count + 1)))) count += 1;
  return count;
}

const follow = (document: unknown, names: readonly string[]): unknown =>
  names.reduce<unknown>(
    (inside, name) => (isObject(inside) && Object.hasOwn(inside, name) ? inside[name] : undefined),
    document,
  );
