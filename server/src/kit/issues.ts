// Owns the one place that turns an issue of the validation library into our fault type and our sentence
// (docs/api/conventions.md#validation-errors). The library's own texts are never shown: they repeat its vocabulary.
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

export interface IssueDescription {
  readonly type: string;
  readonly msg: string;
}

/**
 * `value` is what was sent. The sentence says what was expected, never what was received: that may be a secret.
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
        msg: source === 'query' ? 'is not a parameter of this operation' : 'is not a field of this body',
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
      return { type: 'string_pattern_mismatch', msg: 'must have the format that the API description shows' };
    default:
      return undocumented;
  }
}

const undocumented: IssueDescription = {
  type: 'value_error',
  msg: 'must have the form that the API description shows',
};
const noValue: IssueDescription = { type: 'none_not_allowed', msg: 'must have a value' };

/** An own check may be about a field that was not sent: `is required with sort_by`. A check of the type never is. */
const isAboutAbsence = (issue: Issue): boolean =>
  issue.code === 'unrecognized_keys' || (issue.code === 'custom' && issue.params?.checksType !== true);

function describeTypeIssue(expected: string, value: unknown): IssueDescription {
  if (value === null) return noValue;
  const isNumber = typeof value === 'number';
  if (isNumber && !Number.isFinite(value) && (expected === 'number' || expected === 'int')) return notExact;
  if (isNumber && expected === 'int') return { type: 'int_from_float', msg: 'must be an integer' };
  return types[expected] ?? undocumented;
}

const notExact: IssueDescription = { type: 'finite_number', msg: 'must be a number that can be stored exactly' };

/** By the type that the library expects. */
const types: Readonly<Record<string, IssueDescription>> = {
  string: { type: 'string_type', msg: 'must be a string' },
  number: { type: 'float_type', msg: 'must be a number' },
  int: { type: 'int_type', msg: 'must be an integer' },
  boolean: { type: 'bool_type', msg: 'must be true or false' },
  array: { type: 'list_type', msg: 'must be a list' },
  object: { type: 'dict_type', msg: 'must be an object' },
  record: { type: 'dict_type', msg: 'must be an object' },
};

/** `must be at least 3`; for lists and strings `must have at least 3 items`, `must have at least 1 character`. */
function describeBoundIssue(limit: 'at least' | 'at most', bound: number | bigint, origin: string): IssueDescription {
  if (origin === 'int') return notExact; // the library's own bound of integers
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

/** What the bounds of a type count, and how its fault types begin. */
const countedNouns: Readonly<Record<string, readonly [noun: string, prefix: string]>> = {
  array: ['item', ''],
  string: ['character', 'string_'],
};
