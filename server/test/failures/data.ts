// Labelled failures caused by data: expressions, invalid values, and records with their rules.
import { type FailureCase, http } from './failure-case.ts';

const set = (value: unknown) => [{ compute: { set: { value } } }];
const create = (data: unknown, more: object = {}) => [
  { save: { call: 'entity.create', with: { entity: 'Task', data, ...more } } },
];

const expressions: readonly FailureCase[] = [
  { name: 'a number is added to an object', label: 'expression', do: set('${ 1 + .order }'), input: { order: {} } },
  { name: 'a field of a number is read', label: 'expression', do: set('${ .count.unit }'), input: { count: 3 } },
  { name: 'a text is not a number', label: 'expression', do: set('${ .age | tonumber }'), input: { age: 'twelve' } },
  { name: 'the expression itself raises an error', label: 'expression', do: set('${ error("no customer") }') },
  { name: 'a text is not JSON', label: 'expression', do: set('${ .raw | fromjson }'), input: { raw: '{oops' } },
  { name: 'a date is not a date', label: 'expression', do: set('${ .on | fromdate }'), input: { on: 'yesterday' } },
  { name: 'null is iterated', label: 'expression', do: set('${ [.items[] | .id] }'), input: {} },
  { name: 'the expression never ends', label: 'expression', do: set('${ last(range(1e12)) }') },
  { name: 'the expression needs too much memory', label: 'expression', do: set('${ [range(1e8)] | length }') },
  {
    name: 'a condition of a switch compares by a broken pattern',
    label: 'expression',
    do: [
      {
        choose: {
          switch: [{ match: { when: '${ .name | test("(") }', then: 'continue' } }, { otherwise: { then: 'end' } }],
        },
      },
    ],
    input: { name: 'Ann' },
  },
  {
    name: 'a loop goes over a text',
    label: 'expression',
    do: [{ each_one: { for: { each: 'x', in: '${ .name }' }, do: [{ note: { set: { a: '${ $x }' } } }] } }],
    input: { name: 'Ann' },
  },
  {
    name: 'the answer of a service has another shape than expected',
    label: 'expression',
    do: [...http('{receiver}/text'), { read: { set: { id: '${ .order.id }' } } }],
  },
  {
    name: 'the output of a task is made by an expression that fails',
    label: 'expression',
    do: [{ note: { set: { a: 1 }, output: { as: '${ .a | keys }' } } }],
  },
];

const values: readonly FailureCase[] = [
  { name: 'a required field is missing', label: 'validation', do: create({ state: 'open' }) },
  { name: 'a field has the wrong type', label: 'validation', do: create({ title: 'A', price: 'cheap' }) },
  {
    name: 'a field has a value that is not in the list',
    label: 'validation',
    do: create({ title: 'A', state: 'lost' }),
  },
  { name: 'a number is too small', label: 'validation', do: create({ title: 'A', price: -1 }) },
  {
    name: 'another record has the same code',
    label: 'validation',
    do: create({ title: 'A', code: 'taken' }),
  },
  {
    name: 'an update leaves a record that is not valid',
    label: 'validation',
    do: [{ change: { call: 'entity.update', with: { entity: 'Task', id: '{task}', data: { title: 7 } } } }],
  },
  {
    name: 'the data of a new record is a text',
    label: 'validation',
    do: create('${ .text }'),
    input: { text: 'no object' },
  },
  { name: 'the address of the call is no URL', label: 'validation', do: http('${ .url }'), input: { url: 'orders/7' } },
  {
    name: 'the address of the call is in the private network',
    label: 'validation',
    do: http('${ .url }'),
    input: { url: 'https://10.1.2.3/admin' },
  },
  {
    name: 'a header has a line break',
    label: 'validation',
    do: http('{receiver}/text', { headers: { 'x-note': '${ .note }' } }),
    input: { note: 'a\nb' },
  },
  {
    name: 'the method is made up',
    label: 'validation',
    do: http('{receiver}/text', { method: '${ .method }' }),
    input: { method: 'fetch it' },
  },
  {
    name: 'a value becomes too large for a step',
    label: 'validation',
    do: set('${ [range(100000)] }'),
  },
  { name: 'the answer of a service is too large', label: 'validation', do: http('{receiver}/large') },
];

const records: readonly FailureCase[] = [
  {
    name: 'the record to read was deleted',
    label: 'not_found',
    do: [{ load: { call: 'entity.get', with: { entity: 'Task', id: '0197aaaa-0000-7000-8000-000000000000' } } }],
  },
  {
    name: 'the record to change does not exist',
    label: 'not_found',
    do: [{ change: { call: 'entity.update', with: { entity: 'Task', id: '${ .id }', data: { title: 'B' } } } }],
    input: { id: 'gone' },
  },
  {
    name: 'the entity does not exist',
    label: 'not_found',
    do: [{ load: { call: 'entity.list', with: { entity: '${ .entity }' } } }],
    input: { entity: 'Invoice' },
  },
  {
    name: 'the user to act for does not exist',
    label: 'not_found',
    do: create({ title: 'A' }, { as_user: '0197aaaa-0000-7000-8000-000000000000' }),
  },
  {
    name: 'a rule forbids the user to create',
    label: 'entity_rule',
    do: create({ title: 'A', state: 'done' }, { as_user: '{user}' }),
  },
  {
    name: 'a rule forbids the user to change what another has created',
    label: 'entity_rule',
    do: [
      {
        change: {
          call: 'entity.update',
          with: { entity: 'Task', id: '{task}', data: { title: 'B' }, as_user: '{user}' },
        },
      },
    ],
  },
  {
    name: 'a rule forbids the user to delete what another has created',
    label: 'entity_rule',
    do: [{ drop: { call: 'entity.delete', with: { entity: 'Task', id: '{task}', as_user: '{user}' } } }],
  },
  {
    name: 'a rule forbids the user to set a field',
    label: 'entity_rule',
    do: create({ title: 'A', cost: 5 }, { as_user: '{user}' }),
  },
];

export const dataFailures: readonly FailureCase[] = [...expressions, ...values, ...records];
