// Tests the query language (docs/api/entities.md#query-language): every operator, every limit, and hidden fields.
import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../../core/auth/principal.ts';
import { newRuleChecks } from '../decision/checks.ts';
import { findGoverningRules, parseFieldRules } from '../field-rules.ts';
import type { SchemaProperties } from '../properties.ts';
import type { DataRecord } from '../rule.ts';
import { matchesQuery, parseQuery } from './query.ts';

const admin = { user_condition: { role: 'admin' } };
const fields: SchemaProperties = {
  title: { type: 'string' },
  tags: { type: 'array', items: { type: 'string' } },
  lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } } } },
  extra: { type: 'object' },
};

const anonymous: Principal = { kind: 'anonymous', isManager: false };
const as = (role: string): Principal => ({
  kind: 'signed_in',
  isManager: false,
  id: 'u',
  email: 'u@x.y',
  full_name: 'U',
  role,
  data: {},
});

const record = (data: DataRecord['data']): DataRecord => ({
  id: '01890000-0000-7000-8000-000000000001',
  created_by: 'ann@example.com',
  created_by_id: 'u-1',
  created_date: '2026-03-01T12:00:00.000Z',
  updated_date: '2026-03-01T12:00:00.000Z',
  is_sample: false,
  data,
});

const faultsOf = (json: unknown) => {
  const parsed = parseQuery(json, ['query', 'q'], fields);
  return 'faults' in parsed ? parsed.faults.map(({ loc, type }) => [loc.slice(2).join('/'), type]) : [];
};

function isMatch(
  json: unknown,
  data: DataRecord['data'],
  principal = anonymous,
  ruled: SchemaProperties = fields,
): boolean {
  const query = parseQuery(json, [], ruled);
  const rules = parseFieldRules(ruled, []);
  if ('faults' in query || 'faults' in rules) throw new Error(JSON.stringify([query, rules]));
  return matchesQuery(
    query.query,
    { fieldRules: rules.fieldRules, checks: newRuleChecks('Task', principal) },
    record(data),
  );
}

describe('a query matches', () => {
  it.each<[string, unknown, DataRecord['data'], boolean]>([
    ['every record if it is {}', {}, {}, true],
    ['equality', { title: 'a' }, { title: 'a' }, true],
    ['a path with the prefix data.', { 'data.title': 'a' }, { title: 'a' }, true],
    ['a dotted path', { 'extra.a.b': 1 }, { extra: { a: { b: 1 } } }, true],
    ['an automatic column', { created_by: 'ann@example.com', is_sample: false }, {}, true],
    ['only if all entries are met', { title: 'a', tags: 'b' }, { title: 'a', tags: ['c'] }, false],
    ['an equal object, whatever the order of its names', { extra: { a: 1, b: 2 } }, { extra: { b: 2, a: 1 } }, true],
    ['no object that merely contains the value', { extra: { a: 1 } }, { extra: { a: 1, b: 2 } }, false],
    ['a whole array', { tags: ['a', 'b'] }, { tags: ['a', 'b'] }, true],
    ['a value as deep as a record can be', { extra: JSON.parse('['.repeat(10) + ']'.repeat(10)) }, {}, false],
    ['$eq', { title: { $eq: 'a' } }, { title: 'b' }, false],
    ['$ne of a missing field', { title: { $ne: 'a' } }, {}, true],
    ['$gt and $lte', { extra: { $gt: 1, $lte: 2 } }, { extra: 2 }, true],
    ['$gte and $lt', { extra: { $gte: 1, $lt: 2 } }, { extra: 2 }, false],
    ['$in', { tags: { $in: ['x', 'b'] } }, { tags: ['a', 'b'] }, true],
    ['$nin', { tags: { $nin: ['x', 'b'] } }, { tags: ['a', 'b'] }, false],
    ['$all', { tags: { $all: ['b', 'a'] } }, { tags: ['a', 'b'] }, true],
    ['$exists', { title: { $exists: true } }, { title: null }, false],
    ['$size', { tags: { $size: 1 } }, { tags: ['a'] }, true],
    ['$elemMatch', { lines: { $elemMatch: { sku: { $contains: 'X' } } } }, { lines: [{ sku: 'axb' }] }, true],
    ['$contains, whatever the case', { title: { $contains: 'ÉT' } }, { title: 'un été' }, true],
    ['$contains is not a pattern', { title: { $contains: '%' } }, { title: 'abc' }, false],
    ['$contains looks at texts only', { tags: { $contains: 'a' } }, { tags: ['a'] }, false],
    ['$startsWith', { title: { $startsWith: 'ab' } }, { title: 'abc' }, true],
    ['$startsWith minds the case', { title: { $startsWith: 'AB' } }, { title: 'abc' }, false],
    ['$not', { title: { $not: { $gt: 'a' } } }, {}, true],
    ['$not of several is not all of them', { title: { $not: { $gt: 'a', $lt: 'c' } } }, { title: 'z' }, true],
    ['$and, $or, $nor', { $and: [{ $or: [{ title: 'a' }] }, { $nor: [{ title: 'b' }] }] }, { title: 'a' }, true],
    ['a template is plain text here', { title: '{{user.email}}' }, { title: '{{user.email}}' }, true],
  ])('%s', (_, json, data, wanted) => expect(isMatch(json, data)).toBe(wanted));

  it.each([
    ['$regex', { title: { $regex: 'a' } }, 'title/$regex', 'unsupported_operator'],
    ['$where', { $where: '1' }, '$where', 'unsupported_operator'],
    ['an operator within $not', { title: { $not: { $mod: 1 } } }, 'title/$not/$mod', 'unsupported_operator'],
    ['a combinator on a field', { title: { $or: [] } }, 'title/$or', 'unsupported_operator'],
    ['a field that the schema lacks', { tilte: 'a' }, 'tilte', 'unknown_field'],
    ['user_condition', { user_condition: { role: 'a' } }, 'user_condition', 'unknown_field'],
    ['a name that is none', { "a'b": 1 }, "a'b", 'value_error'],
    ['a list', [], '', 'dict_type'],
    ['a combinator of an object', { $or: {} }, '$or', 'list_type'],
    ['an empty combinator', { $or: [] }, '$or', 'too_short'],
    ['an empty list', { title: { $in: [] } }, 'title/$in', 'too_short'],
    ['operators beside names', { extra: { $gt: 1, a: 2 } }, 'extra/a', 'value_error'],
    ['$contains of a number', { title: { $contains: 1 } }, 'title/$contains', 'value_error'],
    ['a zero byte, which no record can hold', { title: 'a\0' }, 'title', 'value_error'],
    ['half of a surrogate pair', { extra: { a: ['\udc00'] } }, 'extra', 'value_error'],
    [
      'a value deeper than a record can be',
      { extra: JSON.parse('['.repeat(11) + ']'.repeat(11)) },
      'extra',
      'value_error',
    ],
    ['a number beyond all', { extra: JSON.parse('1e999') }, 'extra', 'value_error'],
  ])('refuses %s', (_, json, path, type) => expect(faultsOf(json)).toEqual([[path, type]]));
});

describe('the limits of a query', () => {
  const nested = (depth: number): object => (depth === 1 ? { title: 'x' } : { $or: [nested(depth - 1)] });
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
  it.each<[string, unknown, unknown, string]>([
    ['conditions are at most 5 deep', nested(5), nested(6), 'value_error'],
    ['a combinator has at most 20', { $or: times(20, { title: 'x' }) }, { $or: times(21, { title: 'x' }) }, 'too_long'],
    [
      'lists have at most 1,000',
      { title: { $in: times(1000, 'x') } },
      { title: { $in: times(1001, 'x') } },
      'too_long',
    ],
    [
      'there are at most 100 conditions and tests',
      // 1 + 4 × 20 + 19
      {
        $and: times(4, { title: { $in: ['a'] }, $or: times(9, {}), $and: times(9, {}) }),
        $or: times(14, {}),
        title: 'x',
      },
      { $and: times(5, { title: { $in: ['a'] }, $or: times(9, {}), $and: times(9, {}) }), title: 'x' },
      'value_error',
    ],
  ])('%s', (_, within, beyond, type) => {
    expect(faultsOf(within)).toEqual([]);
    expect(faultsOf(beyond)).toEqual([[expect.any(String), type]]);
  });
});

describe('a field whose read rule is not met', () => {
  const ruled: SchemaProperties = {
    ...fields,
    cost: { type: 'number', rls: { read: admin } },
    address: { type: 'object', rls: { read: false }, properties: { zip: { rls: { read: true } }, street: {} } },
    parts: { type: 'array', items: { type: 'object', properties: { price: { rls: { read: admin } } } } },
    owned: { type: 'string', rls: { read: { 'data.title': 'mine' } } },
  };
  const data = { title: 'mine', cost: 5, address: { zip: '1', street: 'x' }, parts: [{ price: 1 }], owned: 'yes' };
  const finds = (json: unknown, role: string) => isMatch(json, data, as(role), ruled);

  it('counts as missing in the record', () => {
    expect(finds({ cost: 5 }, 'admin')).toBe(true);
    expect(finds({ cost: 5 }, 'user')).toBe(false);
    expect(finds({ cost: { $exists: false } }, 'user')).toBe(true);
    expect(finds({ cost: { $gt: 0 } }, 'user')).toBe(false);
    expect(finds({ $nor: [{ cost: { $gt: 0 } }] }, 'user')).toBe(true);
    expect(isMatch({ cost: null }, data, anonymous, ruled)).toBe(true);
  });

  it('is hidden in some records and visible in others', () => {
    expect(finds({ owned: 'yes' }, 'user')).toBe(true);
    expect(isMatch({ owned: 'yes' }, { ...data, title: 'other' }, as('user'), ruled)).toBe(false);
  });

  it('hides the fields inside it that have no rule of their own', () => {
    expect(finds({ 'address.street': 'x' }, 'user')).toBe(false);
    expect(finds({ 'address.zip': '1' }, 'user')).toBe(true);
  });

  it('hides the value that contains it', () => {
    expect(finds({ parts: { $elemMatch: { price: 1 } } }, 'admin')).toBe(true);
    expect(finds({ parts: { $elemMatch: { price: 1 } } }, 'user')).toBe(false);
    expect(finds({ parts: { $size: 1 } }, 'user')).toBe(false);
  });
});

describe('field rules', () => {
  it('are parsed at every level, with their faults', () => {
    const bad = { a: { properties: { b: { rls: { read: { nope: 1 } } } } }, c: { items: { rls: { list: true } } } };
    const parsed = parseFieldRules(bad, ['body', 'properties']);
    expect('faults' in parsed && parsed.faults.map(({ loc }) => loc.join('/'))).toEqual([
      'body/properties/a/properties/b/rls/read/nope',
      'body/properties/c/items/rls/list',
    ]);
  });

  it('of a field that may be an object or an array apply to both', () => {
    const admins = { rls: { read: admin } };
    const either = {
      type: ['object', 'array'],
      properties: { b: admins },
      items: { properties: { b: admins, c: admins } },
    };
    const parsed = parseFieldRules({ a: either }, []);
    if ('faults' in parsed) throw new Error('refused');
    const count = (...names: string[]) => findGoverningRules(parsed.fieldRules, names, 'read').length;
    expect([count('a'), count('a', 'b'), count('a', 'c'), count('a', 'd')]).toEqual([3, 2, 1, 0]);
  });

  it('use write as the default of create and update, and the closest rule', () => {
    const parsed = parseFieldRules({ a: { rls: { write: false }, properties: { b: { rls: { update: true } } } } }, []);
    if ('faults' in parsed) throw new Error('refused');
    expect(findGoverningRules(parsed.fieldRules, ['a', 'c'], 'create')).toEqual(['nobody']);
    expect(findGoverningRules(parsed.fieldRules, ['a', 'b'], 'update')).toEqual(['everyone']);
    expect(findGoverningRules(parsed.fieldRules, ['a', 'b'], 'create')).toEqual(['nobody']);
    expect(findGoverningRules(parsed.fieldRules, ['a'], 'update')).toEqual(['nobody', 'everyone']);
    expect(findGoverningRules(parsed.fieldRules, ['a'], 'read')).toEqual([]);
  });
});
