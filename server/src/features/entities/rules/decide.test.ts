// Tests of what is left of a rule once it is known who asks, and of the SQL it becomes.
import { describe, expect, it } from 'vitest';
import type { Principal, SignedIn } from '../../../core/auth/principal.ts';
import { decide, decidedFor, equalities, equalitiesOf } from './decide.ts';
import { parseRule } from './grammar.ts';
import { parseQuery } from './query.ts';
import type { Rule } from './rule.ts';
import { compile, jsonAt } from './sql.ts';

const ann: SignedIn = { kind: 'signed_in', id: 'u-1', email: 'ann@x.y', full_name: 'Ann', role: 'user', data: {} };
const admin: Principal = { ...ann, role: 'admin' };
const anonymous: Principal = { kind: 'anonymous' };

const fields = { state: { type: 'string' }, extra: { type: 'object' } };
const ownerOrAdmin = { $or: [{ created_by: '{{user.email}}' }, { user_condition: { role: 'admin' } }] };
const unknown = { created_by: '{{user.data.none}}' };

function parsed(json: unknown): Rule {
  const read = parseRule(json, [], fields);
  if ('faults' in read) throw new Error(JSON.stringify(read.faults));
  return read.rule;
}

function written(json: unknown, who: Principal = ann) {
  const values: unknown[] = [];
  const sql = compile(parsed(json), who, { bind: (value) => `$${values.push(value)}` });
  return { sql, values };
}

describe('what is left of a rule', () => {
  it('owner or admin is everything for an admin, one equality for others', () => {
    expect(decidedFor(parsed(ownerOrAdmin), admin)).toBe(true);
    expect(written(ownerOrAdmin)).toEqual({ sql: '(r.created_by = $1::text)', values: ['ann@x.y'] });
    expect(decidedFor(parsed(ownerOrAdmin), anonymous)).toBe(false);
  });

  it.each([
    [true, true, true],
    [false, false, false],
    [null, true, false],
  ])('%j is %s for who is signed in, %s for anonymous', (json, signedIn, nobody) => {
    expect([decidedFor(parsed(json), ann), decidedFor(parsed(json), anonymous)]).toEqual([signedIn, nobody]);
  });

  it.each([
    ['unknown', unknown],
    ['the opposite of unknown', { $nor: [unknown] }],
    ['unknown and a test', { $and: [unknown, { 'data.state': 'open' }] }],
    ['none of unknown and a test', { $nor: [unknown, { 'data.state': 'open' }] }],
    ['no value known', { 'data.state': { $in: ['{{user.data.a}}', '{{user.data.b}}'] } }],
    ['a value unknown in $nin', { 'data.state': { $nin: ['open', '{{user.data.a}}'] } }],
  ])('%s is nothing', (_, json) => expect(decidedFor(parsed(json), ann)).toBe(false));

  it('an unknown way is no way, the others are', () => {
    expect(written({ $or: [unknown, { 'data.state': 'open' }] }).sql).toBe("(r.data->'state' @> $1::jsonb)");
  });
});

describe('equalities', () => {
  it('are those that every record has: at the top, joined by and, scalar', () => {
    const json = {
      $and: [{ 'data.state': 'open' }, { $and: [{ 'data.extra.a': { $eq: 5, $gt: 1 } }] }],
      created_by_id: '{{user.id}}',
      is_sample: false,
      $or: [{ id: 'a' }, { id: 'b' }],
      $nor: [{ created_by: 'x' }],
      'data.extra.b': null,
    };
    expect(equalities(parsed(json), ann)).toEqual([
      { path: 'data.state', value: 'open' },
      { path: 'data.extra.a', value: 5 },
      { path: 'created_by_id', value: 'u-1' },
      { path: 'is_sample', value: false },
    ]);
  });

  it('of one test are that one; of a constant none', () => {
    expect(equalities(parsed(ownerOrAdmin), ann)).toEqual([{ path: 'created_by', value: 'ann@x.y' }]);
    expect(equalities(parsed(ownerOrAdmin), admin)).toEqual([]);
  });

  it('of a query are the same, whoever asks', () => {
    const read = parseQuery({ state: 'open', 'extra.a': { $gt: 1 } }, [], fields);
    if ('faults' in read) throw new Error('refused');
    expect(equalitiesOf(decide(read.query, undefined, true))).toEqual([{ path: 'data.state', value: 'open' }]);
  });
});

describe('as SQL', () => {
  it.each([
    [{ id: '01890000-0000-7000-8000-00000000000a' }, '(r.id = $1::uuid)'],
    [{ created_by_id: { $in: ['a', 'b'] } }, '(r.created_by_id = any($1::text[]))'],
    [{ created_date: { $gte: '2026-03' } }, '(r.created_date >= $1::timestamptz)'],
    [{ created_date: { $lte: '2026-03-01T00:00:00.000Z' } }, '(r.created_date <= $1::timestamptz)'],
    [{ is_sample: true }, '(r.is_sample = $1::boolean)'],
  ])('%j is a plain comparison of the column', (json, sql) => expect(written(json).sql).toBe(sql));

  it('carries no value of a rule or a caller in its text', () => {
    const evil = "'); drop table records; --";
    const who: Principal = { ...ann, email: evil, data: { a: evil, b: [evil] } };
    const tests = { $in: [evil, '{{user.data.a}}'], $gt: evil, $all: ['{{user.data.b}}', 'x{{user.email}}'] };
    const { sql, values } = written({ $or: [{ 'data.state': tests }, { created_by: '{{user.email}}' }] }, who);
    expect(sql).not.toContain('drop');
    expect(JSON.stringify(values)).toContain('drop');
  });

  it('is no longer for a long list', () => {
    const lengthOf = (count: number) => {
      const values = Array.from({ length: count }, (_, at) =>
        at % 2 === 0 ? at : `{{user.data.${at % 4 === 1 ? 'a' : 'b'}}}`,
      );
      const who: Principal = { ...ann, data: { a: [1], b: { x: 1 } } };
      return written({ 'data.state': { $in: values, $all: values }, created_by: { $in: values } }, who).sql.length;
    };
    expect(lengthOf(200)).toBe(lengthOf(8));
  });

  it('refuses to write a name that the grammar should have refused', () => {
    expect(() => jsonAt(["a' or true --"])).toThrow('a name that no rule can have');
  });
});
