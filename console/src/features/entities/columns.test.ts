// Tests what a table of records says of fields that a record lacks.
import { describe, expect, it } from 'vitest';
import { mayBeHidden } from './columns.ts';

const admins = { user_condition: { role: 'admin' } };
const schema = {
  name: 'Task',
  properties: {
    title: { type: 'string' },
    cost: { type: 'number', rls: { read: admins } },
    note: { type: 'string', rls: { read: {}, write: false } },
    tags: { type: 'array', items: { type: 'string', rls: { read: false } } },
  },
} as const;

describe('a field that a record lacks', () => {
  it.each([
    ['cost', true],
    ['tags', true],
    ['title', false],
    ['note', false],
    ['unknown', false],
  ])('%s may be hidden: %s', (field, hidden) => {
    expect(mayBeHidden({ id: 'a' }, field, schema)).toBe(hidden);
  });
});

it('a field that a record has is not hidden, even if it is empty', () => {
  expect(mayBeHidden({ id: 'a', cost: null }, 'cost', schema)).toBe(false);
});
