// Validates values against a schema's fields. Collects all faults, and returns the value as it will be stored.
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { isObject } from '../rules/values.ts';
import { hasChoice } from './choices.ts';
import type { Field, Fields, FieldType } from './field.ts';
import { formats } from './formats.ts';

type Loc = readonly (string | number)[];

/** The state of one request's validation. */
export interface Validation {
  readonly faults: Fault[];
  /** Paths that the schema does not declare, relative to the record, such as `address.zpi`. */
  readonly ignored: string[];
  /** The remaining budget for matching patterns. */
  steps: number;
}

const maxSteps = 2_500_000; // about a quarter of a second
const maxDepth = 10;
const maxItems = 10_000;
const maxFaults = 100;
// More names than would fit into `X-Ignored-Fields`.
const maxIgnored = 2_048;

export const newValidation = (): Validation => ({ faults: [], ignored: [], steps: maxSteps });

/** Validates a value that is not null. Returns it as it will be stored, or undefined if a fault was recorded. */
export function validateValue(field: Field, value: unknown, loc: Loc, validation: Validation, depth = 1): unknown {
  const type = field.types.find((each) => isOfType(each, value));
  if (type === undefined) return addFault(validation, loc, ...describeTypeFault(field.types, value));
  if (field.enum !== undefined && !hasChoice(field.enum, value)) {
    return addFault(validation, loc, 'enum', `must be one of ${field.enum.description}`);
  }
  if (type === 'string') return validateText(field, value as string, loc, validation);
  if (type === 'number' || type === 'integer') return validateNumber(field, value as number, loc, validation);
  if (type === 'array') return validateItems(field.items, value as unknown[], loc, validation, depth);
  if (type === 'object') return validateObject(field.properties, value as JsonObject, loc, validation, depth);
  return value;
}

type JsonObject = Readonly<Record<string, unknown>>;

const isOfType = (type: FieldType, value: unknown): boolean => {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
};

function describeTypeFault([type]: readonly FieldType[], value: unknown): [type: string, message: string] {
  if (typeof value === 'number' && (type === 'integer' || type === 'number')) {
    if (type === 'integer' && Number.isFinite(value) && !Number.isInteger(value))
      return ['int_from_float', 'must be an integer'];
    return ['finite_number', 'must be a number that can be represented exactly'];
  }
  const names = {
    string: ['string_type', 'must be a string'],
    number: ['float_type', 'must be a number'],
    integer: ['int_type', 'must be an integer'],
    boolean: ['bool_type', 'must be true or false'],
    array: ['list_type', 'must be a list'],
    object: ['dict_type', 'must be an object'],
  } as const;
  return [...names[type ?? 'string']];
}

const unstorableText = ['string_pattern_mismatch', 'must be valid Unicode text without NUL characters'] as const;

function validateText(field: Field, text: string, loc: Loc, validation: Validation): string | undefined {
  if (!isStorableText(text)) return addFault(validation, loc, ...unstorableText);
  const { minLength, maxLength, format, pattern } = field;
  if (minLength !== undefined && length(text) < minLength)
    return addFault(
      validation,
      loc,
      'string_too_short',
      `must have at least ${minLength} character${minLength === 1 ? '' : 's'}`,
    );
  if (maxLength !== undefined && text.length > maxLength && length(text) > maxLength)
    return addFault(validation, loc, 'string_too_long', `must have at most ${maxLength} characters`);
  validation.steps -= (format && formats[format].countSteps?.(text)) ?? 0;
  validation.steps -= text.length * (pattern?.cost ?? 0);
  if (validation.steps < 0)
    return addFault(
      validation,
      loc,
      'value_error',
      'must be shorter, because the request contains too much text to match against patterns; sending fewer values also helps',
    );
  if (format !== undefined && !formats[format].accepts(text))
    return addFault(validation, loc, formats[format].fault, `must match the format ${format}`);
  if (pattern !== undefined && !pattern.matches(text))
    return addFault(validation, loc, 'string_pattern_mismatch', `must match ${pattern.source}`);
  return text;
}

/** The number of code points. */
function length(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function validateNumber(
  { minimum, maximum }: Field,
  value: number,
  loc: Loc,
  validation: Validation,
): number | undefined {
  if (minimum !== undefined && value < minimum)
    return addFault(validation, loc, 'greater_than_equal', `must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum)
    return addFault(validation, loc, 'less_than_equal', `must be at most ${maximum}`);
  return value;
}

function validateItems(
  items: Field | undefined,
  list: readonly unknown[],
  loc: Loc,
  validation: Validation,
  depth: number,
) {
  if (items === undefined) return validateUntyped(list, loc, validation, depth);
  if (list.length > maxItems) return addFault(validation, loc, 'too_long', `must have at most ${maxItems} items`);
  if (depth >= maxDepth) return addFault(validation, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  return list.map((item, index) => {
    const at = [...loc, index];
    if (item === null && items.nullable) return null;
    if (item === null) return addFault(validation, at, 'none_not_allowed', 'must not be null');
    return validateValue(items, item, at, validation, depth + 1);
  });
}

function validateObject(shape: Fields | undefined, value: JsonObject, loc: Loc, validation: Validation, depth: number) {
  if (depth >= maxDepth) return addFault(validation, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (shape === undefined) return validateUntyped(value, loc, validation, depth);
  for (const name of shape.required) {
    if (validation.faults.length >= maxFaults) break;
    if (!Object.hasOwn(value, name)) addFault(validation, [...loc, name], 'missing', 'is required');
  }
  const kept: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const field = shape.fields.get(name);
    if (field === undefined) addIgnored(validation, loc, name);
    else if (inner !== null) kept.push([name, validateValue(field, inner, [...loc, name], validation, depth + 1)]);
    else if (shape.required.has(name)) addFault(validation, [...loc, name], 'none_not_allowed', 'must not be null');
    else if (field.nullable) kept.push([name, null]);
  }
  return Object.fromEntries(kept);
}

/**
 * Validates a value whose shape is not declared, which can be anything the database can store. Nothing is removed from
 * it, so the value itself is returned. The value may have a great many parts, so `loc` is built only for the parts with
 * faults.
 */
export function validateUntyped(value: unknown, loc: Loc, validation: Validation, depth: number): unknown {
  checkUntyped(value, [...loc], validation, depth);
  return value;
}

/** Modifies `loc` while it runs. */
function checkUntyped(value: unknown, loc: (string | number)[], validation: Validation, depth: number): undefined {
  const refuse = (type: string, msg: string) => addFault(validation, [...loc], type, msg);
  if (typeof value === 'string') {
    if (!isStorableText(value)) refuse(...unstorableText);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse('finite_number', 'must be a number that can be represented exactly');
  } else if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value);
    if (isList && value.length > maxItems) return refuse('too_long', `must have at most ${maxItems} items`);
    if (depth >= maxDepth) return refuse('value_error', `is nested deeper than ${maxDepth} levels`);
    for (const [name, inner] of isList ? value.entries() : Object.entries(value)) {
      if (typeof name === 'string' && !isStorableText(name))
        refuse('string_pattern_mismatch', 'must have keys that are valid Unicode text without NUL characters');
      loc.push(name);
      checkUntyped(inner, loc, validation, depth + 1);
      loc.pop();
    }
  }
}

/** Records a name that the schema does not declare. */
export function addIgnored({ ignored }: Validation, loc: Loc, name: string): void {
  if (ignored.length < maxIgnored) ignored.push([...loc.slice(1), name].join('.'));
}

function addFault(validation: Validation, loc: Loc, type: string, msg: string): undefined {
  if (validation.faults.length < maxFaults) validation.faults.push({ loc, msg, type });
  return undefined;
}
