// Tests the step budget for rules and queries (docs/api/rules.md#limits).
import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../../core/auth/principal.ts';
import { newStepBudget, StepBudgetExceeded } from '../budget.ts';
import { parseRule } from '../grammar.ts';
import { parseQuery } from '../query/query.ts';
import type { Condition, DataRecord, Rule } from '../rule.ts';
import { newRuleChecks } from './checks.ts';
import { evaluate } from './evaluate.ts';

const listOf = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));

const ann: Principal = {
  kind: 'signed_in',
  isManager: false,
  id: 'u-1',
  email: 'ann@example.com',
  full_name: 'Ann',
  role: 'user',
  data: { home: Object.fromEntries(listOf(500, (at) => [`n${at}`, at])), bio: 'x'.repeat(8_000) },
};

const record = (data: DataRecord['data']): DataRecord => ({
  id: 'r-1',
  created_by: 'bob@example.com',
  created_by_id: 'u-2',
  created_date: '2026-03-01T12:00:00.000Z',
  updated_date: '2026-03-01T12:00:00.000Z',
  is_sample: false,
  data,
});

const properties = { f: { type: 'object' } };

function parse(json: unknown): Rule {
  const parsed = parseRule(json, [], properties);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.rule;
}

function parseFilter(json: unknown): Condition {
  const parsed = parseQuery(json, [], properties);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.query;
}

function countSteps(rule: Rule, f: unknown): number {
  const budget = newStepBudget();
  const { steps } = budget;
  evaluate(rule, ann, record({ f }), budget);
  return steps - budget.steps;
}

describe('a list of values', () => {
  it.each(['$in', '$nin'])('of %s costs as many steps with 200 values as with one', (op) => {
    const cost = (values: unknown[]) => countSteps(parse({ 'data.f': { [op]: values } }), listOf(1_000, String));
    const [one, many] = [cost(['x']), cost(listOf(200, (at) => `x${at}`))];
    expect(many).toBe(one);
    expect(one).toBeLessThan(1_010);
  });
});

describe('the steps of a comparison', () => {
  const text = 'x'.repeat(8_000);
  it.each<[what: string, rule: Rule, value: unknown, least: number]>([
    ['the conditions that are visited', parse({ $or: listOf(20, () => ({ 'data.f': 1 })) }), 2, 20],
    ['the elements of an array', parse({ 'data.f': 1 }), listOf(8_000, () => 0), 1_000],
    [
      'the elements of an array for each value of $all',
      parse({ 'data.f': { $all: [1, 2, 3] } }),
      listOf(800, (at) => at),
      300,
    ],
    [
      'the elements that $elemMatch looks at',
      parse({ 'data.f': { $elemMatch: { a: 1 } } }),
      listOf(500, () => ({})),
      1_000,
    ],
    ['the characters of an operand', parse({ 'data.f': text }), text, 1_000],
    ['the characters that are put in order', parse({ 'data.f': { $gt: text } }), text, 1_000],
    ['the characters of a template', parse({ 'data.f': '-{{user.data.bio}}' }), 'y', 1_000],
    ['the names of an object', parse({ 'data.f': '{{user.data.home}}' }), { ...Object(ann.data.home) }, 500],
    ['the text that a query searches', parseFilter({ f: { $contains: 'y' } }), text, 1_000],
    [
      'how long the text is that a query searches for',
      parseFilter({ f: { $contains: 'x'.repeat(400) } }),
      text,
      100_000,
    ],
    ['the characters of the start that a query looks for', parseFilter({ f: { $startsWith: text } }), text, 1_000],
    [
      'the values inside a list that a query compares with',
      parseFilter({ f: listOf(500, Number) }),
      listOf(500, Number),
      500,
    ],
  ])('include %s', (_, rule, value, least) => {
    expect(countSteps(rule, value)).toBeGreaterThanOrEqual(least);
    const budget = { steps: least - 1 };
    expect(() => evaluate(rule, ann, record({ f: value }), budget)).toThrow(StepBudgetExceeded);
  });
});

describe('the checks of a request', () => {
  const costly = parse({ $and: listOf(20, () => ({ 'data.f': { $nin: [-1] } })) });
  const tags = listOf(60_000, () => 0); // 1.2 million steps out of a budget of 2 million

  it('evaluate a rule once for a record', () => {
    const checks = newRuleChecks('Task', ann);
    const task = record({ f: tags });
    for (let times = 0; times < 10; times += 1) expect(checks.allows(costly, 'read', task)).toBe(true);
  });

  it('evaluate a rule on each record, and on each version of a record', () => {
    const checks = newRuleChecks('Task', ann);
    const rule = parse({ 'data.f': 1 });
    expect([1, 2, 1].map((f) => checks.allows(rule, 'update', record({ f })))).toEqual([true, false, true]);
  });

  it('refuse with 409 once all their rules together exceed the budget', () => {
    const checks = newRuleChecks('Task', ann);
    expect(checks.allows(costly, 'update', record({ f: tags }))).toBe(true);
    expect(() => checks.allows(costly, 'update_check', record({ f: tags }))).toThrow(
      expect.objectContaining({
        status: 409,
        code: 'rule_too_expensive',
        retrySafe: false,
        members: { entity_name: 'Task', operation: 'update_check' },
      }),
    );
  });
});
