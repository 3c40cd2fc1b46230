// Tests finding what a new rule opens, using random rules and records as well as individual cases.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../../test/support/cpu.ts';
import {
  createRandom,
  properties,
  randomPrincipal,
  randomRecord,
  randomRule,
} from '../../../../../test/support/rule-cases.ts';
import {
  listHarmlessChanges,
  listOpeningChanges,
  type RuleChange,
  ruleFields,
} from '../../../../../test/support/rule-changes.ts';
import type { Principal } from '../../../../core/auth/principal.ts';
import { parseSchema } from '../../schemas/document.ts';
import { describeFields } from '../../schemas/field-shapes.ts';
import { newValidation } from '../../schemas/values.ts';
import { newStepBudget } from '../budget.ts';
import { evaluate } from '../decision/evaluate.ts';
import { noFieldRules } from '../field-rules.ts';
import { noRules, parseRule } from '../grammar.ts';
import { callerKinds, findOpening, type OpeningOperation } from './openings.ts';

const now = new Date('2026-03-01T12:00:00.000Z');

function parse(json: object) {
  const parsed = parseSchema({ name: 'Task', ...json }, [], 'new');
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.schema;
}

const fields = {
  title: { type: 'string' },
  state: { type: 'string', enum: ['draft', 'open', 'done'] },
  level: { type: 'integer', minimum: 1, maximum: 5 },
  done: { type: 'boolean' },
  tags: { type: 'array', items: { type: 'string' } },
  lines: {
    type: 'array',
    items: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer' } }, required: ['sku'] },
  },
  address: { type: 'object', properties: { zip: { type: 'string' }, city: { type: 'string' } } },
  due: { type: 'string', format: 'date' },
};

const owner = { created_by_id: '{{user.id}}' };

function openingOf(before: unknown, after: unknown, operation: OpeningOperation = 'read', more: object = {}) {
  const old = parse({ properties: fields, ...more, rls: { update: true, [operation]: before } });
  const changed = parse({ properties: fields, ...more, rls: { update: true, [operation]: after } });
  const shape = describeFields(changed, newValidation());
  const result = findOpening({ operation, before: old.rules, after: { ...changed, shape }, callers: callerKinds }, now);
  return typeof result === 'string' ? result : result.opening;
}

describe('findOpening', () => {
  it('finds the most open caller first', () => {
    expect(openingOf(owner, true)).toEqual({ principal: 'anonymous', attributes: null, record: {}, change: null });
    expect(openingOf(undefined, { user_condition: { id: '{{user.id}}' } })).toMatchObject({ principal: 'any_user' });
    expect(openingOf(false, owner)).toMatchObject({
      principal: 'creator',
      record: { created_by: '{{user.email}}', created_by_id: '{{user.id}}' },
    });
    expect(openingOf(owner, { $or: [owner, { user_condition: { role: 'admin' } }] })).toMatchObject({
      principal: 'some_user',
      attributes: { role: 'admin' },
    });
  });

  it.each([
    [owner, { $or: [owner, { 'data.state': 'open' }] }, { state: 'open' }],
    [{ 'data.level': { $gte: 4 } }, { 'data.level': { $gte: 3 } }, { level: 3 }],
    [{ 'data.level': { $gt: 2, $lt: 4 } }, { 'data.level': { $gt: 2 } }, { level: 5 }],
    [{ 'data.tags': { $all: ['a', 'b'] } }, { 'data.tags': { $in: ['a', 'b'] } }, { tags: ['a'] }],
    [{ 'data.tags': { $size: 2 } }, { 'data.tags': { $exists: true } }, { tags: [] }],
    [
      { 'data.lines': { $elemMatch: { sku: 'x', count: { $gt: 2 } } } },
      { 'data.lines': { $elemMatch: { sku: 'x' } } },
      { lines: [{ sku: 'x' }] },
    ],
    [{ 'data.address.zip': '1' }, { 'data.address.zip': { $in: ['1', '2'] } }, { address: { zip: '2' } }],
    [{ 'data.due': { $lt: '2026-02-01' } }, { 'data.due': { $lte: '2026-02-01' } }, { due: '2026-02-01' }],
    [{ 'data.title': { $ne: null }, 'data.done': true }, { 'data.done': true }, { done: true }],
    [
      { 'data.title': '{{user.full_name}}' },
      { 'data.title': { $in: ['{{user.email}}', '{{user.full_name}}'] } },
      { title: '{{user.email}}' },
    ],
  ])('finds the record that %j refused and %j allows', (before, after, record) => {
    expect(openingOf(before, after)).toMatchObject({ principal: 'any_user', record });
  });

  it('finds the attributes that a caller needs', () => {
    const team = { 'data.title': '{{user.data.team}}' };
    expect(openingOf({ ...team, 'data.done': true }, team)).toMatchObject({
      principal: 'some_user',
      attributes: { data: { team: expect.anything() } },
    });
    const both = { $and: [{ user_condition: { 'data.teams': 'red' } }, { user_condition: { 'data.teams': 'blue' } }] };
    expect(openingOf(false, both)).toMatchObject({ attributes: { data: { teams: ['red', 'blue'] } } });
  });

  it('looks only at records that the schema allows', () => {
    const known = { $or: [{ 'data.state': 'draft' }, { 'data.state': { $in: ['open', 'done'] } }] };
    const anyone = { user_condition: { id: '{{user.id}}' } };
    expect(openingOf(known, anyone, 'read', { required: ['state'] })).toBe('none');
    expect(openingOf(known, anyone)).toMatchObject({ principal: 'any_user' });
    expect(openingOf({ 'data.level': { $gt: 0 } }, { 'data.level': { $exists: true } })).toBe('none');
  });

  it('knows that a new record belongs to its creator, and that none is older than now', () => {
    const anyone = { user_condition: { id: '{{user.id}}' } };
    expect(openingOf(owner, anyone, 'create')).toBe('none');
    expect(openingOf(false, { created_date: { $lt: '2026' } }, 'create')).toBe('none');
    expect(openingOf(owner, anyone)).toMatchObject({ principal: 'any_user' });
    expect(openingOf({ created_by: '{{user.email}}' }, owner)).toBe('none');
  });

  it('finds what an update may newly do, with the change to send', () => {
    expect(openingOf({ 'data.state': 'draft' }, { 'data.state': { $in: ['draft', 'open'] } }, 'update_check')).toEqual({
      principal: 'any_user',
      attributes: null,
      record: {},
      change: { state: 'open' },
    });
    expect(openingOf({ 'data.state': 'draft' }, undefined, 'update_check')).toMatchObject({ principal: 'anonymous' });
    expect(openingOf(undefined, { 'data.state': 'draft' }, 'update_check')).toBe('none');
  });

  it('reports no update that the check after it always refuses', () => {
    const rules = (update: unknown, update_check: unknown) => ({ properties: fields, rls: { update, update_check } });
    const ask = (before: object, after: object) => {
      const changed = parse(after);
      const shape = describeFields(changed, newValidation());
      return findOpening(
        { operation: 'update', before: parse(before).rules, after: { ...changed, shape }, callers: callerKinds },
        now,
      );
    };
    const anyone = { user_condition: { id: '{{user.id}}' } };
    expect(ask(rules(owner, false), rules(anyone, false))).toBe('none');
    expect(
      ask(rules(owner, { 'data.state': 'done' }), rules({ 'data.state': 'draft' }, { 'data.state': 'done' })),
    ).toEqual(expect.objectContaining({ opening: expect.objectContaining({ change: { state: 'done' } }) }));
  });

  it('does not send a field that its own rule refuses', () => {
    const state = { ...fields.state, rls: { create: { user_condition: { role: 'admin' } } } };
    const more = { properties: { ...fields, state } };
    expect(openingOf(false, { 'data.state': 'open' }, 'create', more)).toMatchObject({
      principal: 'some_user',
      attributes: { role: 'admin' },
    });
  });

  it('says that it did not decide, if the steps do not suffice', () => {
    const changed = parse({ properties: fields, rls: { read: { 'data.state': 'open' } } });
    const shape = describeFields(changed, newValidation());
    const few = findOpening(
      { operation: 'read', before: noRules, after: { ...changed, shape }, callers: callerKinds, budget: { steps: 3 } },
      now,
    );
    expect(few).toBe('undecided');
  });
});

const anyone = { user_condition: { id: '{{user.id}}' } };

/** Each list in a rule has at most 20 parts, so longer lists are nested. */
const anyOf = (parts: readonly object[]): object => ({
  $or: Array.from({ length: Math.ceil(parts.length / 20) }, (_none, at) => ({
    $or: parts.slice(at * 20, at * 20 + 20),
  })),
});

describe('where not all values can be tried', () => {
  const withField = (field: object, ...required: string[]) => ({ properties: { ...fields, code: field }, required });

  it.each([
    ['a pattern', { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' }, 'ABC-1234'],
    ['a long text', { type: 'string', minLength: 3000 }, { $lt: 'm' }],
  ])('does not say that nothing opens: %s', (_what, field, value) => {
    expect(openingOf({ 'data.code': value }, anyone, 'read', withField(field, 'code'))).toBe('undecided');
  });

  it('does not say that nobody fits a pattern', () => {
    const field = { type: 'string', pattern: '^[a-z]+@corp[.]example$' };
    expect(openingOf(false, { 'data.code': '{{user.email}}' }, 'read', withField(field))).toBe('undecided');
    expect(openingOf(false, { 'data.code': '{{user.data.mail}}' }, 'read', withField(field))).toBe('undecided');
  });

  it('finds texts of a minimum length, and choices that are lists', () => {
    const long = { type: 'string', minLength: 300 };
    expect(openingOf({ 'data.code': 'x'.repeat(300) }, anyone, 'read', withField(long, 'code'))).toMatchObject({
      record: { code: 'y'.repeat(300) },
    });
    const lists = { type: 'array', items: { type: 'string' }, enum: [['a'], ['b', 'c']] };
    expect(openingOf({ 'data.code': 'a' }, anyone, 'read', withField(lists, 'code'))).toMatchObject({
      record: { code: ['b', 'c'] },
    });
  });

  it('finds what stands in a template', () => {
    const field = { type: 'string', enum: ['team-red', 'team-blue'] };
    expect(openingOf(false, { 'data.code': 'team-{{user.data.team}}' }, 'read', withField(field))).toMatchObject({
      attributes: { data: { team: 'red' } },
      record: { code: 'team-red' },
    });
  });

  it.each([24, 80])('finds one more address after %i', (count) => {
    const isOneOf = (emails: string[]) => anyOf(emails.map((email) => ({ user_condition: { email } })));
    const emails = Array.from({ length: count }, (_none, at) => `person${at}@example.com`);
    expect(openingOf(isOneOf(emails), isOneOf([...emails, 'new@example.com']))).toMatchObject({
      attributes: { email: 'new@example.com' },
    });
  });

  it('says that it did not try all values of an attribute', () => {
    const titles = Array.from({ length: 150 }, (_none, at) => `title ${at}`);
    const after = { 'data.title': { $in: titles, $eq: '{{user.data.title}}' }, 'data.level': { $gt: 9 } };
    expect(openingOf(false, after)).toBe('undecided');
    expect(openingOf(false, { 'data.title': '{{user.data.title}}', 'data.level': { $gt: 9 } })).toBe('none');
  });

  it('finds a list with some values and without others', () => {
    const has = (team: string) => ({ user_condition: { 'data.teams': team } });
    const rule = { $and: [has('red'), has('blue'), { $nor: [has('green')] }] };
    expect(openingOf(false, rule)).toMatchObject({ attributes: { data: { teams: ['red', 'blue'] } } });
  });

  it('leaves fields as they are, or finds when their own rules allow to change them', () => {
    const code = { type: 'string', rls: { update: { 'data.done': true } } };
    const opened = openingOf(
      { 'data.code': 'a' },
      { 'data.code': { $in: ['a', 'b'] } },
      'update_check',
      withField(code),
    );
    expect(opened).toMatchObject({ record: { code: 'b' }, change: {} });
    const rules = (update_check: unknown) => ({
      properties: { ...fields, code },
      rls: { update: { 'data.code': 'a' }, update_check },
    });
    const changed = parse(rules({ 'data.code': { $in: ['a', 'b'] } }));
    const shape = describeFields(changed, newValidation());
    expect(
      findOpening(
        {
          operation: 'update_check',
          before: parse(rules({ 'data.code': 'a' })).rules,
          after: { ...changed, shape },
          callers: callerKinds,
        },
        now,
      ),
    ).toMatchObject({ opening: { record: { code: 'a', done: true }, change: { code: 'b' } } });
  });
});

describe('on hostile rules', () => {
  const attributes = (count: number) => Array.from({ length: count }, (_none, at) => `{{user.data.a${at}}}`);
  const numbers = (count: number) => Array.from({ length: count }, (_none, at) => at);
  const ids = (count: number) => Array.from({ length: count }, () => '{{user.id}}');

  it.each([
    ['many templates beside many constants', { $nor: [{ 'data.title': { $in: [...ids(190), 'a'] } }] }],
    [
      'many lists of templates and constants',
      anyOf(numbers(20).map(() => ({ 'data.level': { $in: [...ids(100), ...numbers(100)] } }))),
    ],
    [
      'many attributes',
      { $or: [{ 'data.title': { $in: attributes(6) } }, { 'data.tags': { $size: 900, $in: ['a'] } }] },
    ],
    [
      'attributes and a size that is impossible',
      {
        $or: [
          {
            $and: [
              { 'data.title': { $in: attributes(6) } },
              { 'data.tags': { $size: 3 } },
              { 'data.tags': { $size: 4 } },
            ],
          },
          { $and: [{ 'data.done': '{{user.data.a0}}' }, { 'data.tags': { $size: 3 } }, { 'data.tags': { $size: 4 } }] },
        ],
      },
    ],
    [
      'a long list',
      {
        $and: [
          { 'data.tags': { $size: 1000 } },
          ...numbers(18).map((at) => ({ 'data.tags': { $ne: `t${at}` } })),
          { 'data.level': 9 },
        ],
      },
    ],
  ])('ends soon: %s', (_what, rule) => {
    const changed = parse({ properties: fields, rls: { read: rule } });
    const shape = describeFields(changed, newValidation());
    const find = () =>
      findOpening(
        {
          operation: 'read',
          before: noRules,
          after: { ...changed, shape },
          callers: callerKinds,
          budget: { steps: 40_000 },
        },
        now,
      );
    expect(measureLeastCpuMs(find)).toBeLessThan(300);
  });
});

describe('on generated changes', () => {
  const parseRead = (read: unknown) => parse({ properties: ruleFields, rls: { read } });
  const ask = ({ before, after }: RuleChange) => {
    const [old, changed] = [parseRead(before), parseRead(after)];
    const shape = describeFields(changed, newValidation());
    const result = findOpening(
      {
        operation: 'read',
        before: old.rules,
        after: { ...changed, shape },
        callers: callerKinds,
        budget: { steps: 40_000 },
      },
      now,
    );
    return typeof result === 'string' ? result : 'found';
  };

  it('finds every opening', () => {
    expect(listOpeningChanges().filter((change) => ask(change) !== 'found')).toEqual([]);
  });

  it('proves that the others open nothing', () => {
    expect(listHarmlessChanges().filter((change) => ask(change) !== 'none')).toEqual([]);
  });
});

describe('on random rules', () => {
  const open = {
    types: ['object', 'array', 'string', 'number', 'boolean'],
    isSelective: false,
    samples: [],
    hasDefault: false,
    accepts: () => true,
  };
  const shape = { fields: new Map(Object.keys(properties).map((name) => [name, open])), required: new Set<string>() };
  const toRule = (json: unknown) => {
    const parsed = parseRule(json, [], properties);
    return 'faults' in parsed ? undefined : parsed.rule;
  };

  it('says none of no change of which random callers and records show an opening', () => {
    const random = createRandom(7);
    const counts = { asked: 0, shown: 0, none: 0, undecided: 0 };
    const missed: string[] = [];
    for (let at = 0; at < 400; at += 1) {
      const [oldJson, newJson] = [randomRule(random), randomRule(random)];
      const [before, after] = [toRule(oldJson), toRule(newJson)];
      if (before === undefined || after === undefined) continue;
      counts.asked += 1;
      const isOpened = (principal: Principal, record: ReturnType<typeof randomRecord>) =>
        evaluate(after, principal, record, newStepBudget()) === true &&
        evaluate(before, principal, record, newStepBudget()) !== true;
      const cases = Array.from({ length: 30 }, () => {
        const principal = { ...randomPrincipal(random), isManager: false } as Principal;
        const id = principal.kind === 'signed_in' ? { role: random.one(['user', 'admin']) } : {};
        return { principal: { ...principal, ...id } as Principal, record: randomRecord(random) };
      });
      const shown = cases.find(({ principal, record }) => isOpened(principal, record));
      if (shown !== undefined) counts.shown += 1;
      const result = findOpening(
        {
          operation: 'read',
          before: { ...noRules, read: before },
          after: { rules: { ...noRules, read: after }, fieldRules: noFieldRules, shape },
          callers: callerKinds,
          budget: { steps: 40_000 },
        },
        now,
      );
      if (result === 'undecided') counts.undecided += 1;
      if (result === 'none') counts.none += 1;
      if (result === 'none' && shown !== undefined) missed.push(JSON.stringify({ oldJson, newJson, shown }));
    }
    expect(counts.shown).toBeGreaterThan(100);
    expect(missed).toEqual([]);
    expect(counts.undecided / counts.asked).toBeLessThan(0.15);
  });
});
