// Tests filters in query parameters, whose text is converted to the field's type.
import { describe, expect, it } from 'vitest';
import { parseParameter } from './parameter.ts';

const fields = {
  title: { type: 'string' },
  price: { type: ['null', 'number'] },
  count: { type: 'integer' },
  done: { type: 'boolean' },
  sizes: { type: 'array', items: { type: 'integer' } },
  address: { type: 'object', properties: { zip: {} } },
  extra: { type: 'object' },
};

function read(name: string, text: string): unknown {
  const parsed = parseParameter(name, text, ['query', name], fields);
  if ('faults' in parsed) return parsed.faults[0]?.type;
  const { query } = parsed;
  if (query.kind !== 'field' || query.test.op !== 'eq' || query.test.operand.kind !== 'value') throw new Error('odd');
  return { is: query.test.operand.value };
}

describe('parseParameter', () => {
  it.each([
    ['title', '5', { is: '5' }],
    ['data.title', '', { is: '' }],
    ['price', '5.50', { is: 5.5 }],
    ['price', '-1e3', { is: -1000 }],
    ['count', '12', { is: 12 }],
    ['done', 'true', { is: true }],
    ['done', '0', { is: false }],
    ['sizes', '3', { is: 3 }],
    ['address.zip', '01234', { is: '01234' }],
    ['extra.any', '1', { is: '1' }],
    ['created_by', 'ann@example.com', { is: 'ann@example.com' }],
    ['is_sample', 'false', { is: false }],
    ['created_date', '2026-03-01T12:00:00', { is: '2026-03-01T12:00:00.000Z' }],
    ['updated_date', '2026-03-01T12:00:00.1239+02:00', { is: '2026-03-01T10:00:00.123Z' }],
  ])('converts %s=%s to the type of the field', (name, text, wanted) => expect(read(name, text)).toEqual(wanted));

  it.each([
    ['tilte', 'a', 'unknown_field'],
    ['address.street', 'a', 'unknown_field'],
    ["ti'tle", 'a', 'unknown_field'],
    ['price', 'abc', 'float_parsing'],
    ['price', '1e999', 'float_parsing'],
    ['price', '', 'float_parsing'],
    ['count', '1.5', 'int_parsing'],
    ['done', 'yes', 'bool_parsing'],
    ['created_date', '2026-03-01', 'datetime_parsing'],
    ['created_date', '2026-02-30T12:00:00Z', 'datetime_parsing'],
    ['created_date', '2026-03-01T12:00:00+99:00', 'datetime_parsing'],
    ['created_date', '1969-12-31T23:59:59Z', 'datetime_parsing'],
    ['address', '{}', 'value_error'],
    ['title', 'a\0', 'value_error'],
  ])('refuses %s=%s: %s', (name, text, type) => expect(read(name, text)).toBe(type));
});
