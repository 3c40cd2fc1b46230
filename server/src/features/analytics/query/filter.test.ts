// Tests what filters mean, and where their faults are reported.
import { describe, expect, it } from 'vitest';
import { parseFilter } from './filter.ts';

const filterOf = (json: unknown) => {
  const parsed = parseFilter(json, ['body', 'q']);
  return 'filter' in parsed ? parsed.filter : parsed.faults;
};
const faultsOf = (json: unknown) => {
  const parsed = parseFilter(json, ['body', 'q']);
  return 'faults' in parsed ? parsed.faults.map(({ loc, type }) => [loc.slice(2).join('/'), type]) : [];
};

describe('a filter', () => {
  it('joins fields and operators with and', () => {
    expect(filterOf({ user_id: { eq: 'u' }, 'properties.price': { gte: 1, lt: 5 } })).toEqual({
      kind: 'and',
      parts: [
        { kind: 'check', field: { column: 'user_id' }, check: { op: 'in', values: ['u'] } },
        {
          kind: 'and',
          parts: [
            { kind: 'check', field: { property: 'price' }, check: { op: 'gte', value: 1 } },
            { kind: 'check', field: { property: 'price' }, check: { op: 'lt', value: 5 } },
          ],
        },
      ],
    });
  });

  it('reads ne and nin as negations', () => {
    const check = { kind: 'check', field: { column: 'page_url' }, check: { op: 'in', values: ['a', null] } };
    expect(filterOf({ page_url: { nin: ['a', null] } })).toEqual({ kind: 'not', part: check });
    expect(filterOf({ not: { page_url: { in: ['a', null] } } })).toEqual({ kind: 'not', part: check });
  });

  it('takes all after the first dot as the key of a property', () => {
    for (const key of ['a.b', 'and', '__proto__', "x' or true --", 'é'.repeat(64), ' '])
      expect(filterOf({ [`properties.${key}`]: { eq: 1 } })).toMatchObject({ field: { property: key } });
  });

  it('reads times in every form that the API accepts', () => {
    expect(filterOf({ timestamp: { gt: '2026-11-15T10:30:00.1234+01:00' } })).toMatchObject({
      check: { value: '2026-11-15T09:30:00.123Z' },
    });
  });

  it('matches every event if it is empty', () => {
    expect(filterOf({})).toEqual({ kind: 'and', parts: [] });
  });
});

describe('the faults of a filter', () => {
  it('are at the path of each', () => {
    expect(
      faultsOf({
        nope: { eq: 1 },
        'properties.': { eq: 1 },
        'metadata.browser': { eq: 'x' },
        user_id: { eq: 1, regex: 'x', gt: null, in: [] },
        session_id: 'x',
        page_url: {},
        timestamp: { contains: '2026', gt: 'soon', eq: 5 },
        'properties.a': { eq: {}, gt: true, contains: 3, in: 'x', lt: [1] },
        and: {},
        or: [],
        not: [{}],
      }),
    ).toEqual([
      ['nope', 'unknown_field'],
      ['properties.', 'unknown_field'],
      ['metadata.browser', 'unknown_field'],
      ['user_id/eq', 'string_type'],
      ['user_id/regex', 'unsupported_operator'],
      ['user_id/gt', 'value_error'],
      ['user_id/in', 'too_short'],
      ['session_id', 'dict_type'],
      ['page_url', 'too_short'],
      ['timestamp/contains', 'unsupported_operator'],
      ['timestamp/gt', 'datetime_parsing'],
      ['timestamp/eq', 'string_type'],
      ['properties.a/eq', 'value_error'],
      ['properties.a/gt', 'value_error'],
      ['properties.a/contains', 'string_type'],
      ['properties.a/in', 'list_type'],
      ['properties.a/lt', 'value_error'],
      ['and', 'list_type'],
      ['or', 'too_short'],
      ['not', 'dict_type'],
    ]);
  });

  it('are found in values: texts that cannot be stored, numbers that are not finite', () => {
    expect(
      faultsOf({
        user_id: { in: ['ok', 'a\0b', 7, 'x'.repeat(2049)] },
        'properties.n': { eq: Number.POSITIVE_INFINITY },
      }),
    ).toEqual([
      ['user_id/in/1', 'string_pattern_mismatch'],
      ['user_id/in/2', 'string_type'],
      ['user_id/in/3', 'string_too_long'],
      ['properties.n/eq', 'finite_number'],
    ]);
    expect(faultsOf({ 'properties.\ud800': { eq: 1 } })).toEqual([['properties.\ud800', 'unknown_field']]);
    expect(faultsOf({ [`properties.${'k'.repeat(65)}`]: { eq: 1 } })).toEqual([
      [`properties.${'k'.repeat(65)}`, 'unknown_field'],
    ]);
  });

  it('bound depth, conditions and lists', () => {
    const nest = (depth: number): object => (depth === 1 ? {} : { not: nest(depth - 1) });
    expect(faultsOf(nest(5))).toEqual([]);
    expect(faultsOf(nest(6))).toEqual([['not/not/not/not/not', 'value_error']]);
    const tests = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`properties.p${at}`, { eq: at }]));
    expect(faultsOf(tests(99))).toEqual([]);
    expect(faultsOf(tests(500))).toEqual([['properties.p99/eq', 'value_error']]);
    expect(faultsOf({ user_id: { in: Array(1000).fill('u') } })).toEqual([]);
    expect(faultsOf({ user_id: { in: Array(1001).fill('u') } })).toEqual([['user_id/in', 'too_long']]);
    expect(faultsOf({ or: Array(21).fill({}) })).toEqual([['or', 'too_long']]);
  });

  it('are one for something else than an object', () => {
    for (const json of [null, 'x', 1, []]) expect(faultsOf(json)).toEqual([['', 'dict_type']]);
  });
});
