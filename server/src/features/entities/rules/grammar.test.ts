// Tests the rule grammar (docs/api/rules.md#grammar): every form, every limit, and the location of each fault.
import { describe, expect, it } from 'vitest';
import { parseRule, parseRules } from './grammar.ts';
import type { SchemaProperties } from './properties.ts';

const fields: SchemaProperties = {
  title: { type: 'string' },
  price: { type: ['number', 'null'] },
  tags: { type: 'array', items: { type: 'string' } },
  lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' }, id: { type: 'string' } } } },
  address: { type: 'object', properties: { zip: {} } },
  extra: { type: 'object' },
};

const faultsOf = (json: unknown) => {
  const parsed = parseRule(json, ['body', 'rls', 'read'], fields);
  return 'faults' in parsed ? parsed.faults.map(({ loc, type }) => [loc.slice(3).join('/'), type]) : [];
};

const nested = (depth: number): object => (depth === 1 ? { id: 'x' } : { $or: [nested(depth - 1)] });
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`data.extra.f${at}`, at] as const));
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const texts = (count: number): string[] => times(count, 'x-{{user.id}}');

describe('parseRule', () => {
  it.each([
    [true, 'everyone'],
    [false, 'nobody'],
    [null, 'missing'],
    ['', 'missing'],
    [{}, 'missing'],
  ])('parses %j as %s', (json, rule) => expect(parseRule(json, [], fields)).toEqual({ rule }));

  it.each([
    { created_by: '{{user.email}}' },
    { id: 'x', created_by_id: 'y', created_date: { $gt: '2026' }, updated_date: { $lt: '2027' }, is_sample: false },
    { $and: [{ 'data.title': 'a' }], $or: [{ 'data.price': 1 }], $nor: [{ 'data.price': null }] },
    { user_condition: { id: 'a', email: 'b', full_name: 'c', role: 'admin', 'data.team': '{{user.data.other}}' } },
    { 'data.price': { $eq: 1, $ne: 2, $gt: 0, $gte: 0, $lt: 9, $lte: 9, $in: [1], $nin: [2] } },
    { 'data.tags': { $all: ['a', '{{user.role}}'], $exists: true, $size: 2 } },
    {
      'data.lines': { $elemMatch: { sku: 'a', id: { $gt: 'b' }, $or: [{ sku: 'c' }], user_condition: { role: 'x' } } },
    },
    { 'data.address.zip': '1', 'data.extra.any.thing': 'x-{{user.id}}-{{user.full_name}}' },
  ])('accepts %j', (json) => expect(faultsOf(json)).toEqual([]));

  it.each([
    ['a number', 5, ''],
    ['a text', 'true', ''],
    ['a list', [{}], ''],
    ['a field without data.', { title: 'a' }, 'title'],
    ['an empty name', { 'data.': 'a' }, 'data.'],
    ['a name with a quote', { "data.title' or true --": 'a' }, "data.title' or true --"],
    ['an index as a name', { 'data.tags.0': 'a' }, 'data.tags.0'],
    ['an operator of queries', { 'data.title': { $contains: 'a' } }, 'data.title/$contains'],
    ['an operator that does not exist', { 'data.title': { $regex: 'a' } }, 'data.title/$regex'],
    ['a combinator that does not exist', { $not: [{ id: 'a' }] }, '$not'],
    ['$where', { $where: 'true' }, '$where'],
    ['an object as a value', { 'data.extra': { a: 1 } }, 'data.extra/a'],
    ['a list as a value', { 'data.tags': ['a'] }, 'data.tags'],
    ['no tests', { 'data.title': {} }, 'data.title'],
    ['an empty condition within', { $and: [{}] }, '$and/0'],
    ['a combinator of an object', { $or: { id: 'a' } }, '$or'],
    ['$exists with a number', { 'data.title': { $exists: 1 } }, 'data.title/$exists'],
    ['$size with a fraction', { 'data.tags': { $size: 1.5 } }, 'data.tags/$size'],
    ['$size below 0', { 'data.tags': { $size: -1 } }, 'data.tags/$size'],
    ['$elemMatch with a text', { 'data.tags': { $elemMatch: 'a' } }, 'data.tags/$elemMatch'],
    ['an attribute that does not exist', { user_condition: { name: 'a' } }, 'user_condition/name'],
    ['tests of an attribute', { user_condition: { role: { $in: ['a'] } } }, 'user_condition/role'],
    ['user_condition of a text', { user_condition: 'admin' }, 'user_condition'],
    ['a template that does not exist', { id: '{{user.nick}}' }, 'id'],
    ['a template with spaces', { id: '{{ user.id }}' }, 'id'],
    ['a nested attribute', { id: '{{user.data.a.b}}' }, 'id'],
    ['a text with a zero byte', { id: 'a\0' }, 'id'],
    ['half of a surrogate pair', { id: '\ud83d' }, 'id'],
    ['a number that is not finite', { 'data.price': Number.POSITIVE_INFINITY }, 'data.price'],
  ])('refuses %s', (_, json, path) => expect(faultsOf(json)).toEqual([[path, 'rule_syntax']]));

  it('names the prefix that a field lacks', () => {
    const messageOf = (json: unknown) => {
      const parsed = parseRule(json, [], fields);
      return 'faults' in parsed ? parsed.faults[0]?.msg : undefined;
    };
    expect(messageOf({ owner: '{{user.email}}' })).toBe(
      'must be data.owner, because the names of record fields start with data',
    );
    expect(messageOf({ 'data.': 'a' })).toBe('must be a field name');
  });

  it.each([
    ['at the top', { 'data.nope': 1 }, 'data.nope'],
    ['within an object whose fields are declared', { 'data.address.street': 1 }, 'data.address.street'],
    ['within a text', { 'data.title.x': 1 }, 'data.title.x'],
    ['within an element', { 'data.lines': { $elemMatch: { qty: 1 } } }, 'data.lines/$elemMatch/qty'],
    ['that every object has', { 'data.constructor': 1 }, 'data.constructor'],
    ['__proto__', { 'data.__proto__': 1 }, 'data.__proto__'],
  ])('refuses a field that the schema lacks: %s', (_, json, path) =>
    expect(faultsOf(json)).toEqual([[path, 'unknown_field']]),
  );

  it('returns all faults, in the order of the document', () => {
    expect(faultsOf({ a: 1, $and: [{ id: [] }, { 'data.b': 1 }], 'data.title': { $x: 1, $y: 2 } })).toEqual([
      ['a', 'rule_syntax'],
      ['$and/0/id', 'rule_syntax'],
      ['$and/1/data.b', 'unknown_field'],
      ['data.title/$x', 'rule_syntax'],
      ['data.title/$y', 'rule_syntax'],
    ]);
  });
});

describe('the limits of a rule', () => {
  const refused = [[expect.any(String), 'rule_syntax']];
  it.each<[string, unknown, unknown]>([
    ['conditions are at most 5 deep', nested(5), nested(6)],
    ['$elemMatch goes one deeper', elements(4), elements(5)],
    ['a condition has at most 20 entries', entries(20), entries(21)],
    ['a combinator has at most 20 conditions', { $or: times(20, { id: 'x' }) }, { $or: times(21, { id: 'x' }) }],
    ['a combinator has at least 1 condition', { $or: [{ id: 'x' }] }, { $or: [] }],
    ['a list has at most 200 values', { id: { $in: times(200, 'x') } }, { id: { $in: times(201, 'x') } }],
    ['a list has at least 1 value', { id: { $all: ['x'] } }, { id: { $all: [] } }],
    ['there are at most 20 templates inside other text', { id: { $in: texts(20) } }, { id: { $in: texts(21) } }],
    ['a text has at most 20 templates', { id: '{{user.id}}-'.repeat(20) }, { id: '{{user.id}}-'.repeat(21) }],
    ['user_condition has at most 20 attributes', users(20), users(21)],
    ['user_condition has at least 1 attribute', users(1), users(0)],
    [
      'there are at most 200 conditions and tests',
      // 1 + 9 × (1 + 20) + (1 + 9) = 200
      { $and: [...times(9, entries(20)), entries(9)] },
      { $and: [...times(9, entries(20)), entries(10)] },
    ],
  ])('%s', (_, within, beyond) => {
    expect(faultsOf(within)).toEqual([]);
    expect(faultsOf(beyond)).toEqual(refused);
  });

  it('do not count templates that are the whole value', () => {
    expect(faultsOf({ id: { $in: times(200, '{{user.id}}') } })).toEqual([]);
  });

  it('allow at most 8 tests of a field', () => {
    const eight = { $eq: 1, $ne: 1, $gt: 1, $gte: 1, $lt: 1, $lte: 1, $in: [1], $nin: [1] };
    expect(faultsOf({ id: eight })).toEqual([]);
    expect(faultsOf({ id: { ...eight, $all: [1] } })).toEqual(refused);
  });

  function elements(depth: number): object {
    const inside = (left: number): object => (left === 1 ? { sku: 'x' } : { $or: [inside(left - 1)] });
    return { 'data.lines': { $elemMatch: inside(depth) } };
  }
  function users(count: number) {
    return { user_condition: Object.fromEntries(Array.from({ length: count }, (_, at) => [`data.a${at}`, 1])) };
  }
});

describe('parseRules', () => {
  it('uses write as the default of create, update and delete', () => {
    expect(parseRules({ write: false, update: true, delete: '' }, [], fields, 'entity')).toEqual({
      rules: { create: 'nobody', read: 'missing', update: 'everyone', delete: 'nobody', update_check: 'missing' },
    });
  });

  it('returns missing rules if there is no rls', () => {
    expect(parseRules(undefined, [], fields, 'field')).toMatchObject({ rules: { read: 'missing', update: 'missing' } });
  });

  it.each([
    ['an operation that does not exist', { list: true }, 'entity', ['list']],
    ['delete of a field', { delete: true }, 'field', ['delete']],
    ['update_check of a field', { update_check: true }, 'field', ['update_check']],
    ['a list', [], 'entity', []],
  ] as const)('refuse %s', (_, json, of, loc) => {
    expect(parseRules(json, [], fields, of)).toEqual({
      faults: [{ loc, msg: expect.any(String), type: 'rule_syntax' }],
    });
  });
});
