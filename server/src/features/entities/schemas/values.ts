// Owns the checking of values against the fields of a schema: all faults at once, and the value as it will be stored.
import { isDeepStrictEqual } from 'node:util';
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { isObject } from '../rules/values.ts';
import { anyText, type Field, type Fields, type FieldType } from './field.ts';
import { formats } from './formats.ts';

type Loc = readonly (string | number)[];

/** What one request's values came to. */
export interface Validation {
  readonly faults: Fault[];
  /** Names that no field has, from the record on: `address.zpi`. */
  readonly ignored: string[];
  /** How much matching of patterns is left. */
  steps: number;
}

const maxSteps = 2_500_000; // about a quarter of a second
const maxDepth = 10;
const maxItems = 10_000;
const maxFaults = 100;

export const newValidation = (): Validation => ({ faults: [], ignored: [], steps: maxSteps });

/** A value that is not null, as it will be stored; undefined where it was refused. */
export function validateValue(field: Field, value: unknown, loc: Loc, found: Validation, depth = 1): unknown {
  const type = field.types.find((each) => isOfType(each, value));
  if (type === undefined) return addFault(found, loc, ...describeTypeFault(field.types, value));
  if (field.enum !== undefined && !field.enum.some((each) => isDeepStrictEqual(each, value))) {
    return addFault(found, loc, 'enum', 'must be one of the listed values');
  }
  if (type === 'string') return validateText(field, value as string, loc, found);
  if (type === 'number' || type === 'integer') return validateNumber(field, value as number, loc, found);
  if (type === 'array') return validateItems(field.items, value as unknown[], loc, found, depth);
  if (type === 'object') return validateObject(field.properties, value as JsonObject, loc, found, depth);
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
      return ['int_from_float', 'must be a whole number'];
    return ['finite_number', 'must be a number that can be kept exactly'];
  }
  const names = {
    string: ['string_type', 'must be a text'],
    number: ['float_type', 'must be a number'],
    integer: ['int_type', 'must be a whole number'],
    boolean: ['bool_type', 'must be true or false'],
    array: ['list_type', 'must be a list'],
    object: ['dict_type', 'must be an object'],
  } as const;
  return [...names[type ?? 'string']];
}

function validateText(field: Field, text: string, loc: Loc, found: Validation): string | undefined {
  if (!isStorableText(text))
    return addFault(found, loc, 'string_pattern_mismatch', 'must be well-formed text without NUL characters');
  const { minLength, maxLength, format, pattern } = field;
  if (minLength !== undefined && length(text) < minLength)
    return addFault(found, loc, 'string_too_short', `must have at least ${minLength} character(s)`);
  if (maxLength !== undefined && text.length > maxLength && length(text) > maxLength)
    return addFault(found, loc, 'string_too_long', `must have at most ${maxLength} characters`);
  found.steps -= (format && formats[format].countSteps?.(text)) ?? 0;
  found.steps -= text.length * (pattern?.cost ?? 0);
  if (found.steps < 0) return addFault(found, loc, 'value_error', 'is more than one request may have matched');
  if (format !== undefined && !formats[format].accepts(text))
    return addFault(found, loc, formats[format].fault, `must be in the format ${format}`);
  if (pattern !== undefined && !pattern.matches(text))
    return addFault(found, loc, 'string_pattern_mismatch', `must match ${pattern.source}`);
  return text;
}

/** Lengths count code points. */
function length(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function validateNumber({ minimum, maximum }: Field, value: number, loc: Loc, found: Validation): number | undefined {
  if (minimum !== undefined && value < minimum)
    return addFault(found, loc, 'greater_than_equal', `must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum)
    return addFault(found, loc, 'less_than_equal', `must be at most ${maximum}`);
  return value;
}

function validateItems(items: Field | undefined, list: readonly unknown[], loc: Loc, found: Validation, depth: number) {
  if (list.length > maxItems) return addFault(found, loc, 'too_long', `must have at most ${maxItems} items`);
  if (depth >= maxDepth) return addFault(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  return list.map((item, index) => {
    const at = [...loc, index];
    if (items === undefined) return validateUntyped(item, at, found, depth + 1);
    if (item === null && items.nullable) return null;
    if (item === null) return addFault(found, at, 'none_not_allowed', 'must have a value');
    return validateValue(items, item, at, found, depth + 1);
  });
}

function validateObject(shape: Fields | undefined, value: JsonObject, loc: Loc, found: Validation, depth: number) {
  if (depth >= maxDepth) return addFault(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (shape === undefined) return validateUntyped(value, loc, found, depth);
  const kept: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const field = shape.fields.get(name);
    if (field === undefined) found.ignored.push([...loc.slice(1), name].join('.'));
    else if (inner !== null) kept.push([name, validateValue(field, inner, [...loc, name], found, depth + 1)]);
    else if (shape.required.has(name)) addFault(found, [...loc, name], 'none_not_allowed', 'must have a value');
    else if (field.nullable) kept.push([name, null]);
  }
  for (const name of shape.required)
    if (!Object.hasOwn(value, name)) addFault(found, [...loc, name], 'missing', 'is required');
  return Object.fromEntries(kept);
}

/** A value of no declared shape: anything that the database keeps. */
function validateUntyped(value: unknown, loc: Loc, found: Validation, depth: number): unknown {
  if (typeof value === 'string') return validateText(anyText, value, loc, found);
  if (typeof value === 'number' && !Number.isFinite(value))
    return addFault(found, loc, 'finite_number', 'must be a number that can be kept exactly');
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return addFault(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) return validateItems(undefined, value, loc, found, depth);
  const kept = Object.entries(value).map(([name, inner]) => {
    if (!isStorableText(name)) addFault(found, loc, 'string_pattern_mismatch', 'has a name that cannot be kept');
    return [name, validateUntyped(inner, [...loc, name], found, depth + 1)];
  });
  return Object.fromEntries(kept);
}

function addFault(found: Validation, loc: Loc, type: string, msg: string): undefined {
  if (found.faults.length < maxFaults) found.faults.push({ loc, msg, type });
  return undefined;
}
