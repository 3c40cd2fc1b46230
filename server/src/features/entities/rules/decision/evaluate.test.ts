// Tests rule semantics (docs/api/rules.md), with one describe block per section.
import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../../core/auth/principal.ts';
import { newStepBudget } from '../budget.ts';
import { parseRule } from '../grammar.ts';
import type { DataRecord, Verdict } from '../rule.ts';
import { evaluate } from './evaluate.ts';

const ann: Principal = {
  kind: 'signed_in',
  isManager: false,
  id: 'u-1',
  email: 'ann@example.com',
  full_name: 'Ann',
  role: 'editor',
  data: { team: 'red', teams: ['red', 'blue'], level: 3, nothing: null, home: { city: 'Rome' } },
};
const anonymous: Principal = { kind: 'anonymous', isManager: false };
const member: Principal = { ...ann, isManager: true };
const workspaceKey: Principal = { kind: 'anonymous', isManager: true };

const record = (data: DataRecord['data'] = {}): DataRecord => ({
  id: '01890000-0000-7000-8000-000000000001',
  created_by: 'ann@example.com',
  created_by_id: 'u-1',
  created_date: '2026-03-01T12:00:00.000Z',
  updated_date: '2026-03-02T12:00:00.000Z',
  is_sample: false,
  data,
});

const fields = { f: { type: 'object' }, g: { type: 'object' } };

function verdict(json: unknown, data: DataRecord['data'] = {}, principal = ann): Verdict {
  const parsed = parseRule(json, [], fields);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return evaluate(parsed.rule, principal, record(data), newStepBudget());
}

const met = (test: unknown, f?: unknown) => verdict({ 'data.f': test }, f === undefined ? {} : { f });

describe('true and false', () => {
  it('true allows everyone, including anonymous callers', () => {
    expect([verdict(true), verdict(true, {}, anonymous)]).toEqual([true, true]);
  });
  it('false allows nobody', () => expect([verdict(false), verdict(false, {}, anonymous)]).toEqual([false, false]));
});

describe('a condition', () => {
  it.each([{ is_sample: false }, { $nor: [{ is_sample: true }] }, { $nor: [{ id: '{{user.id}}' }] }])(
    '%j is never met by an anonymous caller',
    (json) => expect([verdict(json, {}, anonymous), verdict(json, {}, workspaceKey)]).toEqual([false, false]),
  );
  it('may use the automatic columns', () => {
    expect(verdict({ created_by: '{{user.email}}', created_by_id: '{{user.id}}', is_sample: false })).toBe(true);
    expect(verdict({ created_date: { $gt: '2026-03-01', $lt: '2026-03-02' } })).toBe(true);
    expect(verdict({ id: { $in: ['other'] } })).toBe(false);
  });
});

describe('a missing rule', () => {
  it.each([[null], [''], [{}]])('%j allows members and workspace keys only', (json) => {
    expect([verdict(json, {}, member), verdict(json, {}, workspaceKey)]).toEqual([true, true]);
    expect([verdict(json, {}, ann), verdict(json, {}, anonymous)]).toEqual([false, false]);
  });
});

describe('a missing field is null', () => {
  it.each([
    [null, undefined, true],
    [null, null, true],
    [null, '', false],
    [null, 0, false],
    [{ $exists: false }, undefined, true],
    [{ $exists: false }, null, true],
    [{ $exists: true }, undefined, false],
    [{ $exists: true }, null, false],
    [{ $exists: true }, false, true],
    [{ $exists: true }, [null], true],
  ])('%j on %j is %s', (test, f, wanted) => expect(met(test, f)).toBe(wanted));
  it('even if its parent is missing or is not an object', () => {
    const deep = { 'data.f.a.b': null };
    expect([{}, { f: 1 }, { f: { a: null } }, { f: [{ a: { b: 1 } }] }].map((data) => verdict(deep, data))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(verdict(deep, { f: { a: { b: 1 } } })).toBe(false);
    expect(verdict({ 'data.f.constructor': null }, { f: {} })).toBe(true);
  });
});

describe('comparison', () => {
  it.each([
    [{ $gt: 1 }, 2, true],
    [{ $gt: 2 }, 2, false],
    [{ $gte: 2 }, 2, true],
    [{ $lt: 2 }, -1e308, true],
    [{ $lte: 9007199254740991 }, 9007199254740992, false],
    [{ $gt: 0 }, 5e-324, true],
    [{ $gt: 1 }, '2', false],
    [{ $lte: 1 }, '0', false],
    [{ $gt: 'a' }, 'b', true],
    [{ $gt: 'a' }, 'Z', false],
    [{ $lt: 'ab' }, 'a', true],
    [{ $gt: '2026-01-01' }, '2026-01-01T00:00:00.000Z', true],
    [{ $gt: '\uff21' }, '\u{1f600}', true],
    [{ $gt: false }, true, false],
    [{ $gte: true }, true, false],
    [{ $gte: null }, null, false],
    [{ $gt: 1 }, [2], false],
    [{ $gt: 1 }, undefined, false],
    [1, '1', false],
    [0, false, false],
    [0, -0, true],
    [1, 1.0, true],
    ['é', 'e\u0301', false],
  ])('%j on %j is %s', (test, f, wanted) => expect(met(test, f)).toBe(wanted));
});

describe('arrays', () => {
  it.each([
    ['a', ['a', 'b'], true],
    ['c', ['a', 'b'], false],
    ['a', [['a']], false],
    [null, [null], true],
    [{ $in: ['x', 'b'] }, ['a', 'b'], true],
    [{ $ne: 'a' }, ['a'], false],
    [{ $ne: 'a' }, undefined, true],
    [{ $ne: null }, undefined, false],
    [{ $nin: ['a', 'b'] }, undefined, true],
    [{ $nin: ['a', 'b'] }, ['c', 'b'], false],
    ['{{user.data.teams}}', ['red', 'blue'], true],
    ['{{user.data.teams}}', ['blue', 'red'], false],
    ['{{user.data.teams}}', [['red', 'blue']], true],
    [{ $all: ['a', 'b'] }, ['b', 'c', 'a'], true],
    [{ $all: ['a', 'b'] }, ['a'], false],
    [{ $all: ['a'] }, undefined, false],
    [{ $size: 2 }, ['a', 'a'], true],
    [{ $size: 0 }, [], true],
    [{ $size: 0 }, undefined, false],
    [{ $size: 1 }, 'a', false],
    [{ $elemMatch: { a: 1, b: { $gt: 1 } } }, [{ a: 1, b: 2 }], true],
    [{ $elemMatch: { a: 1, b: { $gt: 1 } } }, [{ a: 1 }, { b: 2 }], false],
    [{ $elemMatch: { a: null } }, [1, null, ['a']], false],
    [{ $elemMatch: { a: null } }, { a: null }, false],
    [{ $elemMatch: { 'a.b': 1 } }, [{ a: { b: 1 } }], true],
    [{ $elemMatch: { a: { $elemMatch: { b: 1 } } } }, [{ a: [{ b: 1 }] }], true],
  ])('%j on %j is %s', (test, f, wanted) => expect(met(test, f)).toBe(wanted));
});

describe('templates', () => {
  it.each([
    ['{{user.data.team}}', 'red', true],
    ['{{user.data.level}}', 3, true],
    ['{{user.data.level}}', '3', false],
    ['{{user.data.home}}', { city: 'Rome' }, true],
    ['team-{{user.data.team}}/{{user.data.level}}', 'team-red/3', true],
    ['{{user.role}}{{user.id}}', 'editoru-1', true],
    ['{{user.data.none}}', 'x', null],
    ['{{user.data.none}}', undefined, null],
    ['{{user.data.nothing}}', null, null],
    ['a{{user.data.nothing}}', 'a', null],
    ['{{user.data.constructor}}', 'x', null],
    [{ $ne: '{{user.data.none}}' }, 'x', null],
    [{ $gt: '{{user.data.none}}' }, 1, null],
    [{ $in: ['x', '{{user.data.none}}'] }, 'x', true],
    [{ $in: ['x', '{{user.data.none}}'] }, 'y', null],
    [{ $nin: ['x', '{{user.data.none}}'] }, 'x', false],
    [{ $nin: ['x', '{{user.data.none}}'] }, 'y', null],
    [{ $all: ['x', '{{user.data.none}}'] }, ['y'], false],
    [{ $all: ['x', '{{user.data.none}}'] }, ['x'], null],
    [{ $elemMatch: { a: '{{user.data.none}}' } }, [], false],
    [{ $elemMatch: { a: '{{user.data.none}}' } }, [{}], null],
    [{ $elemMatch: { $or: [{ a: '{{user.data.none}}' }, { b: 1 }] } }, [{}, { b: 1 }], true],
  ])('%j on %j is %s', (test, f, wanted) => expect(met(test, f)).toBe(wanted));

  const yes = { is_sample: false };
  const no = { is_sample: true };
  const unknown = { created_by: '{{user.data.none}}' };
  it.each<[string, unknown, Verdict]>([
    ['unknown and true', { $and: [unknown, yes] }, null],
    ['unknown and false', { $and: [unknown, no] }, false],
    ['unknown or true', { $or: [unknown, yes] }, true],
    ['unknown or false', { $or: [unknown, no] }, null],
    ['nor of unknown', { $nor: [unknown] }, null],
    ['nor of unknown and true', { $nor: [unknown, yes] }, false],
    ['nor of unknown and false', { $nor: [unknown, no] }, null],
    ['nor of nor of unknown', { $nor: [{ $nor: [unknown] }] }, null],
    ['nor of false', { $nor: [no, no] }, true],
  ])('%s', (_, json, wanted) => expect(verdict(json)).toBe(wanted));
});

describe('user_condition', () => {
  it.each<[object, Verdict]>([
    [{ role: 'editor' }, true],
    [{ role: 'admin' }, false],
    [{ role: 'editor', email: 'bob@example.com' }, false],
    [{ 'data.teams': 'blue' }, true],
    [{ 'data.level': '3' }, false],
    [{ 'data.none': 'x' }, null],
    [{ 'data.none': null }, null],
    [{ 'data.nothing': null }, null],
    [{ email: '{{user.email}}' }, true],
    [{ email: '{{user.data.none}}' }, null],
  ])('%j is %s', (attributes, wanted) => expect(verdict({ user_condition: attributes })).toBe(wanted));
});
