// Owns the checking of values against the fields of a schema: all faults at once, and the value as it will be stored.
import { isDeepStrictEqual } from 'node:util';
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { isObject } from '../rules/values.ts';
import { type Field, type Fields, type FieldType, plainText } from './field.ts';
import { formats } from './formats.ts';

type Loc = readonly (string | number)[];

/** What one request's values came to. */
export interface Findings {
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

export const nothingFound = (): Findings => ({ faults: [], ignored: [], steps: maxSteps });

/** A value that is not null, as it will be stored; undefined where it was refused. */
export function checkedValue(field: Field, value: unknown, loc: Loc, found: Findings, depth = 1): unknown {
  const type = field.types.find((each) => isOf(each, value));
  if (type === undefined) return refuse(found, loc, ...wrongType(field.types, value));
  if (field.enum !== undefined && !field.enum.some((each) => isDeepStrictEqual(each, value))) {
    return refuse(found, loc, 'enum', 'must be one of the listed values');
  }
  if (type === 'string') return checkedText(field, value as string, loc, found);
  if (type === 'number' || type === 'integer') return checkedNumber(field, value as number, loc, found);
  if (type === 'array') return checkedItems(field.items, value as unknown[], loc, found, depth);
  if (type === 'object') return checkedObject(field.properties, value as Plain, loc, found, depth);
  return value;
}

type Plain = Readonly<Record<string, unknown>>;

const isOf = (type: FieldType, value: unknown): boolean => {
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

function wrongType([type]: readonly FieldType[], value: unknown): [type: string, message: string] {
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

function checkedText(field: Field, text: string, loc: Loc, found: Findings): string | undefined {
  if (!isStorableText(text))
    return refuse(found, loc, 'string_pattern_mismatch', 'must be well-formed text without NUL characters');
  const { minLength, maxLength, format, pattern } = field;
  if (minLength !== undefined && length(text) < minLength)
    return refuse(found, loc, 'string_too_short', `must have at least ${minLength} character(s)`);
  if (maxLength !== undefined && text.length > maxLength && length(text) > maxLength)
    return refuse(found, loc, 'string_too_long', `must have at most ${maxLength} characters`);
  found.steps -= (format && formats[format].steps?.(text)) ?? 0;
  found.steps -= text.length * (pattern?.cost ?? 0);
  if (found.steps < 0) return refuse(found, loc, 'value_error', 'is more than one request may have matched');
  if (format !== undefined && !formats[format].holds(text))
    return refuse(found, loc, formats[format].fault, `must be in the format ${format}`);
  if (pattern !== undefined && !pattern.matches(text))
    return refuse(found, loc, 'string_pattern_mismatch', `must match ${pattern.source}`);
  return text;
}

/** Lengths count code points. */
function length(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function checkedNumber({ minimum, maximum }: Field, value: number, loc: Loc, found: Findings): number | undefined {
  if (minimum !== undefined && value < minimum)
    return refuse(found, loc, 'greater_than_equal', `must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum)
    return refuse(found, loc, 'less_than_equal', `must be at most ${maximum}`);
  return value;
}

function checkedItems(items: Field | undefined, list: readonly unknown[], loc: Loc, found: Findings, depth: number) {
  if (list.length > maxItems) return refuse(found, loc, 'too_long', `must have at most ${maxItems} items`);
  if (depth >= maxDepth) return refuse(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  return list.map((item, index) => {
    const at = [...loc, index];
    if (items === undefined) return storable(item, at, found, depth + 1);
    if (item === null && items.nullable) return null;
    if (item === null) return refuse(found, at, 'none_not_allowed', 'must have a value');
    return checkedValue(items, item, at, found, depth + 1);
  });
}

function checkedObject(shape: Fields | undefined, value: Plain, loc: Loc, found: Findings, depth: number) {
  if (depth >= maxDepth) return refuse(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (shape === undefined) return storable(value, loc, found, depth);
  const kept: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const field = shape.fields.get(name);
    if (field === undefined) found.ignored.push([...loc.slice(1), name].join('.'));
    else if (inner !== null) kept.push([name, checkedValue(field, inner, [...loc, name], found, depth + 1)]);
    else if (shape.required.has(name)) refuse(found, [...loc, name], 'none_not_allowed', 'must have a value');
    else if (field.nullable) kept.push([name, null]);
  }
  for (const name of shape.required)
    if (!Object.hasOwn(value, name)) refuse(found, [...loc, name], 'missing', 'is required');
  return Object.fromEntries(kept);
}

/** A value of no declared shape: anything that the database keeps. */
function storable(value: unknown, loc: Loc, found: Findings, depth: number): unknown {
  if (typeof value === 'string') return checkedText(plainText, value, loc, found);
  if (typeof value === 'number' && !Number.isFinite(value))
    return refuse(found, loc, 'finite_number', 'must be a number that can be kept exactly');
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return refuse(found, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) return checkedItems(undefined, value, loc, found, depth);
  const kept = Object.entries(value).map(([name, inner]) => {
    if (!isStorableText(name)) refuse(found, loc, 'string_pattern_mismatch', 'has a name that cannot be kept');
    return [name, storable(inner, [...loc, name], found, depth + 1)];
  });
  return Object.fromEntries(kept);
}

function refuse(found: Findings, loc: Loc, type: string, msg: string): undefined {
  if (found.faults.length < maxFaults) found.faults.push({ loc, msg, type });
  return undefined;
}
