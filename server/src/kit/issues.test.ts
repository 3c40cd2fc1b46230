// Tests that every validation library issue gets our own wording, for any input.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeIssue } from './issues.ts';

const describeFault = (schema: z.ZodType, value: unknown): string => {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (issue === undefined) throw new Error('the value was accepted');
  const { type, msg } = describeIssue(issue, value);
  return `${type}: ${msg}`;
};

describe('an issue of the validation library', () => {
  it.each([
    [z.int().max(100), 101, 'less_than_equal: must be at most 100'],
    [z.number().min(1), 0, 'greater_than_equal: must be at least 1'],
    [z.boolean(), Number.POSITIVE_INFINITY, 'bool_type: must be true or false'],
    [z.number(), Number.POSITIVE_INFINITY, 'finite_number: must be a number that can be represented exactly'],
    [z.int(), Number.POSITIVE_INFINITY, 'finite_number: must be a number that can be represented exactly'],
    [z.int(), 2 ** 60, 'finite_number: must be a number that can be represented exactly'],
    [z.int(), 1.5, 'int_from_float: must be an integer'],
    [z.int(), 'x', 'float_type: must be a number'],
    [z.string(), 5, 'string_type: must be a string'],
    [z.array(z.int()), {}, 'list_type: must be a list'],
    [z.object({}), [], 'dict_type: must be an object'],
    [z.array(z.int()).max(2), [1, 2, 3], 'too_long: must have at most 2 items'],
    [z.array(z.int()).min(1), [], 'too_short: must have at least 1 item'],
    [z.string().min(1), '', 'string_too_short: must have at least 1 character'],
    [z.enum(['asc', 'desc']), 'up', 'enum: must be one of asc, desc'],
    [z.literal(true), false, 'enum: must be one of true'],
    [z.enum(['asc', 'desc']), null, 'none_not_allowed: must not be null'],
    [z.string(), null, 'none_not_allowed: must not be null'],
    [z.string(), undefined, 'missing: is required'],
    [z.enum(['asc', 'desc']), undefined, 'missing: is required'],
    [z.uuid(), 'x', 'string_pattern_mismatch: must match the format in the API reference'],
    [z.union([z.int(), z.boolean()]), 'x', 'value_error: must match the schema in the API reference'],
    [z.number().multipleOf(5), 3, 'value_error: must match the schema in the API reference'],
  ])('is described in our words (%#)', (schema, value, expected) => {
    expect(describeFault(schema, value)).toBe(expected);
  });
});
