// Converts the validation library's issues to our own fault types and wording
// (docs/api/conventions.md#validation-errors). No other code does this. The library's messages are never shown, because
// they use its vocabulary.
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

export interface IssueDescription {
  readonly type: string;
  readonly msg: string;
}

/**
 * `value` is the value that was sent. The message only describes the expected value, because the received value may be
 * a secret.
 *
 *   z.int().max(100), 101     less_than_equal   must be at most 100
 *   z.boolean(), 1e400        bool_type         must be true or false
 *   z.string(), undefined     missing           is required
 */
export function describeIssue(issue: Issue, value: unknown, source = 'body'): IssueDescription {
  if (value === undefined && !isAboutAbsence(issue)) return { type: 'missing', msg: 'is required' };
  switch (issue.code) {
    case 'custom':
      return { type: (issue.params?.type as string | undefined) ?? 'value_error', msg: issue.message };
    case 'unrecognized_keys':
      return {
        type: 'extra_forbidden',
        msg: source === 'query' ? 'is not a parameter of this operation' : 'is not a field of the request body',
      };
    case 'invalid_type':
      return describeTypeIssue(issue.expected, value);
    case 'invalid_value':
      return value === null ? noValue : { type: 'enum', msg: `must be one of ${issue.values.join(', ')}` };
    case 'too_small':
      return describeBoundIssue('at least', issue.minimum, issue.origin);
    case 'too_big':
      return describeBoundIssue('at most', issue.maximum, issue.origin);
    case 'invalid_format':
      return { type: 'string_pattern_mismatch', msg: 'must match the format in the API reference' };
    default:
      return undocumented;
  }
}

const undocumented: IssueDescription = {
  type: 'value_error',
  msg: 'must match the schema in the API reference',
};
const noValue: IssueDescription = { type: 'none_not_allowed', msg: 'must not be null' };

/**
 * Whether the issue's own message also applies to a missing field, as in `is required with sort_by`. Never true for a
 * type check.
 */
const isAboutAbsence = (issue: Issue): boolean =>
  issue.code === 'unrecognized_keys' || (issue.code === 'custom' && issue.params?.checksType !== true);

function describeTypeIssue(expected: string, value: unknown): IssueDescription {
  if (value === null) return noValue;
  const isNumber = typeof value === 'number';
  if (isNumber && !Number.isFinite(value) && (expected === 'number' || expected === 'int')) return notExact;
  if (isNumber && expected === 'int') return { type: 'int_from_float', msg: 'must be an integer' };
  return types[expected] ?? undocumented;
}

const notExact: IssueDescription = { type: 'finite_number', msg: 'must be a number that can be represented exactly' };

/** Descriptions by the library's name for the expected type. */
const types: Readonly<Record<string, IssueDescription>> = {
  string: { type: 'string_type', msg: 'must be a string' },
  number: { type: 'float_type', msg: 'must be a number' },
  int: { type: 'int_type', msg: 'must be an integer' },
  boolean: { type: 'bool_type', msg: 'must be true or false' },
  array: { type: 'list_type', msg: 'must be a list' },
  object: { type: 'dict_type', msg: 'must be an object' },
  record: { type: 'dict_type', msg: 'must be an object' },
};

/**
 * Returns `must be at least 3`, or `must have at least 3 items` for lists and `must have at least 1 character` for
 * strings.
 */
function describeBoundIssue(limit: 'at least' | 'at most', bound: number | bigint, origin: string): IssueDescription {
  if (origin === 'int') return notExact; // the library's built-in limit for integers
  const isLower = limit === 'at least';
  const counted = countedNouns[origin];
  if (counted === undefined)
    return { type: isLower ? 'greater_than_equal' : 'less_than_equal', msg: `must be ${limit} ${bound}` };
  const [noun, prefix] = counted;
  return {
    type: `${prefix}${isLower ? 'too_short' : 'too_long'}`,
    msg: `must have ${limit} ${bound} ${noun}${Number(bound) === 1 ? '' : 's'}`,
  };
}

/** For each type, the noun that its bounds count and the prefix for its fault types. */
const countedNouns: Readonly<Record<string, readonly [noun: string, prefix: string]>> = {
  array: ['item', ''],
  string: ['character', 'string_'],
};
