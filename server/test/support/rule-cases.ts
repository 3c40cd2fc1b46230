// Generates random rules, queries, principals and records from a seed. Values come from small pools, so they often
// match, and include edge cases in which evaluation in the process and in SQL could differ.
import type { Principal } from '../../src/core/auth/principal.ts';
import type { SchemaProperties } from '../../src/features/entities/rules/properties.ts';
import type { DataRecord } from '../../src/features/entities/rules/rule.ts';

/** A seeded random generator (mulberry32). The same seed always produces the same numbers. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** The pool from which most of a case's values are drawn. */
    pool: common as readonly unknown[],
    chance: (share: number): boolean => next() < share,
    upTo: (most: number): number => Math.floor(next() * (most + 1)),
    one: <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T,
    some: <T>(least: number, most: number, make: () => T): T[] =>
      Array.from({ length: least + Math.floor(next() * (most - least + 1)) }, make),
  };
}

export type Random = ReturnType<typeof createRandom>;

const names = ['a', 'b', 'c', 'constructor', '__proto__'];
const open = { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] };

/** Every property may have any value, so every operator is tried with every type. */
export const properties: SchemaProperties = Object.fromEntries(names.map((name) => [name, open]));

const common = [null, true, false, 0, 1, 2, 3, '', 'a', 'b', 'red', 'blue', '1'];
const numbers = [-0, 0, -1, 0.1 + 0.2, 0.3, 1e21, 1e-7, 5e-324, 1e308, -1e308, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, '1'];
const cases = ['A', 'a', 'é', 'É', 'e\u0301', 'ß', 'ẞ', 'SS', 'İ', 'i', 'I', 'ΑΣ', 'ας', 'ασ', 'Ꭰ', 'ǅ'];
const planes = ['\u{1f600}', '\uff21', '\ud7ff', '\u{10ffff}', 'a\u0001', 'a', 'Z', '_', '-', ' a', 'ä', 'z'];
const injections = ["'; drop table records; --", '$1', '\\', '"', '%', "'", 'true', 'null', '{}', '[]', '{x}', 'a.b'];
const days = ['2026', '2026-03', '2026-03-01', '2026-03-01T12', '2026-03-01T12:00:00.000Z', '2026-03-02T00:00:00.001Z'];
const oddDays = [
  '2026-02-30',
  '2026-1',
  '0000-01-01',
  '2026-03-01T24:00:00.000Z',
  '2026-03-01t12',
  '12026-01-01',
  '9999',
];
const people = ['ann@example.com', 'bob@example.com'];
const ids = ['01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-00000000000a'];

/** Each case uses one of these pools. */
export const pools: readonly (readonly unknown[])[] = [common, numbers, cases, planes, days];
const everything = [...pools.flat(), ...injections, ...people];

const randomScalar = (random: Random): unknown =>
  random.chance(0.7) ? random.one(random.pool) : random.one(everything);

function randomValue(random: Random, depth = 3): unknown {
  if (depth === 0 || random.chance(0.5)) return randomScalar(random);
  if (random.chance(0.4)) return random.some(0, 3, () => randomData(random, depth - 1));
  if (random.chance(0.5)) return random.some(0, 3, () => randomValue(random, depth - 1));
  return randomData(random, depth - 1);
}

// Uses Object.fromEntries, which makes even __proto__ an own property.
function randomData(random: Random, depth: number): Record<string, unknown> {
  const entries = names.filter(() => random.chance(0.6)).map((name) => [name, randomValue(random, depth)]);
  return Object.fromEntries(entries);
}

export const randomRecord = (random: Random): DataRecord => ({
  id: random.one(ids),
  created_by: random.one([...people, 'anonymous']),
  created_by_id: random.one(['u-1', 'u-2', '']),
  created_date: random.one(['2026-03-01T12:00:00.000Z', '2026-02-28T23:59:59.999Z', '2026-03-02T00:00:00.001Z']),
  updated_date: random.one(['2026-03-01T12:00:00.000Z', '1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']),
  is_sample: random.chance(0.5),
  data: randomData(random, 3),
});

const attributes = ['team', 'level', 'teams', 'home', 'constructor'];

export function randomPrincipal(random: Random): Principal {
  if (random.chance(0.04)) return { kind: 'anonymous', isManager: random.chance(0.5) };
  return {
    kind: 'signed_in',
    isManager: random.chance(0.5),
    id: random.one(['u-1', 'u-2']),
    email: random.one(people),
    full_name: random.one(['a', 'red']),
    role: random.one(['a', 'b', 'admin']),
    data: Object.fromEntries(attributes.filter(() => random.chance(0.4)).map((name) => [name, randomValue(random, 2)])),
  };
}

const templates = ['id', 'email', 'full_name', 'role', ...attributes.map((name) => `data.${name}`)];

function randomOperand(random: Random): unknown {
  if (random.chance(0.55)) return randomScalar(random);
  const template = () => `{{user.${random.one(templates)}}}`;
  return random.chance(0.75) ? template() : random.one(['x', '']) + template() + random.one(['', '-', template()]);
}

type Dialect = 'rule' | 'query';

/** The nesting depths that conditions are drawn from. */
const depths = [0, 0, 1, 1, 2, 3, 4];

export function randomRule(random: Random): unknown {
  return random.chance(0.03)
    ? random.one([true, false, null, '', {}])
    : randomCondition(random, 'rule', random.one(depths), false);
}

export const randomQuery = (random: Random): unknown =>
  random.chance(0.01) ? {} : randomCondition(random, 'query', random.one(depths), false);

function randomCondition(random: Random, dialect: Dialect, depth: number, inElement: boolean): object {
  return Object.fromEntries(
    random.some(1, depth < 2 && random.chance(0.3) ? 3 : 1, () => randomEntry(random, dialect, depth, inElement)),
  );
}

function randomEntry(random: Random, dialect: Dialect, depth: number, inElement: boolean): [string, unknown] {
  if (depth > 0 && random.chance(0.7)) {
    return [
      random.one(['$and', '$or', '$nor', '$nor']),
      random.some(1, depth > 1 ? 2 : 3, () => randomCondition(random, dialect, depth - 1, inElement)),
    ];
  }
  if (dialect === 'rule' && random.chance(0.15)) {
    return [
      'user_condition',
      Object.fromEntries(random.some(1, 2, () => [random.one(templates), randomOperand(random)])),
    ];
  }
  if (!inElement && random.chance(0.3)) return randomColumnTest(random, dialect);
  const path = random.some(1, random.chance(0.2) ? 3 : 1, () => random.one(names)).join('.');
  return [
    inElement || (dialect === 'query' && random.chance(0.5)) ? path : `data.${path}`,
    randomTests(random, dialect, depth),
  ];
}

const columnValues: Readonly<Record<string, readonly unknown[]>> = {
  id: [...ids, ids[1]?.toUpperCase(), '0189'],
  created_by: people,
  created_by_id: ['u-1', 'u-2'],
  created_date: [...days, ...oddDays],
  updated_date: [...days, ...oddDays],
  is_sample: [true, false],
};

function randomColumnTest(random: Random, dialect: Dialect): [string, unknown] {
  const name = random.one(Object.keys(columnValues));
  if (random.chance(0.2)) return [name, randomTests(random, dialect, 0)];
  const wanted = random.one(columnValues[name] ?? []);
  if (random.chance(0.5)) return [name, dialect === 'rule' && random.chance(0.3) ? randomOperand(random) : wanted];
  return [
    name,
    random.one([{ $gt: wanted }, { $gte: wanted }, { $lt: wanted }, { $lte: wanted }, { $in: [wanted, 'a'] }]),
  ];
}

function randomTests(random: Random, dialect: Dialect, depth: number): unknown {
  const one = (): unknown =>
    dialect === 'rule' ? randomOperand(random) : randomValue(random, random.chance(0.2) ? 2 : 0);
  if (random.chance(0.3)) return one();
  return Object.fromEntries(random.some(1, random.chance(0.2) ? 3 : 1, () => randomTest(random, dialect, depth, one)));
}

function randomTest(random: Random, dialect: Dialect, depth: number, one: () => unknown): [string, unknown] {
  const op = random.one(
    (dialect === 'rule' ? ruleTests : queryTests).filter((each) => depth > 0 || each !== '$elemMatch'),
  );
  switch (op) {
    case '$in':
    case '$nin':
    case '$all':
      return [op, random.some(1, op === '$all' ? 2 : 4, one)];
    case '$exists':
      return [op, random.chance(0.5)];
    case '$size':
      return [op, random.upTo(3)];
    case '$elemMatch':
      return [op, randomCondition(random, dialect, depth - 1, true)];
    case '$not':
      return [op, Object.fromEntries([randomTest(random, dialect, depth, one)])];
    case '$contains':
    case '$startsWith':
      return [op, [...String(randomScalar(random))].slice(0, 1 + random.upTo(9)).join('')];
    default:
      return [op, one()];
  }
}

const ruleTests = '$eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch $elemMatch'.split(' ');
const queryTests = [...ruleTests, '$contains', '$contains', '$startsWith', '$not'];

/** Creates properties, some of which have rules, including rules about other fields. */
export function randomPropertiesWithRules(random: Random): SchemaProperties {
  const ruled = () => (random.chance(0.5) ? { rls: { read: randomRule(random) } } : {});
  const inner = () => Object.fromEntries(names.map((name) => [name, { ...open, ...(random.chance(0.2) && ruled()) }]));
  return Object.fromEntries(names.map((name) => [name, { ...open, ...ruled(), properties: inner() }]));
}
