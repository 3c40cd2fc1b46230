// The filter `q`: parsing it from JSON within limits, and reporting every fault with its path
// (docs/api/analytics.md#filters).
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText, parseTime } from '../../../kit/text.ts';
import { type EventField, isTime, parseField } from './field.ts';

export type Scalar = string | number | boolean | null;
export type Comparator = 'gt' | 'gte' | 'lt' | 'lte';

/** An `in` check that lists null is also true if the event has no value. Times are in the API's text format. */
export type Check =
  | { readonly op: 'in'; readonly values: readonly Scalar[] }
  | { readonly op: Comparator; readonly value: string | number }
  | { readonly op: 'contains'; readonly text: string };

/**
 * A filter is either true or false for an event. A check that does not apply to a value is false, so its negation is
 * true.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'check'; readonly field: EventField; readonly check: Check };

export const everyEvent: Filter = { kind: 'and', parts: [] };

const maxDepth = 5;
const maxNodes = 100;
const maxCombined = 20;
const maxListItems = 1_000;
const maxTextLength = 2_048;

const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains'] as const;
type Operator = (typeof operators)[number];
const isOperator = (name: string): name is Operator => operators.some((operator) => operator === name);

type Loc = Fault['loc'];

interface ParseState {
  readonly faults: Fault[];
  nodeCount: number;
}

/** Undefined if there were faults. */
type Parsed<T> = T | undefined;

/** Parses `q`. Every event matches `{}`. */
export function parseFilter(
  json: unknown,
  loc: Loc,
): { readonly filter: Filter } | { readonly faults: readonly Fault[] } {
  const state: ParseState = { faults: [], nodeCount: 0 };
  const filter = parseCondition(state, json, loc, 1);
  return filter === undefined || state.faults.length > 0 ? { faults: state.faults } : { filter };
}

function refuse(state: ParseState, loc: Loc, type: string, msg: string): undefined {
  state.faults.push({ loc, msg, type });
}

function parseCondition(state: ParseState, json: unknown, loc: Loc, depth: number): Parsed<Filter> {
  if (!isObject(json)) return refuse(state, loc, 'dict_type', 'must be an object');
  if (depth > maxDepth) return refuse(state, loc, 'value_error', `is nested deeper than ${maxDepth} levels`);
  if (!countNode(state, loc)) return undefined;
  return joinWithAnd(Object.entries(json).map(([key, value]) => parseEntry(state, key, value, [...loc, key], depth)));
}

function parseEntry(state: ParseState, key: string, json: unknown, loc: Loc, depth: number): Parsed<Filter> {
  if (key === 'and' || key === 'or') {
    const parts = parseList(state, json, loc, maxCombined, (each, at) => parseCondition(state, each, at, depth + 1));
    return parts && { kind: key, parts };
  }
  if (key === 'not') return negate(parseCondition(state, json, loc, depth + 1));
  const field = parseField(key);
  if (field === undefined)
    return refuse(state, loc, 'unknown_field', 'is neither an event field nor one of and, or, not');
  if (!isObject(json)) return refuse(state, loc, 'dict_type', 'must be an object such as {"eq": "a value"}');
  const entries = Object.entries(json);
  if (entries.length === 0) return refuse(state, loc, 'too_short', 'must contain at least one operator');
  return joinWithAnd(entries.map(([name, value]) => parseTest(state, field, name, value, [...loc, name])));
}

function parseTest(state: ParseState, field: EventField, operator: string, json: unknown, loc: Loc): Parsed<Filter> {
  if (!countNode(state, loc)) return undefined;
  if (!isOperator(operator) || (operator === 'contains' && isTime(field)))
    return refuse(
      state,
      loc,
      'unsupported_operator',
      `must be one of ${operators.join(', ')}; contains can't be used with timestamps`,
    );
  const check = parseCheck(state, field, operator, json, loc);
  const filter: Parsed<Filter> = check && { kind: 'check', field, check };
  return operator === 'ne' || operator === 'nin' ? negate(filter) : filter;
}

function parseCheck(state: ParseState, field: EventField, operator: Operator, json: unknown, loc: Loc): Parsed<Check> {
  switch (operator) {
    case 'eq':
    case 'ne': {
      const value = parseScalar(state, field, json, loc);
      return value === undefined ? undefined : { op: 'in', values: [value] };
    }
    case 'in':
    case 'nin': {
      const values = parseList(state, json, loc, maxListItems, (each, at) => parseScalar(state, field, each, at));
      return values && { op: 'in', values };
    }
    case 'contains':
      if (typeof json !== 'string') return refuse(state, loc, 'string_type', 'must be a string');
      return checkText(state, json, loc) ? { op: 'contains', text: json } : undefined;
    default: {
      const value = parseScalar(state, field, json, loc);
      if (value === null || typeof value === 'boolean')
        return refuse(state, loc, 'value_error', 'must be a number or a string');
      return value === undefined ? undefined : { op: operator, value };
    }
  }
}

/** Properties can have values of any type. All other fields are strings, and `timestamp` is a time. */
function parseScalar(state: ParseState, field: EventField, json: unknown, loc: Loc): Parsed<Scalar> {
  if (json === null) return null;
  if (typeof json === 'string') {
    if (!checkText(state, json, loc)) return undefined;
    if (!isTime(field)) return json;
    const time = parseTime(json);
    if (time === undefined)
      return refuse(state, loc, 'datetime_parsing', 'must be a time such as 2026-11-15T09:30:00Z');
    return time.toISOString();
  }
  if ('column' in field) return refuse(state, loc, 'string_type', 'must be a string');
  if (typeof json === 'boolean') return json;
  if (typeof json !== 'number')
    return refuse(state, loc, 'value_error', 'must be a string, a number, true, false or null');
  if (!Number.isFinite(json)) return refuse(state, loc, 'finite_number', 'must be a finite number');
  return json;
}

function checkText(state: ParseState, text: string, loc: Loc): boolean {
  if (text.length > maxTextLength)
    refuse(state, loc, 'string_too_long', `must have at most ${maxTextLength} characters`);
  else if (!isStorableText(text))
    refuse(state, loc, 'string_pattern_mismatch', 'must be valid Unicode text without NUL characters');
  else return true;
  return false;
}

function parseList<T>(
  state: ParseState,
  json: unknown,
  loc: Loc,
  maxItems: number,
  parseItem: (each: unknown, loc: Loc) => Parsed<T>,
): Parsed<T[]> {
  if (!Array.isArray(json)) return refuse(state, loc, 'list_type', 'must be a list');
  if (json.length === 0) return refuse(state, loc, 'too_short', 'must have at least 1 item');
  if (json.length > maxItems) return refuse(state, loc, 'too_long', `must have at most ${maxItems} items`);
  const items = json.map((each, at) => parseItem(each, [...loc, at])).filter((item) => item !== undefined);
  return items.length === json.length ? items : undefined;
}

/** Counts one more node. Returns false once the limit is exceeded, and records a fault at the first excess node. */
function countNode(state: ParseState, loc: Loc): boolean {
  state.nodeCount += 1;
  if (state.nodeCount === maxNodes + 1)
    refuse(state, loc, 'value_error', `must contain at most ${maxNodes} conditions and tests in total`);
  return state.nodeCount <= maxNodes;
}

function joinWithAnd(parts: readonly Parsed<Filter>[]): Parsed<Filter> {
  const valid = parts.filter((part) => part !== undefined);
  if (valid.length !== parts.length) return undefined;
  const [only] = valid;
  return valid.length === 1 ? only : { kind: 'and', parts: valid };
}

const negate = (part: Parsed<Filter>): Parsed<Filter> => part && { kind: 'not', part };

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
