// Owns random rules, queries, callers and records: seeded, small enough to meet each other, and odd where the two ways of
// deciding could differ.
import type { Principal } from '../../src/core/auth/principal.ts';
import type { SchemaProperties } from '../../src/features/entities/rules/properties.ts';
import type { DataRecord } from '../../src/features/entities/rules/rule.ts';

/** Numbers in [0, 1), the same ones for the same seed (mulberry32). */
export function chance(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** What most values of a case are drawn from: few enough that they meet. */
    pool: common as readonly unknown[],
    happens: (share: number): boolean => next() < share,
    upTo: (most: number): number => Math.floor(next() * (most + 1)),
    one: <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T,
    some: <T>(least: number, most: number, make: () => T): T[] =>
      Array.from({ length: least + Math.floor(next() * (most - least + 1)) }, make),
  };
}

export type Chance = ReturnType<typeof chance>;

const names = ['a', 'b', 'c', 'constructor', '__proto__'];
const open = { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] };

/** Every name may hold anything, so that no type is spared the wrong value. */
export const fields: SchemaProperties = Object.fromEntries(names.map((name) => [name, open]));

const common = [null, true, false, 0, 1, 2, 3, '', 'a', 'b', 'red', 'blue', '1'];
const numbers = [-0, 0, -1, 0.1 + 0.2, 0.3, 1e21, 1e-7, 5e-324, 1e308, -1e308, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, '1'];
const cases = ['A', 'a', 'é', 'É', 'e\u0301', 'ß', 'ẞ', 'SS', 'İ', 'i', 'I', 'ΑΣ', 'ας', 'ασ', 'Ꭰ', 'ǅ'];
const planes = ['\u{1f600}', '\uff21', '\ud7ff', '\u{10ffff}', 'a\u0001', 'a', 'Z', '_', '-', ' a', 'ä', 'z'];
const traps = ["'; drop table records; --", '$1', '\\', '"', '%', "'", 'true', 'null', '{}', '[]', '{x}', 'a.b'];
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

/** A case draws from one of these. */
export const pools: readonly (readonly unknown[])[] = [common, numbers, cases, planes, days];
const everything = [...pools.flat(), ...traps, ...people];

const scalar = (by: Chance): unknown => (by.happens(0.7) ? by.one(by.pool) : by.one(everything));

function value(by: Chance, depth = 3): unknown {
  if (depth === 0 || by.happens(0.5)) return scalar(by);
  if (by.happens(0.4)) return by.some(0, 3, () => data(by, depth - 1));
  if (by.happens(0.5)) return by.some(0, 3, () => value(by, depth - 1));
  return data(by, depth - 1);
}

// fromEntries makes even __proto__ a field like any other.
function data(by: Chance, depth: number): Record<string, unknown> {
  const entries = names.filter(() => by.happens(0.6)).map((name) => [name, value(by, depth)]);
  return Object.fromEntries(entries);
}

export const record = (by: Chance): DataRecord => ({
  id: by.one(ids),
  created_by: by.one([...people, 'anonymous']),
  created_by_id: by.one(['u-1', 'u-2', '']),
  created_date: by.one(['2026-03-01T12:00:00.000Z', '2026-02-28T23:59:59.999Z', '2026-03-02T00:00:00.001Z']),
  updated_date: by.one(['2026-03-01T12:00:00.000Z', '1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']),
  is_sample: by.happens(0.5),
  data: data(by, 3),
});

const attributes = ['team', 'level', 'teams', 'home', 'constructor'];

export function caller(by: Chance): Principal {
  if (by.happens(0.04)) return { kind: 'anonymous' };
  return {
    kind: 'signed_in',
    id: by.one(['u-1', 'u-2']),
    email: by.one(people),
    full_name: by.one(['a', 'red']),
    role: by.one(['a', 'b', 'admin']),
    data: Object.fromEntries(attributes.filter(() => by.happens(0.4)).map((name) => [name, value(by, 2)])),
  };
}

const templates = ['id', 'email', 'full_name', 'role', ...attributes.map((name) => `data.${name}`)];

function operand(by: Chance): unknown {
  if (by.happens(0.55)) return scalar(by);
  const template = () => `{{user.${by.one(templates)}}}`;
  return by.happens(0.75) ? template() : by.one(['x', '']) + template() + by.one(['', '-', template()]);
}

type Way = 'rule' | 'query';

/** How many conditions may still stand inside of one. */
const depths = [0, 0, 1, 1, 2, 3, 4];

export function rule(by: Chance): unknown {
  return by.happens(0.03) ? by.one([true, false, null, '', {}]) : condition(by, 'rule', by.one(depths), false);
}

export const query = (by: Chance): unknown => (by.happens(0.01) ? {} : condition(by, 'query', by.one(depths), false));

function condition(by: Chance, way: Way, depth: number, inElement: boolean): object {
  return Object.fromEntries(by.some(1, depth < 2 && by.happens(0.3) ? 3 : 1, () => entry(by, way, depth, inElement)));
}

function entry(by: Chance, way: Way, depth: number, inElement: boolean): [string, unknown] {
  if (depth > 0 && by.happens(0.7)) {
    return [
      by.one(['$and', '$or', '$nor', '$nor']),
      by.some(1, depth > 1 ? 2 : 3, () => condition(by, way, depth - 1, inElement)),
    ];
  }
  if (way === 'rule' && by.happens(0.15)) {
    return ['user_condition', Object.fromEntries(by.some(1, 2, () => [by.one(templates), operand(by)]))];
  }
  if (!inElement && by.happens(0.3)) return column(by, way);
  const path = by.some(1, by.happens(0.2) ? 3 : 1, () => by.one(names)).join('.');
  return [inElement || (way === 'query' && by.happens(0.5)) ? path : `data.${path}`, test(by, way, depth)];
}

const columnValues: Readonly<Record<string, readonly unknown[]>> = {
  id: [...ids, ids[1]?.toUpperCase(), '0189'],
  created_by: people,
  created_by_id: ['u-1', 'u-2'],
  created_date: [...days, ...oddDays],
  updated_date: [...days, ...oddDays],
  is_sample: [true, false],
};

function column(by: Chance, way: Way): [string, unknown] {
  const name = by.one(Object.keys(columnValues));
  if (by.happens(0.2)) return [name, test(by, way, 0)];
  const wanted = by.one(columnValues[name] ?? []);
  if (by.happens(0.5)) return [name, way === 'rule' && by.happens(0.3) ? operand(by) : wanted];
  return [name, by.one([{ $gt: wanted }, { $gte: wanted }, { $lt: wanted }, { $lte: wanted }, { $in: [wanted, 'a'] }])];
}

function test(by: Chance, way: Way, depth: number): unknown {
  const one = (): unknown => (way === 'rule' ? operand(by) : value(by, by.happens(0.2) ? 2 : 0));
  if (by.happens(0.3)) return one();
  return Object.fromEntries(by.some(1, by.happens(0.2) ? 3 : 1, () => single(by, way, depth, one)));
}

function single(by: Chance, way: Way, depth: number, one: () => unknown): [string, unknown] {
  const op = by.one((way === 'rule' ? ruleTests : queryTests).filter((each) => depth > 0 || each !== '$elemMatch'));
  switch (op) {
    case '$in':
    case '$nin':
    case '$all':
      return [op, by.some(1, op === '$all' ? 2 : 4, one)];
    case '$exists':
      return [op, by.happens(0.5)];
    case '$size':
      return [op, by.upTo(3)];
    case '$elemMatch':
      return [op, condition(by, way, depth - 1, true)];
    case '$not':
      return [op, Object.fromEntries([single(by, way, depth, one)])];
    case '$contains':
    case '$startsWith':
      return [op, [...String(scalar(by))].slice(0, 1 + by.upTo(9)).join('')];
    default:
      return [op, one()];
  }
}

const ruleTests = '$eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch $elemMatch'.split(' ');
const queryTests = [...ruleTests, '$contains', '$contains', '$startsWith', '$not'];

/** Some of the fields of a schema with rules, of which some are about other fields. */
export function ruledFields(by: Chance): SchemaProperties {
  const ruled = () => (by.happens(0.5) ? { rls: { read: rule(by) } } : {});
  const inner = () => Object.fromEntries(names.map((name) => [name, { ...open, ...(by.happens(0.2) && ruled()) }]));
  return Object.fromEntries(names.map((name) => [name, { ...open, ...ruled(), properties: inner() }]));
}
