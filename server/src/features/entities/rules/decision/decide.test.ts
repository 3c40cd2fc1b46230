// Tests deciding a rule for a principal, and the resulting SQL.
import { describe, expect, it } from 'vitest';
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { newStepBudget, StepBudgetExceeded } from '../budget.ts';
import { parseRule } from '../grammar.ts';
import { parseQuery } from '../query/query.ts';
import type { Rule } from '../rule.ts';
import { compileDecision, writeJsonPath } from '../sql/sql.ts';
import { decideCondition, decideRule, listEqualities } from './decide.ts';

const ann: SignedIn = {
  kind: 'signed_in',
  isManager: false,
  id: 'u-1',
  email: 'ann@x.y',
  full_name: 'Ann',
  role: 'user',
  data: {},
};
const admin: Principal = { ...ann, role: 'admin' };
const anonymous: Principal = { kind: 'anonymous', isManager: false };
const member: Principal = { ...ann, isManager: true };
const workspaceKey: Principal = { kind: 'anonymous', isManager: true };

const properties = { state: { type: 'string' }, team: { type: 'string' }, extra: { type: 'object' } };
const ownerOrAdmin = { $or: [{ created_by: '{{user.email}}' }, { user_condition: { role: 'admin' } }] };
const unknown = { created_by: '{{user.data.none}}' };

function parse(json: unknown): Rule {
  const result = parseRule(json, [], properties);
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  return result.rule;
}

function compile(json: unknown, principal: Principal = ann) {
  const values: unknown[] = [];
  const sql = compileDecision(decideRule(parse(json), principal), { bind: (value) => `$${values.push(value)}` });
  return { sql, values };
}

describe('decideRule', () => {
  it('decides the worked example in decide.ts as its comment says', () => {
    const rule = {
      $or: [
        { created_by: '{{user.email}}' },
        { user_condition: { role: 'admin' } },
        { 'data.team': '{{user.data.team}}', 'data.state': { $ne: 'draft' } },
      ],
    };
    const inTeam = { ...ann, data: { team: 'red' } };
    expect(decideRule(parse(rule), inTeam)).toEqual({
      kind: 'or',
      parts: [
        { kind: 'passes', path: { column: 'created_by' }, check: { op: 'eq', value: 'ann@x.y' } },
        {
          kind: 'and',
          parts: [
            { kind: 'passes', path: { names: ['team'] }, check: { op: 'eq', value: 'red' } },
            { kind: 'fails', path: { names: ['state'] }, check: { op: 'eq', value: 'draft' } },
          ],
        },
      ],
    });
    expect(compile(rule, inTeam)).toEqual({
      sql: "((r.created_by = $1::text) or ((r.data->'team' @> $2::jsonb) and ((r.data->'state' @> $3::jsonb) is not true)))",
      values: ['ann@x.y', '"red"', '"draft"'],
    });
    expect(compile(rule, admin).sql).toBe('true');
    expect(compile(rule, ann).sql).toBe('(r.created_by = $1::text)');
    expect(compile(rule, anonymous).sql).toBe('false');
  });

  it('allows "owner or admin" every record to an admin, and their own to others', () => {
    expect(decideRule(parse(ownerOrAdmin), admin)).toBe(true);
    expect(compile(ownerOrAdmin)).toEqual({ sql: '(r.created_by = $1::text)', values: ['ann@x.y'] });
    expect(decideRule(parse(ownerOrAdmin), anonymous)).toBe(false);
  });

  it.each([
    [true, [true, true, true, true]],
    [false, [false, false, false, false]],
    [null, [true, true, false, false]],
  ])('decides %j as %j for a member, a workspace key, an app user and a stranger', (json, expected) => {
    const principals = [member, workspaceKey, ann, anonymous];
    expect(principals.map((principal) => decideRule(parse(json), principal))).toEqual(expected);
  });

  it.each([
    ['an unknown condition', unknown],
    ['the negation of unknown', { $nor: [unknown] }],
    ['unknown and a test', { $and: [unknown, { 'data.state': 'open' }] }],
    ['neither unknown nor a test', { $nor: [unknown, { 'data.state': 'open' }] }],
    ['$in with only unknown values', { 'data.state': { $in: ['{{user.data.a}}', '{{user.data.b}}'] } }],
    ['$nin with an unknown value', { 'data.state': { $nin: ['open', '{{user.data.a}}'] } }],
  ])('allows no record by %s', (_, json) => expect(decideRule(parse(json), ann)).toBe(false));

  it('drops an unknown part of $or and keeps the others', () => {
    expect(compile({ $or: [unknown, { 'data.state': 'open' }] }).sql).toBe("(r.data->'state' @> $1::jsonb)");
  });
});

describe('deciding a rule', () => {
  it('is within the step budget, also for a rule that was saved before the limit on templates', () => {
    const long: SignedIn = { ...ann, data: { team: 'x'.repeat(16_000) } };
    const stored = (templates: number) =>
      parseRule({ 'data.team': `x${'{{user.data.team}}'.repeat(templates)}` }, [], properties, 'stored');
    const decide = (templates: number) => {
      const parsed = stored(templates);
      if ('faults' in parsed) throw new Error('refused');
      return decideRule(parsed.rule, long, newStepBudget());
    };
    expect(decide(900)).toMatchObject({ kind: 'passes' });
    expect(() => decide(1_100)).toThrow(StepBudgetExceeded);
  });
});

describe('listEqualities', () => {
  it('lists scalar equalities at the top level that are joined by and', () => {
    const json = {
      $and: [{ 'data.state': 'open' }, { $and: [{ 'data.extra.a': { $eq: 5, $gt: 1 } }] }],
      created_by_id: '{{user.id}}',
      is_sample: false,
      $or: [{ id: 'a' }, { id: 'b' }],
      $nor: [{ created_by: 'x' }],
      'data.extra.b': null,
    };
    expect(listEqualities(decideRule(parse(json), ann))).toEqual([
      { field: 'data.state', value: 'open' },
      { field: 'data.extra.a', value: 5 },
      { field: 'created_by_id', value: 'u-1' },
      { field: 'is_sample', value: false },
    ]);
  });

  it('lists the equality of a single test, and none of a constant', () => {
    expect(listEqualities(decideRule(parse(ownerOrAdmin), ann))).toEqual([{ field: 'created_by', value: 'ann@x.y' }]);
    expect(listEqualities(decideRule(parse(ownerOrAdmin), admin))).toEqual([]);
  });

  it('lists the equalities of a query, which has no principal', () => {
    const result = parseQuery({ state: 'open', 'extra.a': { $gt: 1 } }, [], properties);
    if ('faults' in result) throw new Error('refused');
    expect(listEqualities(decideCondition(result.query, undefined, true))).toEqual([
      { field: 'data.state', value: 'open' },
    ]);
  });
});

describe('the SQL of a rule', () => {
  it.each([
    [{ id: '01890000-0000-7000-8000-00000000000a' }, '(r.id = $1::uuid)'],
    [{ created_by_id: { $in: ['a', 'b'] } }, '(r.created_by_id = any($1::text[]))'],
    [{ created_date: { $gte: '2026-03' } }, '(r.created_date >= $1::timestamptz)'],
    [{ created_date: { $lte: '2026-03-01T00:00:00.000Z' } }, '(r.created_date <= $1::timestamptz)'],
    [{ is_sample: true }, '(r.is_sample = $1::boolean)'],
  ])('compares the column itself for %j', (json, sql) => expect(compile(json).sql).toBe(sql));

  it('contains no value of a rule or a principal in its text', () => {
    const evil = "'); drop table records; --";
    const principal: Principal = { ...ann, email: evil, data: { a: evil, b: [evil] } };
    const tests = { $in: [evil, '{{user.data.a}}'], $gt: evil, $all: ['{{user.data.b}}', 'x{{user.email}}'] };
    const { sql, values } = compile({ $or: [{ 'data.state': tests }, { created_by: '{{user.email}}' }] }, principal);
    expect(sql).not.toContain('drop');
    expect(JSON.stringify(values)).toContain('drop');
  });

  it('does not grow with the length of a list', () => {
    const lengthOf = (count: number) => {
      const values = Array.from({ length: count }, (_, at) =>
        at % 2 === 0 ? at : `{{user.data.${at % 4 === 1 ? 'a' : 'b'}}}`,
      );
      const principal: Principal = { ...ann, data: { a: [1], b: { x: 1 } } };
      return compile({ 'data.state': { $in: values, $all: values }, created_by: { $in: values } }, principal).sql
        .length;
    };
    expect(lengthOf(200)).toBe(lengthOf(8));
  });

  it('throws for a property name that the grammar should have refused', () => {
    expect(() => writeJsonPath(["a' or true --"])).toThrow('not a property name that the grammar allows');
  });
});
