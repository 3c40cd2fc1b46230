// Compares JSON values: equality by value, and order by code point. If there is a budget, comparisons count their
// steps.
import { countTextSteps, type StepBudget, spendSteps } from './budget.ts';

/** Listing an object's names and looking them up in another object takes longer than comparing scalars. */
const stepsPerName = 8;

/** -0 equals 0. The order of an object's names does not matter. */
export function isEqual(a: unknown, b: unknown, budget?: StepBudget): boolean {
  spendSteps(budget, countEqualitySteps(b));
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((each, at) => isEqual(each, b[at], budget));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  spendSteps(budget, names.length * stepsPerName);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name], budget));
}

const countEqualitySteps = (wanted: unknown): number =>
  typeof wanted === 'string' ? countTextSteps(wanted.length) : 1;

/** Whether the value equals the wanted value or, if it is an array, contains it. A missing value counts as null. */
export function equalsOrContains(value: unknown, wanted: unknown, budget?: StepBudget): boolean {
  if (!Array.isArray(value)) return isEqual(value ?? null, wanted, budget);
  if (!isScalarValue(wanted)) {
    return isEqual(value, wanted, budget) || value.some((element) => isEqual(element, wanted, budget));
  }
  // `includes` checks eight elements in the time that one step takes.
  spendSteps(budget, (1 + (value.length >> 3)) * countEqualitySteps(wanted));
  return value.includes(wanted);
}

/** Whether the value or, if it is an array, one of its elements is one of the scalars. */
export function isOneOf(value: unknown, scalars: ReadonlySet<unknown>, budget: StepBudget): boolean {
  if (!Array.isArray(value)) return scalars.has(value ?? null);
  spendSteps(budget, value.length);
  for (const element of value) if (scalars.has(element)) return true;
  return false;
}

/** Whether each scalar equals the value or, if the value is an array, is one of its elements. */
export function includesAll(value: unknown, scalars: ReadonlySet<unknown>, budget: StepBudget): boolean {
  for (const scalar of scalars) if (!equalsOrContains(value, scalar, budget)) return false;
  return true;
}

/**
 * Orders strings like PostgreSQL's collation "C" on UTF-8. JavaScript's own order would put U+1F600 (two surrogates)
 * before U+FF21.
 */
export function compareCodePoints(a: string, b: string, budget?: StepBudget): number {
  const shared = Math.min(a.length, b.length);
  spendSteps(budget, countTextSteps(shared));
  for (let at = 0; at < shared; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return toSortRank(left) - toSortRank(right);
  }
  return a.length - b.length;
}

const toSortRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/**
 * Follows names through objects. Returns undefined if a name is missing, or if the path contains an array or a scalar.
 */
export function findValue(data: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of names) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isScalarValue = (value: unknown): boolean => typeof value !== 'object' || value === null;
