// Owns the 422 answer: `{detail: [{loc, msg, type}]}`, faults in the order of the document sent (contract §0.3).
import type { z } from 'zod';

export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export class ValidationError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super('the request does not fit the shape of this operation');
    this.faults = faults.slice(0, 100);
  }
}

type InputSource = 'body' | 'query' | 'path' | 'header';

/** Parses or throws Invalid; every fault's place starts with where the value came from. */
export function parse<S extends z.ZodType>(
  schema: S,
  place: InputSource | readonly [InputSource, string],
  raw: unknown,
): z.output<S> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const [start, ...rest] = typeof place === 'string' ? [place] : place;
  throw new ValidationError(faultsOf([start as InputSource, ...rest], raw, result.error.issues));
}

function faultsOf(place: readonly string[], raw: unknown, issues: readonly z.core.$ZodIssue[]): Fault[] {
  const found = issues.flatMap((issue) => spread(issue).map((path) => ({ path, issue })));
  const ranked = found.map((entry) => ({ ...entry, rank: rankOf(raw, entry.path) }));
  ranked.sort((a, b) => compareRanks(a.rank, b.rank));
  const seen = new Set<string>();
  return ranked
    .map(({ path, issue }) => ({
      loc: [...place, ...path],
      msg: messageOf(issue, valueAt(raw, path)),
      type: typeOf(issue, valueAt(raw, path)),
    }))
    .filter((fault) => {
      // One bound can fail in two words (too large, and not a safe integer): the first word is enough.
      const key = JSON.stringify(fault.loc);
      return !seen.has(key) && seen.add(key);
    });
}

// One issue may name several unknown keys; each is a fault of its own.
function spread(issue: z.core.$ZodIssue): (string | number)[][] {
  const path = issue.path as (string | number)[];
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
}

function typeOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return 'missing';
      if (value === null) return 'none_not_allowed';
      return wrongType(issue.expected, value);
    case 'too_small':
    case 'too_big':
      return boundType(issue.code, issue.origin);
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

function wrongType(expected: string, value: unknown): string {
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

function boundType(code: 'too_small' | 'too_big', origin: string): string {
  if (origin === 'int') return 'finite_number';
  if (origin === 'array') return code === 'too_small' ? 'too_short' : 'too_long';
  if (origin === 'string') return code === 'too_small' ? 'string_too_short' : 'string_too_long';
  return code === 'too_small' ? 'greater_than_equal' : 'less_than_equal';
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'unrecognized_keys') return 'is not a field of this body';
  if (value === undefined && issue.code !== 'custom') return 'is required';
  // Library messages of the remaining kinds name what was expected, never the value that was sent.
  return issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
}

function valueAt(raw: unknown, path: readonly (string | number)[]): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

function rankOf(raw: unknown, path: readonly (string | number)[]): number[] {
  let value = raw;
  return path.map((key) => {
    if (typeof value !== 'object' || value === null) return Number.MAX_SAFE_INTEGER;
    const at = typeof key === 'number' ? key : Object.keys(value).indexOf(key);
    value = (value as Record<string | number, unknown>)[key];
    return at < 0 ? Number.MAX_SAFE_INTEGER : at; // what is missing comes after what was sent
  });
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
