// Owns the 422 answer: `{detail: [{loc, msg, type}]}`, with faults in the order of the body that was sent
// (docs/api/conventions.md#validation-errors).
import type { z } from 'zod';

export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export class ValidationError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super('the request is not valid for this operation');
    this.faults = faults.slice(0, 100);
  }
}

type InputSource = 'body' | 'query' | 'path' | 'header';

/** Returns the parsed value or throws ValidationError. Every `loc` starts with `source`. */
export function parse<S extends z.ZodType>(
  schema: S,
  source: InputSource | readonly [InputSource, string],
  raw: unknown,
): z.output<S> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw new ValidationError(toFaults(typeof source === 'string' ? [source] : source, raw, result.error.issues));
}

function toFaults(source: readonly string[], raw: unknown, issues: readonly z.core.$ZodIssue[]): Fault[] {
  const entries = issues.flatMap((issue) => listPaths(issue).map((path) => ({ path, issue })));
  const ranked = entries.map((entry) => ({ ...entry, rank: getRank(raw, entry.path) }));
  ranked.sort((a, b) => compareRanks(a.rank, b.rank));
  const seen = new Set<string>();
  return ranked
    .map(({ path, issue }) => ({
      loc: [...source, ...path],
      msg: toMessage(issue, getValueAt(raw, path)),
      type: toFaultType(issue, getValueAt(raw, path)),
    }))
    .filter((fault) => {
      // One value can violate two bounds (too large, and not a safe integer): the first fault is enough.
      const key = JSON.stringify(fault.loc);
      return !seen.has(key) && seen.add(key);
    });
}

// One issue may name several unknown keys. Each becomes a fault.
function listPaths(issue: z.core.$ZodIssue): (string | number)[][] {
  const path = issue.path as (string | number)[];
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
}

function toFaultType(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return 'missing';
      if (value === null) return 'none_not_allowed';
      return toTypeFault(issue.expected, value);
    case 'too_small':
    case 'too_big':
      return toBoundFault(issue.code, issue.origin);
    case 'invalid_value':
      return value === undefined ? 'missing' : value === null ? 'none_not_allowed' : 'enum';
    case 'unrecognized_keys':
      return 'extra_forbidden';
    case 'invalid_format':
      return 'string_pattern_mismatch';
    case 'custom':
      return (issue.params?.type as string | undefined) ?? 'value_error';
    default:
      return 'value_error';
  }
}

function toTypeFault(expected: string, value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'finite_number';
  const names: Record<string, string> = {
    string: 'string_type',
    number: 'float_type',
    boolean: 'bool_type',
    array: 'list_type',
    object: 'dict_type',
    record: 'dict_type',
  };
  if (expected === 'int') return typeof value === 'number' ? 'int_from_float' : 'int_type';
  return names[expected] ?? 'value_error';
}

function toBoundFault(code: 'too_small' | 'too_big', origin: string): string {
  if (origin === 'int') return 'finite_number';
  if (origin === 'array') return code === 'too_small' ? 'too_short' : 'too_long';
  if (origin === 'string') return code === 'too_small' ? 'string_too_short' : 'string_too_long';
  return code === 'too_small' ? 'greater_than_equal' : 'less_than_equal';
}

/** Says what was expected, never what was received: that may be a secret. */
function toMessage(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom') return issue.message;
  if (issue.code === 'unrecognized_keys') return 'is not a field of this body';
  if (value === undefined) return 'is required';
  if (value === null) return 'must have a value';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeTexts[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'array'
        ? `must have at least ${issue.minimum} item(s)`
        : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array' ? `must have at most ${issue.maximum} items` : `must be at most ${issue.maximum}`;
    default:
      return 'is not valid';
  }
}

const typeTexts: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function getValueAt(raw: unknown, path: readonly (string | number)[]): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

function getRank(raw: unknown, path: readonly (string | number)[]): number[] {
  let value = raw;
  return path.map((key) => {
    if (typeof value !== 'object' || value === null) return Number.MAX_SAFE_INTEGER;
    const at = typeof key === 'number' ? key : Object.keys(value).indexOf(key);
    value = (value as Record<string | number, unknown>)[key];
    return at < 0 ? Number.MAX_SAFE_INTEGER : at; // missing fields come after those that were sent
  });
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
