// Reads a caller's source: its places, their faults and the expressions found there. Reading continues after a
// fault, so all faults are reported together.
import type { Expression, Fault, Json, Task, Template } from './model.ts';
import { readExpression } from './templates.ts';

/** What has been found in one document so far. */
export interface Findings {
  readonly faults: { readonly order: number; readonly fault: Fault }[];
  readonly expressions: FoundExpression[];
  readonly tasksByPath: Map<string, Task>;
  readonly secretNames: Set<string>;
  readonly entityNames: Set<string>;
  /** How many tasks have been found. */
  taskCount: number;
  /**
   * The number of the latest fault or expression. Both are numbered when found, so they can be reported in document
   * order.
   */
  order: number;
}

export interface FoundExpression {
  readonly order: number;
  readonly path: string;
  readonly expression: Expression;
  /** The variables that the expression may use. */
  readonly scope: readonly string[];
}

/** A value and its location in the document. */
export interface Place {
  readonly value: unknown;
  /** A JSON pointer. */
  readonly path: string;
  /** The variables that expressions may use here. */
  readonly scope: readonly string[];
  readonly findings: Findings;
}

export const createFindings = (): Findings => ({
  faults: [],
  expressions: [],
  tasksByPath: new Map(),
  secretNames: new Set(),
  entityNames: new Set(),
  taskCount: 0,
  order: 0,
});

// Far more than the number of faults that are reported.
const maxStoredFaults = 1_000;

/** Records a fault. Always returns undefined, so callers can return the result directly. */
export function fault(
  { path, findings }: Place,
  message: string,
  code: Fault['code'] = 'definition_syntax',
): undefined {
  findings.order += 1;
  if (findings.faults.length < maxStoredFaults)
    findings.faults.push({ order: findings.order, fault: { path, code, message } });
  return undefined;
}

export const step = (place: Place, key: string | number, value: unknown): Place => ({
  ...place,
  value,
  path: `${place.path}/${escapeKey(String(key))}`,
});

/** Returns the same place with additional variables for its expressions. */
export const withVariables = (place: Place, names: readonly string[]): Place => ({
  ...place,
  scope: [...new Set([...place.scope, ...names])],
});

const escapeKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

export interface Fields {
  /** Returns the field, or undefined if it was not sent. */
  get(key: string): Place | undefined;
  /** Returns the field. Records a fault if it was not sent. */
  require(key: string): Place | undefined;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads an object that may have only these keys. */
export function readObject(place: Place, keys: readonly string[]): Fields | undefined {
  const { value } = place;
  if (!isObject(value)) return fault(place, 'must be an object');
  for (const key of Object.keys(value)) if (!keys.includes(key)) reportUnknownKey(step(place, key, null), keys);
  const get = (key: string) => (Object.hasOwn(value, key) ? step(place, key, value[key]) : undefined);
  return { get, require: (key) => get(key) ?? fault(step(place, key, undefined), 'is required') };
}

function reportUnknownKey(place: Place, keys: readonly string[]): void {
  fault(place, `is not supported here; supported keys: ${keys.join(', ')}`);
}

/** Reads a string that must be one of these choices. */
export function readChoice<Choice extends string>(place: Place, choices: readonly Choice[]): Choice | undefined {
  const found = choices.find((choice) => choice === place.value);
  return found ?? fault(place, `must be one of ${choices.join(', ')}`);
}

/** Reads a string with 1 to `max` characters. */
export function readText(place: Place, max: number): string | undefined {
  const { value } = place;
  if (typeof value !== 'string') return fault(place, 'must be a string');
  if (value === '') return fault(place, 'must have at least 1 character');
  if (value.length > max && [...value].length > max) return fault(place, `must have at most ${max} characters`);
  return value;
}

export function readInteger(place: Place, min: number, max: number): number | undefined {
  const { value } = place;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    return fault(place, `must be an integer from ${min} to ${max}`);
  return value;
}

/** Reads a string that must be an expression. */
export function readRequiredExpression(place: Place): Expression | undefined {
  const expression = typeof place.value === 'string' ? readExpression(place.value) : undefined;
  if (expression === undefined) return fault(place, mustBeExpression);
  noteExpression(place, expression);
  return expression;
}

const mustBeExpression = 'must be an expression, with the whole string inside ${ … }';

/** Reads any JSON value and records its expressions. */
export function readTemplate(place: Place): Template {
  const { value } = place;
  if (typeof value === 'string') {
    const expression = readExpression(value);
    if (expression !== undefined) noteExpression(place, expression);
    else refusePartialExpression(place, value);
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) if (mayHaveExpression(item)) readTemplate(step(place, key, item));
  return asJson(value);
}

/** Most values can't contain an expression, and creating a place for each of them would take up most of the time. */
const mayHaveExpression = (value: unknown): boolean =>
  typeof value === 'string' ? value.includes('${') : typeof value === 'object' && value !== null;

/** An author who writes `Dear ${ .name }` expects it to be evaluated, but it would be literal text. */
const refusePartialExpression = (place: Place, text: string): undefined =>
  text.includes('${') ? fault(place, mustBeWhole) : undefined;

const mustBeWhole =
  'must start with ${ and end with }, without other text. To insert a value into text, write ${ "Dear \\(.name)" }';

/** Reads an expression, or calls `readLiteral` for any other value. */
export function readExpressionOr<Value extends Template>(
  place: Place,
  readLiteral: (place: Place) => Value | undefined,
): Template | undefined {
  const isExpression = typeof place.value === 'string' && place.value.includes('${');
  return isExpression ? readTemplate(place) : readLiteral(place);
}

/** Reads an object that may contain expressions. */
export const readObjectTemplate = (place: Place): Template | undefined =>
  isObject(place.value) ? readTemplate(place) : fault(place, 'must be an object or an expression');

export function noteExpression({ path, scope, findings }: Place, expression: Expression): void {
  findings.order += 1;
  findings.expressions.push({ order: findings.order, path, expression, scope });
}

/** The source was parsed from JSON, and `isReadable` has checked it completely. */
const asJson = (value: unknown): Json => value as Json;
