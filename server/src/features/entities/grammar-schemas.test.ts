// Tests that the JSON Schemas in the API document agree with the parsers. Each schema must accept every value that its
// parser accepts, and reject values of the wrong form.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, pools, properties, randomQuery, randomRule } from '../../../test/support/rule-cases.ts';
import { grammarSchemas } from './grammar-schemas.ts';
import { parseRule, ruleDialect } from './rules/grammar.ts';
import { parseQuery, queryDialect } from './rules/query/query.ts';
import { documentKeywords, keywordsByType, parseSchema } from './schemas/document.ts';
import { formats } from './schemas/formats.ts';

const ajv = new Ajv2020({ allowUnionTypes: true, strictRequired: false, strictTypes: false });
ajv.addKeyword('components'); // the location of schemas in an OpenAPI document
ajv.addSchema({ $id: 'plinth', components: { schemas: grammarSchemas } });
const validatorOf = (name: string) => {
  const validate = ajv.getSchema(`plinth#/components/schemas/${name}`);
  if (validate === undefined) throw new Error(`no schema ${name}`);
  return (json: unknown): boolean => validate(json) === true;
};
const fitsDocument = validatorOf('EntitySchemaDocument');
const fitsRule = validatorOf('Rule');
const fitsQuery = validatorOf('RecordQuery');

const acceptsDocument = (json: unknown): boolean => 'schema' in parseSchema(json, [], 'new');
const open = { type: ['object', 'array', 'string'] };
const declared = { ...properties, title: open, tags: open, lines: open, extra: open };
const acceptsRule = (json: unknown): boolean => 'rule' in parseRule(json, [], declared);
const acceptsQuery = (json: unknown): boolean => 'query' in parseQuery(json, [], declared);

const withProperty = (property: unknown) => ({ name: 'T', properties: { a: property } });
const withRead = (read: unknown) => ({ name: 'T', properties: { a: {}, l: { type: 'array' } }, rls: { read } });

const everyKeyword = {
  name: 'Task',
  type: 'object',
  title: 'Task',
  description: 'work',
  properties: {
    title: { type: 'string', title: 'Title', minLength: 1, maxLength: 200, pattern: '^\\p{L}', default: 'a' },
    state: { enum: ['a', 'b'], enumNames: ['A', 'B'], default: 'a' },
    price: { type: ['number', 'null'], minimum: 0, maximum: 10 },
    tags: { type: 'array', items: { type: 'string', format: 'email' } },
    either: {
      type: ['array', 'object', 'string'],
      items: {},
      properties: { b: {} },
      required: ['b', 'b'],
      minLength: 1,
    },
    place: { type: 'object', properties: { city: { rls: null } }, required: ['city'] },
    cost: { type: 'number', default: null, rls: { read: { user_condition: { role: 'admin' } } } },
  },
  required: ['title'],
  unique: [['title'], ['state', 'price']],
  rls: {
    read: { created_by: '{{user.email}}' },
    write: false,
    update: '',
    delete: {},
    create: null,
    update_check: true,
  },
};

const documents: readonly unknown[] = [
  everyKeyword,
  { name: 'T' },
  { name: 'T', rls: null, properties: {}, required: [], unique: [] },
  ...Object.keys(formats).map((format) => withProperty({ format })),
  ...Object.keys(keywordsByType).map((type) => withProperty({ type, title: '', description: '' })),
  withProperty({
    type: ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'],
    minimum: -1.5,
    maxLength: 0,
  }),
  withProperty({ type: ['integer', 'null'], enum: [1, 2, null] }),
  withProperty({ type: 'object', enum: [{ x: 1 }, { x: 2 }] }),
  ...[
    { $and: [{ 'data.a': 'a' }], $or: [{ 'data.a': 1 }], $nor: [{ 'data.a': null }] },
    { user_condition: { id: 'a', email: 'b', full_name: 'c', role: 'admin', 'data.team': '{{user.data.other}}' } },
    { 'data.a': { $eq: 1, $ne: 2, $gt: 0, $gte: 0, $lt: 9, $lte: 9, $in: [1], $nin: [2] } },
    { 'data.l': { $all: ['a', '{{user.role}}'], $exists: true, $size: 2 } },
    { 'data.l': { $elemMatch: { sku: 'a', id: { $gt: 'b' }, $or: [{ sku: 'c' }], user_condition: { role: 'x' } } } },
    { id: 'x', created_by_id: 'y', created_date: { $gt: '2026' }, updated_date: { $lt: '2027' }, is_sample: false },
    ...['x-{{user.id}}-{{user.full_name}}', '{', '{a}', 'a{', '{{{user.id}}', '{{user.id}}{', '}}', '{\n'].map(
      (id) => ({ id }),
    ),
  ].map(withRead),
];

/** Lists the JSON examples on a documentation page, except those abbreviated with `…`. */
function listExamples(page: string): Record<string, unknown>[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/```json\n(.*?)```|-d '(\{.*?\})'/gs)].map(([, json, sent]) => json ?? sent ?? '');
  return blocks
    .filter((json) => !json.includes('…'))
    .flatMap((json) => {
      try {
        return [JSON.parse(json)];
      } catch {
        return []; // the example has several values or is an excerpt
      }
    });
}

const text = fc.string({ maxLength: 5 });
const ruled = { a: open, b: open, c: open, constructor: open };
const rule = fc
  .integer()
  .map((seed) => randomRule(createRandom(seed)))
  .filter((json) => 'rule' in parseRule(json, [], ruled));
const fieldRules = fc.record({ read: rule, create: rule, update: rule, write: rule }, { requiredKeys: [] });
const someTypes = fc.subarray(Object.keys(keywordsByType), { minLength: 1 });
const randomProperty = fc.letrec<{ property: Record<string, unknown> }>((tie) => {
  const inner = fc.dictionary(fc.constantFrom('a', 'x', 'y'), tie('property'), { maxKeys: 3, depthIdentifier: 'p' });
  return {
    property: fc.oneof(
      { depthIdentifier: 'p', maxDepth: 2 },
      fc.record(
        {
          type: fc.constantFrom('string'),
          minLength: fc.nat(3),
          maxLength: fc.integer({ min: 3, max: 9 }),
          title: text,
          pattern: fc.constantFrom('a', '^b+$'),
          format: fc.constantFrom('file', 'date'),
          rls: fieldRules,
        },
        { requiredKeys: [] },
      ),
      fc.record({ type: someTypes.map((types) => [...types, 'null']), description: text, default: fc.constant(null) }),
      fc.record(
        { type: fc.constantFrom('number', 'integer'), minimum: fc.integer({ max: 5 }), enum: fc.constant([5, 6]) },
        { requiredKeys: ['type'] },
      ),
      fc.record({ type: fc.constant('array'), items: tie('property'), rls: fieldRules }, { requiredKeys: ['type'] }),
      fc.record({ type: fc.constant('object'), properties: inner, rls: fieldRules }, { requiredKeys: ['type'] }),
    ),
  };
}).property;
const randomDocument = fc.record(
  {
    name: fc.constantFrom('Task', 'User', 'a_1'),
    properties: fc
      .dictionary(fc.constantFrom('d', 'e', 'f'), randomProperty)
      .map((others) => ({ ...ruled, ...others })),
    rls: fc.option(fc.record({ read: rule, write: rule, update_check: rule }, { requiredKeys: [] })),
  },
  { requiredKeys: ['name', 'properties'] },
);

/** Replaces, adds or removes a random part. The result is usually but not always invalid. */
function mutate(json: unknown, seed: number): unknown {
  const random = createRandom(seed);
  random.pool = random.one(pools);
  const odd = () =>
    random.one([
      null,
      '',
      'a',
      '{{user.id}}',
      '{{x}}',
      0,
      -1,
      1.5,
      true,
      [],
      ['a'],
      ['null'],
      {},
      { $gt: 1 },
      { a: 1 },
      [{}],
    ]);
  const keys = [
    'type',
    'enum',
    'minimum',
    'maxLength',
    'rls',
    'id',
    'a',
    'data.a',
    'a.b',
    '$or',
    '$eq',
    '$in',
    '$not',
    '$x',
    '',
  ];
  const change = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null || random.chance(0.15)) return odd();
    if (Array.isArray(node)) {
      const at = random.upTo(node.length);
      return at === node.length ? [...node, odd()] : node.map((item, index) => (index === at ? change(item) : item));
    }
    const names = Object.keys(node);
    if (names.length === 0 || random.chance(0.2)) return { ...node, [random.one(keys)]: odd() };
    const chosen = random.one(names);
    const entries = Object.entries(node);
    if (random.chance(0.1)) return Object.fromEntries(entries.filter(([name]) => name !== chosen));
    return Object.fromEntries(entries.map(([name, value]) => [name, name === chosen ? change(value) : value]));
  };
  return change(json);
}

/** Counts the values that the parser accepts, and returns those that the schema rejects. */
function compare(values: readonly unknown[], accepts: (json: unknown) => boolean, fits: (json: unknown) => boolean) {
  const accepted = values.filter(accepts);
  return {
    accepted: accepted.length,
    refused: accepted.filter((json) => !fits(json)).map((json) => JSON.stringify(json)),
  };
}

const seeds = (count: number): number[] => Array.from({ length: count }, (_, seed) => seed);
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const withMutants = (values: readonly unknown[]): unknown[] =>
  values.flatMap((json, at) => [json, ...seeds(4).map((seed) => mutate(json, at * 4 + seed))]);

describe('the JSON Schema of a schema document accepts what the parser accepts', () => {
  it('of every form', () => {
    expect(compare(documents, acceptsDocument, fitsDocument)).toEqual({ accepted: documents.length, refused: [] });
  });

  it('in the documentation', () => {
    const pages = ['api/entities.md', 'api/rules.md', 'guides/writing-rules.md', 'guides/first-hour.md'];
    const examples = pages.flatMap(listExamples).filter((json) => 'properties' in json);
    const { accepted, refused } = compare(examples, acceptsDocument, fitsDocument);
    expect(refused).toEqual([]);
    expect(accepted).toBeGreaterThanOrEqual(2);
  });

  it('at random', () => {
    const values = withMutants([...documents, ...fc.sample(randomDocument, { numRuns: 1_000, seed: 1 })]);
    const { accepted, refused } = compare(values, acceptsDocument, fitsDocument);
    expect(refused).toEqual([]);
    expect(accepted).toBeGreaterThan(500);
  });
});

describe('the JSON Schemas of rules and queries accept what the parsers accept', () => {
  it.each([
    ['rules', randomRule, acceptsRule, fitsRule],
    ['queries', randomQuery, acceptsQuery, fitsQuery],
  ] as const)('for %s at random', (_, draw, accepts, fits) => {
    const values = seeds(3_000).map((seed) => {
      const random = createRandom(seed);
      random.pool = pools[seed % pools.length] ?? [];
      return draw(random);
    });
    const { accepted, refused } = compare(withMutants(values), accepts, fits);
    expect(refused).toEqual([]);
    expect(accepted).toBeGreaterThan(4_000);
  });

  it.each([
    {},
    { title: 'a' },
    { 'data.title': 'a' },
    { 'extra.a.b': 1 },
    { extra: { a: 1, b: 2 } },
    { extra: {} },
    { extra: { '': 1 } },
    { tags: ['a', { $gt: 1 }] },
    { title: { $eq: { $gt: 1 } } },
    { title: { $not: { $gt: 'a', $not: { $in: [[], {}] } } } },
    { lines: { $elemMatch: {} } },
    { title: { $contains: '', $startsWith: 'a' } },
    { $or: [{}, { $and: [{ id: 'x' }] }] },
  ])('for the query %j', (json) => {
    expect([acceptsQuery(json), fitsQuery(json)]).toEqual([true, true]);
  });
});

describe('the JSON Schemas refuse', () => {
  const long = 'x'.repeat(65);
  it.each<[string, unknown]>([
    ['a document that is a number', 5],
    ['a document without a name', {}],
    ['a name that begins with a digit', { name: '1T' }],
    ['a name that is too long', { name: long }],
    ['an unknown member', { name: 'T', extra: 1 }],
    ['a type that is not object', { name: 'T', type: 'array' }],
    ['a title that is no text', { name: 'T', title: null }],
    ['properties that are a list', { name: 'T', properties: [] }],
    ['a property that is null', withProperty(null)],
    ['an automatic name', { name: 'T', properties: { id: {} } }],
    ['a reserved name', { name: 'T', properties: { is_deleted: {} } }],
    ['the name __proto__', JSON.parse('{"name":"T","properties":{"__proto__":{}}}')],
    ['a property name with a space', { name: 'T', properties: { 'a b': {} } }],
    ['more than 200 properties', { name: 'T', properties: Object.fromEntries(seeds(201).map((n) => [`p${n}`, {}])) }],
    ['a reference', withProperty({ $ref: '#/x' })],
    ['an unknown type', withProperty({ type: 'date' })],
    ['the type null alone', withProperty({ type: ['null'] })],
    ['no types', withProperty({ type: [] })],
    ['a type twice', withProperty({ type: ['string', 'string'] })],
    ['maxLength of a number', withProperty({ type: 'number', maxLength: 5 })],
    ['minimum without a type', withProperty({ minimum: 5 })],
    ['items of a text', withProperty({ type: 'string', items: {} })],
    ['properties of a list', withProperty({ type: ['array', 'null'], properties: {} })],
    ['minLength below 0', withProperty({ minLength: -1 })],
    ['maxLength with a fraction', withProperty({ maxLength: 1.5 })],
    ['minimum as a text', withProperty({ type: 'number', minimum: '1' })],
    ['a pattern that is too long', withProperty({ pattern: 'a'.repeat(201) })],
    ['an unknown format', withProperty({ format: 'toString' })],
    ['an enum without values', withProperty({ enum: [] })],
    ['an enum that repeats a value', withProperty({ enum: ['a', 'a'] })],
    ['an enum of 201 values', withProperty({ enum: seeds(201).map(String) })],
    ['labels without an enum', withProperty({ enumNames: ['a'] })],
    ['required that is no list', withProperty({ type: 'object', properties: {}, required: true })],
    ['required without properties that is no list', withProperty({ type: 'object', required: true })],
    ['6 unique lists', { name: 'T', unique: seeds(6).map((n) => [`p${n}`]) }],
    ['a unique list of 4 fields', { name: 'T', unique: [['a', 'b', 'c', 'd']] }],
    ['a unique list without fields', { name: 'T', unique: [[]] }],
    ['a field twice in a unique list', { name: 'T', unique: [['a', 'a']] }],
    ['rules that are a list', { name: 'T', rls: [] }],
    ['a rule of an unknown operation', { name: 'T', rls: { list: true } }],
    ['a field rule of delete', withProperty({ rls: { delete: true } })],
    ['a field rule of update_check', withProperty({ rls: { update_check: true } })],
    ['an unknown keyword in items', withProperty({ type: 'array', items: { minItems: 1 } })],
  ])('%s', (_, json) => expect([acceptsDocument(json), fitsDocument(json)]).toEqual([false, false]));

  it.each<[string, unknown]>([
    ['a number', 5],
    ['a text', 'true'],
    ['a list', [{}]],
    ['a field without data.', { title: 'a' }],
    ['an empty name', { 'data.': 'a' }],
    ['a name with a quote', { "data.title' or true --": 'a' }],
    ['an index as a name', { 'data.tags.0': 'a' }],
    ['an operator of queries', { 'data.a': { $contains: 'a' } }],
    ['an operator that does not exist', { 'data.a': { $regex: 'a' } }],
    ['a combinator that does not exist', { $not: [{ id: 'a' }] }],
    ['$where', { $where: 'true' }],
    ['an object as a value', { 'data.a': { a: 1 } }],
    ['a list as a value', { 'data.a': ['a'] }],
    ['no tests', { 'data.a': {} }],
    ['9 tests', { id: { $eq: 1, $ne: 1, $gt: 1, $gte: 1, $lt: 1, $lte: 1, $in: [1], $nin: [1], $all: [1] } }],
    ['an empty condition within', { $and: [{}] }],
    ['a combinator of an object', { $or: { id: 'a' } }],
    ['21 conditions', { $or: times(21, { id: 'x' }) }],
    ['21 entries', Object.fromEntries(seeds(21).map((n) => [`data.a.f${n}`, n]))],
    ['201 values', { id: { $in: times(201, 'x') } }],
    ['$exists with a number', { 'data.a': { $exists: 1 } }],
    ['$size with a fraction', { 'data.a': { $size: 1.5 } }],
    ['$size below 0', { 'data.a': { $size: -1 } }],
    ['$elemMatch with a text', { 'data.a': { $elemMatch: 'a' } }],
    ['an automatic field with data. in $elemMatch', { 'data.a': { $elemMatch: { 'b c': 1 } } }],
    ['an attribute that does not exist', { user_condition: { name: 'a' } }],
    ['tests of an attribute', { user_condition: { role: { $in: ['a'] } } }],
    ['user_condition of a text', { user_condition: 'admin' }],
    ['user_condition without attributes', { user_condition: {} }],
    ['a template that does not exist', { id: '{{user.nick}}' }],
    ['a template with spaces', { id: '{{ user.id }}' }],
    ['a nested attribute', { id: '{{user.data.a.b}}' }],
    ['a template in too many braces', { id: '{{{{user.id}}' }],
  ])('the rule %s', (_, json) => expect([acceptsRule(json), fitsRule(json)]).toEqual([false, false]));

  it.each<[string, unknown]>([
    ['a list', []],
    ['null', null],
    ['$regex', { title: { $regex: 'a' } }],
    ['$where', { $where: '1' }],
    ['an operator within $not', { title: { $not: { $mod: 1 } } }],
    ['$not without tests', { title: { $not: {} } }],
    ['$not of a text', { title: { $not: 'a' } }],
    ['a combinator on a field', { title: { $or: [] } }],
    ['a name that is none', { "a'b": 1 }],
    ['a combinator of an object', { $or: {} }],
    ['an empty combinator', { $or: [] }],
    ['an empty list', { title: { $in: [] } }],
    ['1,001 values', { title: { $in: times(1001, 'x') } }],
    ['operators beside names', { extra: { $gt: 1, a: 2 } }],
    ['$contains of a number', { title: { $contains: 1 } }],
    ['$exists of a text', { title: { $exists: 'true' } }],
  ])('the query %s', (_, json) => expect([acceptsQuery(json), fitsQuery(json)]).toEqual([false, false]));
});

describe('only the parsers find', () => {
  const nested = (depth: number): object => (depth === 1 ? { id: 'x' } : { $or: [nested(depth - 1)] });
  const many = (count: number) => Object.fromEntries(seeds(count).map((n) => [`data.a.f${n}`, n]));
  it.each<[string, unknown]>([
    ['a name that no property has', { name: 'T', required: ['a'] }],
    ['required of an object without properties', withProperty({ type: 'object', required: ['b'] })],
    ['a rule on a field that the schema lacks', withRead({ 'data.nope': 1 })],
    ['unique of a list', { name: 'T', properties: { a: { type: 'array' } }, unique: [['a']] }],
    [
      'properties nested too deep',
      withProperty({
        type: 'array',
        items: {
          type: 'array',
          items: { type: 'array', items: { type: 'array', items: { type: 'array', items: {} } } },
        },
      }),
    ],
    ['a limit on the whole document', { name: 'T', description: 'x'.repeat(128 * 1024) }],
    ['a minimum above the maximum', withProperty({ minLength: 5, maxLength: 4 })],
    ['a default that does not fit', withProperty({ maxLength: 1, default: 'ab' })],
    ['an enum value that does not fit', withProperty({ enum: ['a', 5] })],
    ['labels of another number', withProperty({ enum: ['a'], enumNames: ['a', 'b'] })],
    ['a pattern that RE2 does not accept', withProperty({ pattern: '(a)\\1' })],
    ['text that cannot be stored', { name: 'T', title: 'a\0' }],
    ['conditions nested too deep', withRead(nested(6))],
    ['too many conditions and tests', withRead({ $and: times(20, many(20)) })],
    ['too many templates', withRead({ id: 'x{{user.id}}'.repeat(21) })],
  ])('%s', (_, json) => expect([acceptsDocument(json), fitsDocument(json)]).toEqual([false, true]));

  it('a value in a query that is deeper than a record can be', () => {
    const json = { a: JSON.parse('['.repeat(11) + ']'.repeat(11)) };
    expect([acceptsQuery(json), fitsQuery(json)]).toEqual([false, true]);
  });
});

describe('the JSON Schemas name', () => {
  const namesOf = (schema: string) => Object.keys(grammarSchemas[schema]?.properties as object).sort();

  it('every operator and keyword that the parsers know, and no other', () => {
    const tests = [...ruleDialect.operators].filter((operator) => operator.startsWith('$'));
    expect(namesOf('RuleTests')).toEqual(tests.sort());
    expect(namesOf('QueryTests')).toEqual([...queryDialect.operators].sort());
    expect(namesOf('EntitySchemaDocument')).toEqual([...documentKeywords].sort());
  });

  it('examples that they accept themselves', () => {
    for (const [name, { examples = [] }] of Object.entries(grammarSchemas))
      for (const example of examples as unknown[]) expect(validatorOf(name)(example), name).toBe(true);
  });
});
