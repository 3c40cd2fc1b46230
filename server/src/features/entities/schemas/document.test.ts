// Tests schema documents, value validation, and keys (docs/api/entities.md#schema-document).
import { describe, expect, it } from 'vitest';
import { pickDeclaredFields } from './declared-fields.ts';
import { parseSchema } from './document.ts';
import type { Field } from './field.ts';
import { buildKeyRows, deriveKeys, diffKeys } from './keys.ts';
import { compilePattern } from './pattern.ts';
import { parseStoredSchema } from './schema-cache.ts';
import { newValidation, validateValue } from './values.ts';

const faultsOf = (document: unknown) => {
  const parsed = parseSchema(document, ['body'], 'new');
  return 'faults' in parsed ? parsed.faults.map(({ loc, type }) => [loc.slice(1).join('.'), type]) : [];
};
const withProperty = (property: unknown) => ({ name: 'T', properties: { a: property } });
const nested = (levels: number): object =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(levels - 1) } };

describe('patterns', () => {
  it('are refused without being compiled if they would be too large', () => {
    const large = ['(ab?){1000}', '(?:(?:ab){30}){30}x', 'a{1000}'.repeat(20), `(?:a{900}\\Q(\\E){900}`];
    const longest = `(${'ab?'.repeat(60)}){1000}`;
    const before = performance.now();
    for (let n = 0; n < 100; n += 1)
      for (const source of [...large, longest]) expect(compilePattern(source)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(20_000); // compiling the longest would take half a second each time
    for (const source of ['a{900}', '[(]{30}', '\\Q(((\\E', '[[:alpha:]]{20}', '(?:a{10}){10}', '\\({10}', '[]({]a'])
      expect(compilePattern(source)).toBeDefined();
  });
});

describe('a schema document', () => {
  it('is accepted with every keyword', () => {
    const document = {
      name: 'Task',
      type: 'object',
      title: 'Task',
      description: 'work',
      properties: {
        title: { type: 'string', title: 'Title', minLength: 1, maxLength: 200, pattern: '^\\p{L}', default: 'a' },
        state: { enum: ['a', 'b'], enumNames: ['A', 'B'], default: 'a' },
        price: { type: ['number', 'null'], minimum: 0, maximum: 10 },
        tags: { type: 'array', items: { type: 'string', format: 'email' } },
        place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        cost: { type: 'number', rls: { read: { user_condition: { role: 'admin' } } } },
      },
      required: ['title'],
      unique: [['title'], ['state', 'price']],
      rls: { read: { created_by: '{{user.email}}' }, write: false, update_check: { 'data.state': 'a' } },
    };
    expect(faultsOf(document)).toEqual([]);
  });

  it.each([
    ['no object', 5, [['', 'schema_syntax']]],
    ['no name', {}, [['name', 'schema_syntax']]],
    ['a bad name', { name: '1T' }, [['name', 'schema_syntax']]],
    ['a name too long', { name: 'T'.repeat(65) }, [['name', 'schema_syntax']]],
    ['an unknown member', { name: 'T', extra: 1 }, [['extra', 'schema_syntax']]],
    ['a type that is not object', { name: 'T', type: 'array' }, [['type', 'schema_syntax']]],
    ['an automatic name', { name: 'T', properties: { id: {} } }, [['properties.id', 'schema_syntax']]],
    ['a reserved name', { name: 'T', properties: { is_deleted: {} } }, [['properties.is_deleted', 'schema_syntax']]],
    ['an invalid name', { name: 'T', properties: { 'a b': {} } }, [['properties.a b', 'schema_syntax']]],
    [
      'the name __proto__',
      JSON.parse('{"name":"T","properties":{"__proto__":{}}}'),
      [['properties.__proto__', 'schema_syntax']],
    ],
    ['a reference', withProperty({ $ref: '#/x' }), [['properties.a.$ref', 'schema_syntax']]],
    ['an unknown type', withProperty({ type: 'date' }), [['properties.a.type', 'schema_syntax']]],
    ['null alone', withProperty({ type: ['null'] }), [['properties.a.type', 'schema_syntax']]],
    [
      'a keyword of another type',
      withProperty({ type: 'number', maxLength: 5 }),
      [['properties.a.maxLength', 'schema_syntax']],
    ],
    ['a pattern that does not compile', withProperty({ pattern: '(' }), [['properties.a.pattern', 'schema_syntax']]],
    [
      'a pattern with a back reference',
      withProperty({ pattern: '(a)\\1' }),
      [['properties.a.pattern', 'schema_syntax']],
    ],
    [
      'patterns that are too large together',
      {
        name: 'T',
        properties: Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, { pattern: 'x{900}' }])),
      },
      [['properties.f.pattern', 'schema_syntax']],
    ],
    ['a pattern too long', withProperty({ pattern: 'a'.repeat(201) }), [['properties.a.pattern', 'schema_syntax']]],
    [
      'a pattern too large',
      withProperty({ pattern: '[a-z]{1000}[a-z]{1000}' }),
      [['properties.a.pattern', 'schema_syntax']],
    ],
    ['an unknown format', withProperty({ format: 'toString' }), [['properties.a.format', 'schema_syntax']]],
    [
      'minLength above maxLength',
      withProperty({ minLength: 5, maxLength: 4 }),
      [['properties.a.minLength', 'schema_syntax']],
    ],
    [
      'a default that does not fit',
      withProperty({ maxLength: 1, default: 'ab' }),
      [['properties.a.default', 'schema_syntax']],
    ],
    ['an enum that does not fit', withProperty({ enum: ['a', 5] }), [['properties.a.enum.1', 'schema_syntax']]],
    ['an enum that repeats', withProperty({ enum: ['a', 'a'] }), [['properties.a.enum', 'schema_syntax']]],
    [
      'an enum that repeats an object',
      withProperty({
        type: 'object',
        enum: [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
      }),
      [['properties.a.enum', 'schema_syntax']],
    ],
    [
      'too many choices',
      withProperty({ enum: Array.from({ length: 201 }, (_, n) => `${n}`) }),
      [['properties.a.enum', 'schema_syntax']],
    ],
    ['names for no choices', withProperty({ enumNames: ['a'] }), [['properties.a.enumNames', 'schema_syntax']]],
    ['required of an undeclared field', { name: 'T', required: ['a'] }, [['required.0', 'schema_syntax']]],
    [
      'required of an object without properties',
      withProperty({ type: 'object', required: ['b'] }),
      [['properties.a.required.0', 'schema_syntax']],
    ],
    ['unique of an undeclared field', { name: 'T', unique: [['a']] }, [['unique.0', 'schema_syntax']]],
    [
      'unique of a list',
      { name: 'T', properties: { a: { type: 'array' } }, unique: [['a']] },
      [['unique.0', 'schema_syntax']],
    ],
    ['unique by an inherited name', { name: 'T', unique: [['constructor']] }, [['unique.0', 'schema_syntax']]],
    [
      'too many unique lists',
      { name: 'T', unique: Array.from({ length: 6 }, () => ['a']) },
      [['unique', 'schema_syntax']],
    ],
    [
      'more than 200 properties',
      { name: 'T', properties: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`p${n}`, {}])) },
      [['properties', 'schema_syntax']],
    ],
    ['a document over 128 KiB', { name: 'T', description: 'x'.repeat(128 * 1024) }, [['', 'schema_syntax']]],
    ['an unknown operation', { name: 'T', rls: { list: true } }, [['rls.list', 'rule_syntax']]],
    ['an invalid rule', { name: 'T', rls: { read: { $where: 1 } } }, [['rls.read.$where', 'rule_syntax']]],
    [
      'a rule on an undeclared field',
      { name: 'T', rls: { read: { 'data.x': 1 } } },
      [['rls.read.data.x', 'unknown_field']],
    ],
    ['an invalid field rule', withProperty({ rls: { delete: true } }), [['properties.a.rls.delete', 'rule_syntax']]],
    [
      'broken properties under a rule',
      { name: 'T', properties: { a: null }, rls: { read: { 'data.a': 1 } } },
      [['properties.a', 'schema_syntax']],
    ],
  ])('is refused with %s', (_what, document, faults) => {
    expect(faultsOf(document)).toEqual(faults);
  });

  it('may be nested five levels deep', () => {
    expect(faultsOf(withProperty(nested(4)))).toEqual([]);
    expect(faultsOf(withProperty(nested(5)))).toHaveLength(1);
  });
});

const fieldOf = (property: object): Field => parseStoredSchema(withProperty(property)).fields.get('a') as Field;
const checked = (property: object, value: unknown) => {
  const found = newValidation();
  const result = validateValue(fieldOf(property), value, ['body', 'a'], found);
  return found.faults.length > 0
    ? found.faults.map(({ loc, type }) => `${loc.slice(2).join('.')} ${type}`.trim())
    : { result };
};

describe('the declared fields of an object', () => {
  it.each([
    ['few', ['p0', 'unknown', 'p5']],
    ['many', ['p0', 'unknown', ...Array.from({ length: 18 }, (_, n) => `p${n + 1}`)]],
  ])('are in the order of the schema if there are %s', (_what, names) => {
    const declared = Array.from({ length: 20 }, (_, n) => `p${19 - n}`);
    const { fields } = parseStoredSchema({
      name: 'T',
      properties: Object.fromEntries(declared.map((name) => [name, {}])),
    });
    const picked = pickDeclaredFields(fields, Object.fromEntries(names.map((name) => [name, 'x'])));
    expect(Object.keys(picked)).toEqual(declared.filter((name) => names.includes(name)));
  });
});

describe('a value', () => {
  it.each([
    [{}, 'text', { result: 'text' }],
    [{}, 5, ['string_type']],
    [{ minLength: 2 }, '💥', ['string_too_short']],
    [{ maxLength: 1 }, '💥', { result: '💥' }],
    [{ maxLength: 1 }, 'ab', ['string_too_long']],
    [{ pattern: '^a+$' }, 'aab', ['string_pattern_mismatch']],
    [{ pattern: 'b' }, 'aab', { result: 'aab' }],
    [{}, 'a\0', ['string_pattern_mismatch']],
    [{}, '\ud800', ['string_pattern_mismatch']],
    [{ type: 'integer' }, 1.0, { result: 1 }],
    [{ type: 'integer' }, 1.5, ['int_from_float']],
    [{ type: 'integer' }, 2 ** 53, ['finite_number']],
    [{ type: 'integer' }, '1', ['int_type']],
    [{ type: 'number' }, Number.POSITIVE_INFINITY, ['finite_number']],
    [{ type: 'number', minimum: 1 }, 0, ['greater_than_equal']],
    [{ type: 'number', maximum: 1 }, 2, ['less_than_equal']],
    [{ type: 'boolean' }, 'true', ['bool_type']],
    [{ type: ['number', 'string'] }, 'x', { result: 'x' }],
    [{ enum: ['a'] }, 'b', ['enum']],
    [{ type: ['string', 'number', 'null'], enum: ['1', null] }, 1, ['enum']],
    [{ type: 'array', enum: [[1, { a: 1, b: 2 }]] }, [1, { b: 2, a: 1 }], { result: [1, { b: 2, a: 1 }] }],
    [{ type: 'array', enum: [[1, 2]] }, [2, 1], ['enum']],
    [{ type: 'object', enum: [{ a: 1 }] }, { a: Number.POSITIVE_INFINITY }, ['enum']],
    [{ type: 'array' }, {}, ['list_type']],
    [{ type: 'array', items: { type: 'number' } }, [1, 'x', null], ['1 float_type', '2 none_not_allowed']],
    [{ type: 'array', items: { type: ['number', 'null'] } }, [1, null], { result: [1, null] }],
    [{ type: 'array' }, new Array(10_001).fill(0), ['too_long']],
    [{ type: 'array' }, [1, 'a', { b: null }], { result: [1, 'a', { b: null }] }],
    [{ type: 'object' }, [], ['dict_type']],
    [{ type: 'object' }, { x: ['a\0'] }, ['x.0 string_pattern_mismatch']],
    [{ type: 'object', properties: { b: { type: 'number' } }, required: ['b'] }, { c: 1 }, ['b missing']],
    [{ type: 'object', properties: { b: {}, c: {} } }, { b: null, c: 'x', d: 1 }, { result: { c: 'x' } }],
    [{ format: 'date' }, '2026-02-29', ['date_parsing']],
    [{ format: 'date' }, '2028-02-29', { result: '2028-02-29' }],
    [{ format: 'date-time' }, '2026-11-15T10:00:00+02:00', { result: '2026-11-15T10:00:00+02:00' }],
    [{ format: 'date-time' }, 'yesterday', ['datetime_parsing']],
    [{ format: 'time' }, '24:00', ['string_pattern_mismatch']],
    [{ format: 'date-time' }, '2026-02-30T00:00:00Z', ['datetime_parsing']],
    [{ format: 'date-time' }, '2026-02-28T24:00:00Z', ['datetime_parsing']],
    [{ format: 'date-time' }, '2026-02-28T23:00:00+02:00', { result: '2026-02-28T23:00:00+02:00' }],
    [{ format: 'time' }, '23:59:59.5Z', { result: '23:59:59.5Z' }],
    [{ format: 'email' }, 'a@b', ['email_parsing']],
    [{ format: 'uri' }, 'x y', ['url_parsing']],
    [{ format: 'uri' }, 'https://example.com/x', { result: 'https://example.com/x' }],
    [{ format: 'hostname' }, 'a..b', ['string_pattern_mismatch']],
    [{ format: 'ipv4' }, '1.2.3.256', ['string_pattern_mismatch']],
    [{ format: 'ipv6' }, '::1', { result: '::1' }],
    [{ format: 'uuid' }, 'x', ['string_pattern_mismatch']],
    [{ format: 'regex' }, '(', ['string_pattern_mismatch']],
    [{ format: 'richtext' }, '<b>', { result: '<b>' }],
  ])('of %j is accepted or refused: %j', (property, value, outcome) => {
    expect(checked(property, value)).toEqual(outcome);
  });

  it('may be nested ten levels deep', () => {
    const deep = (levels: number): unknown => (levels === 0 ? 'x' : { a: deep(levels - 1) });
    expect(checked({ type: 'object' }, deep(9))).toEqual({ result: deep(9) });
    expect(checked({ type: 'object' }, deep(10))).toHaveLength(1);
  });

  it('may contain names that JavaScript objects inherit', () => {
    const value = JSON.parse('{"__proto__":{"x":1},"constructor":2}');
    const { result } = checked({ type: 'object' }, value) as { result: object };
    expect(JSON.stringify(result)).toBe('{"__proto__":{"x":1},"constructor":2}');
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });
});

describe('keys', () => {
  const schema = parseStoredSchema({
    name: 'T',
    properties: { owner: {}, tags: { type: 'array' }, a: {}, b: {} },
    unique: [['a', 'b']],
    rls: {
      read: { $or: [{ 'data.owner': '{{user.email}}' }, { created_by: '{{user.email}}' }, { 'data.a': 'x' }] },
      delete: { $and: [{ 'data.tags': { $in: ['{{user.id}}', 'all'] } }, { created_by_id: '{{user.id}}' }] },
    },
  });
  const keys = deriveKeys(schema, 7, ['data.owner#3']);
  const record = (data: object) => ({
    id: '1',
    created_by: 'c',
    created_by_id: 'i',
    created_date: '',
    updated_date: '',
    is_sample: false,
    data: data as Record<string, unknown>,
  });

  it('come from unique lists and from fields that rules compare with the caller, and keep their name', () => {
    expect(keys.map(({ name }) => name)).toEqual(['unique(a,b)#7', 'data.owner#3', 'data.tags#7', 'created_by_id#7']);
  });

  it('have a row for each value of a record, and none for a missing field', () => {
    const names = (data: object) => buildKeyRows(keys, record(data)).map(({ key }) => key.split('#')[0]);
    expect(names({})).toEqual(['created_by_id']);
    expect(names({ a: 'x', owner: null })).toEqual(['created_by_id']);
    expect(names({ a: 'x', b: 1, owner: 'o' })).toEqual(['unique(a,b)', 'data.owner', 'created_by_id']);
    expect(names({ tags: ['x', 'y', 'x'] })).toEqual(['data.tags', 'data.tags', 'data.tags', 'created_by_id']);
  });

  it('change only in the rows that differ', () => {
    const changes = (before: object, after: object) => diffKeys(keys, record(before), record(after));
    const { removed, added } = changes({ owner: 'a', tags: ['x', 'y'] }, { owner: 'b', tags: ['y', 'x'] });
    expect(removed.map(({ key }) => key)).toEqual(['data.owner#3', 'data.tags#7']); // the whole array also has a row
    expect(added.map(({ key }) => key)).toEqual(['data.owner#3', 'data.tags#7']);
    expect(changes({ owner: 'a' }, { owner: 'a', a: 'new' })).toEqual({ removed: [], added: [] });
  });

  it('have equal digests for equal values, whatever the order of names, and different ones for others', () => {
    const digest = (a: unknown) => buildKeyRows(keys, record({ owner: a }))[0]?.value.toString('hex');
    expect(digest({ x: 1, y: 2 })).toBe(digest({ y: 2, x: 1 }));
    expect(digest(0)).toBe(digest(-0));
    expect(new Set([digest('1'), digest(1), digest(true), digest('true'), digest([1])]).size).toBe(5);
  });
});
