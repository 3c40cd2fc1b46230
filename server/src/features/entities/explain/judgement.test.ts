// Tests explanations by comparing them with the evaluation used for real requests, for random rules, records and
// principals. Covers the decision, the deciding clauses and the suggestion, and checks that hidden values have no
// influence.
import { describe, expect, it } from 'vitest';
import { someOf } from '../../../../test/support/cases.ts';
import {
  createRandom,
  pools,
  type Random,
  randomPrincipal,
  randomRecord,
  randomRule,
} from '../../../../test/support/rule-cases.ts';
import type { Principal } from '../../../core/auth/principal.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { presentRecord, type RecordAccess, withRuleChecks } from '../records/record.ts';
import { newStepBudget, StepBudgetExceeded } from '../rules/budget.ts';
import { type Clause, type ClauseTree, evaluateClause, listClauses } from '../rules/decision/clauses.ts';
import { judgeTree } from '../rules/decision/deciding.ts';
import { evaluate } from '../rules/decision/evaluate.ts';
import { isWithin, notTrue, ofVerdict, type VerdictSet, verdictSets } from '../rules/decision/verdict-set.ts';
import { findGoverningRules } from '../rules/field-rules.ts';
import { parseRule } from '../rules/grammar.ts';
import type { DataRecord, Verdict } from '../rules/rule.ts';
import { isEqual } from '../rules/values.ts';
import { parseSchema } from '../schemas/document.ts';
import type { EntitySchema } from '../schemas/field.ts';
import { explainScene } from './explain.ts';
import { applyPatch } from './json-patch.ts';
import { judgeOperation } from './judgement.ts';
import { listCandidates } from './record-candidates.ts';
import { buildRecordScene, buildScene, type Question, viewReadableRecord } from './scene.ts';
import { suggestChange } from './suggestion.ts';

const now = new Date('2026-11-16T12:00:00.000Z');
const names = ['a', 'b', 'c', 'constructor'];
const open = { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] };
const operations = ['create', 'read', 'update', 'delete'] as const;

const withPool = (seed: number, n: number): Random => ({
  ...createRandom(seed * 1_000_003 + n),
  pool: pools[n % pools.length] ?? [],
});

/** Returns a schema with random rules, or undefined if they name a field that no schema can have. */
function randomSchema(random: Random): { document: Record<string, unknown>; schema: EntitySchema } | undefined {
  const rules = (all: readonly string[]) =>
    Object.fromEntries(all.filter(() => random.chance(0.5)).map((name) => [name, randomRule(random)]));
  const properties = Object.fromEntries(
    names.map((name) => [
      name,
      { ...open, ...(random.chance(0.3) && { rls: rules(['read', 'create', 'update', 'write']) }) },
    ]),
  );
  const rls = rules([...operations, 'write', 'update_check']);
  const document = { name: 'Thing', properties, ...(random.chance(0.95) && { rls }) };
  const parsed = parseSchema(document, [], 'new');
  return 'schema' in parsed ? { document, schema: parsed.schema } : undefined;
}

// The proof of access and the app's row don't matter here.
const accessTo = (schema: EntitySchema, principal: Principal): RecordAccess =>
  withRuleChecks({
    principal,
    app: { hide_authorship: false, public_settings: 'public_without_login' },
    entity: { name: schema.name, schema, keys: [], ready: new Set() },
  } as never);

const pickDeclared = (data: DataRecord['data']) =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => names.includes(name) && value !== null));

interface Case {
  readonly document: Record<string, unknown>;
  readonly schema: EntitySchema;
  readonly principal: Principal;
  readonly question: Question & { readonly record: Record<string, unknown> };
}

function randomCase(seed: number, n: number): Case | undefined {
  const random = withPool(seed, n);
  const made = randomSchema(random);
  if (made === undefined) return undefined;
  const { data, ...columns } = randomRecord(random);
  const operation = random.one(operations);
  const patch = operation === 'update' && random.chance(0.7) ? pickDeclared(randomRecord(random).data) : undefined;
  const record = { ...pickDeclared(data), ...(operation !== 'create' && columns) };
  return { ...made, principal: randomPrincipal(random), question: { operation, record, ...(patch && { patch }) } };
}

async function sceneOf({ schema, principal, question }: Pick<Case, 'schema' | 'principal' | 'question'>) {
  try {
    return await buildScene(undefined as never, accessTo(schema, principal), principal, question, now);
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

const and = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.includes(false) ? false : verdicts.includes(null) ? null : true;

/** Decides like a real request, by evaluating the parsed rules one by one. */
function decide({ schema, principal, question }: Omit<Case, 'document'>, record: DataRecord, updated?: DataRecord) {
  const { operation, patch } = question;
  const verdict = (rule: Parameters<typeof evaluate>[0], on: DataRecord) =>
    evaluate(rule, principal, on, newStepBudget());
  const sent = operation === 'create' ? question.record : (patch ?? {});
  const fields =
    operation === 'create' || operation === 'update'
      ? Object.keys(sent)
          .filter((name) => schema.fields.has(name))
          .flatMap((name) => findGoverningRules(schema.fieldRules, [name], operation))
      : [];
  const check = schema.rules.update_check;
  return and([
    verdict(schema.rules[operation], record),
    ...fields.map((rule) => verdict(rule, record)),
    ...(updated !== undefined && check !== 'missing' ? [verdict(check, updated)] : []),
  ]);
}

const decisions = new Map<Verdict, string>([
  [true, 'allow'],
  [false, 'deny'],
  [null, 'unknown'],
]);

describe('an explanation', () => {
  it(`decides as the rules do, and its suggestion allows, in ${someOf(6_000)} random cases`, async () => {
    const counts: Record<string, number> = { allow: 0, deny: 0, unknown: 0, rule: 0, record: 0, patch: 0, none: 0 };
    const count = (name: string) => {
      counts[name] = (counts[name] ?? 0) + 1;
    };
    let cases = 0;
    for (let n = 0; cases < someOf(6_000); n += 1) {
      const each = randomCase(1, n);
      const scene = each && (await sceneOf(each));
      if (each === undefined || scene === undefined) continue;
      cases += 1;
      const { situation } = scene;
      const judgement = judgeOperation(situation, newStepBudget());
      const verdict = decide(each, situation.record.record, situation.updated?.record);
      expect(judgement.decision, `case ${n}`).toBe(decisions.get(verdict));
      count(judgement.decision);
      const suggestion = suggestChange(scene, judgement, newStepBudget());
      if (judgement.decision === 'allow') expect(suggestion, `case ${n}`).toBeNull();
      else if (suggestion === null) count('none');
      else {
        count(suggestion.target);
        await expectAllowed(each, suggestion, `case ${n} ${JSON.stringify(suggestion)}`);
      }
    }
    for (const name of ['allow', 'deny', 'unknown', 'rule', 'record', 'patch'])
      expect(counts[name], JSON.stringify(counts)).toBeGreaterThan(someOf(40));
    // A rule that is already nested to the maximum depth has no room for an alternative.
    expect(counts.none, JSON.stringify(counts)).toBeLessThan(cases / 50);
  });

  async function expectAllowed(
    each: Case,
    { target, patch }: NonNullable<ReturnType<typeof suggestChange>>,
    description: string,
  ): Promise<void> {
    const change = (document: unknown) => applyPatch(document, patch);
    const parsed = parseSchema(target === 'rule' ? change(each.document) : each.document, [], 'new');
    if (!('schema' in parsed)) throw new Error(`not a valid schema: ${description}`);
    const question = {
      ...each.question,
      ...(target === 'record' && { record: change(each.question.record) as Record<string, unknown> }),
      ...(target === 'patch' && { patch: change(each.question.patch ?? {}) as Record<string, unknown> }),
    };
    const changed = { schema: parsed.schema, principal: each.principal, question };
    const scene = await sceneOf(changed);
    if (scene === undefined) throw new Error(`not a valid request: ${description}`);
    const { record, updated } = scene.situation;
    expect(decide(changed, record.record, updated?.record), description).toBe(true);
  }

  it(`names a smallest set of clauses that changes the decision, in ${someOf(6_000)} random rules`, () => {
    const sizes: number[] = [];
    let compared = 0;
    for (let n = 0; compared < someOf(6_000); n += 1) {
      const random = withPool(2, n);
      const json = randomRule(random);
      const properties = Object.fromEntries([...names, '__proto__'].map((name) => [name, open]));
      const parsed = parseRule(json, [], properties);
      const [record, principal] = [randomRecord(random), randomPrincipal(random)];
      if (!('rule' in parsed) || typeof parsed.rule === 'string' || principal.kind === 'anonymous') continue;
      const tree = listClauses(json, undefined, ['rls', 'read'], properties);
      const leaves = listLeaves(tree);
      const results = new Map(
        leaves.map((clause) => [
          clause,
          evaluateClause(clause, { principal, record, isVisible: () => true, budget: newStepBudget() }),
        ]),
      );
      const verdict = evaluate(parsed.rule, principal, record, newStepBudget());
      const judged = judgeTree(tree, (clause) => results.get(clause) ?? 0);
      expect(judged.possible, `case ${n}`).toBe(ofVerdict(verdict));
      expect(new Set(leaves.map(({ path }) => path)).size, `case ${n}`).toBe(leaves.length);
      expect(canFlip(tree, results, judged.deciding), `case ${n}`).toBe(true);
      sizes.push(judged.deciding.length);
      if (leaves.length <= 10)
        for (const smaller of listSubsets(leaves, judged.deciding.length - 1))
          expect(canFlip(tree, results, smaller), `case ${n}`).toBe(false);
      compared += 1;
    }
    expect(sizes.filter((size) => size > 1).length).toBeGreaterThan(someOf(400));
    expect(sizes.every((size) => size > 0)).toBe(true);
  });

  it('names clauses that settle the decision whatever the hidden ones result in', () => {
    const counts = { hidden: 0, settled: 0 };
    for (let n = 0; counts.settled < someOf(1_000); n += 1) {
      const random = withPool(4, n);
      const json = randomRule(random);
      const properties = Object.fromEntries([...names, '__proto__'].map((name) => [name, open]));
      const parsed = parseRule(json, [], properties);
      const [record, principal] = [randomRecord(random), randomPrincipal(random)];
      if (!('rule' in parsed) || typeof parsed.rule === 'string') continue;
      const tree = listClauses(json, undefined, ['rls', 'read'], properties);
      const leaves = listLeaves(tree);
      if (leaves.length < 2 || leaves.length > 5) continue;
      const results = new Map(
        leaves.map((clause) => {
          const isVisible = random.chance(0.5);
          const context = { principal, record, isVisible: () => isVisible, budget: newStepBudget() };
          return [clause, evaluateClause(clause, context)];
        }),
      );
      const { possible, deciding } = judgeTree(tree, (clause) => results.get(clause) ?? 0);
      const isHidden = possible !== verdictSets.true && !isWithin(possible, notTrue);
      counts[isHidden ? 'hidden' : 'settled'] += 1;
      if (isHidden) expect(deciding, `case ${n}`).toEqual([]);
      else {
        const isAllowed = possible === verdictSets.true;
        expect(canSettle(tree, results, deciding, !isAllowed), `case ${n}`).toBe(true);
        for (const smaller of listSubsets(leaves, deciding.length - 1))
          expect(canSettle(tree, results, smaller, !isAllowed), `case ${n}`).toBe(false);
      }
    }
    expect(counts.hidden).toBeGreaterThan(someOf(100));
  });

  it('measures a long value once, however many clauses test it', () => {
    const tests = Array.from({ length: 90 }, (_, at) => ({ 'data.a': { $ne: at } }));
    const rls = {
      read: { $and: Array.from({ length: 5 }, (_, at) => ({ $and: tests.slice(at * 18, at * 18 + 18) })) },
    };
    const parsed = parseSchema({ name: 'Thing', properties: { a: open }, rls }, [], 'new');
    if (!('schema' in parsed)) throw new Error('not a valid schema');
    const { schema } = parsed;
    let count = 0;
    const toJSON = () => {
      count += 1;
      return 'x'.repeat(2_000);
    };
    const principal: Principal = {
      kind: 'signed_in',
      isManager: false,
      id: 'ann',
      email: 'ann@example.com',
      full_name: 'Ann',
      role: 'user',
      data: {},
    };
    const access = accessTo(schema, principal);
    const record = { ...randomRecord(withPool(5, 0)), data: { a: { toJSON } } };
    const viewed = { record, shown: record.data, isVisible: () => true };
    const scene = buildRecordScene({ access, principal, question: { operation: 'read' }, now }, viewed, []);
    const { clauses } = explainScene(access, { kind: 'person', principal }, scene);
    expect(clauses.map(({ value }) => value)).toEqual(Array(90).fill('…'));
    expect(count).toBe(1);
  });

  it('counts the steps of comparing long values to suggest', () => {
    const field = { names: ['a'], operands: Array(300).fill('x'.repeat(60_000)) };
    expect(() => listCandidates(field, {}, newStepBudget())).toThrow(StepBudgetExceeded);
  });

  it(`does not depend on what the asker may not read, in ${someOf(1_000)} random records`, () => {
    let compared = 0;
    let differing = 0;
    const decided = new Map<string, number>();
    for (let n = 0; compared < someOf(1_000); n += 1) {
      const random = withPool(3, n);
      const made = randomSchema(random);
      if (made === undefined || made.schema.fieldRules.read.inner.size === 0) continue;
      const { schema } = made;
      const asker = accessTo(schema, randomPrincipal(random));
      const record = { ...randomRecord(random), version: 1, size_bytes: 0 };
      const stored = { ...record, data: pickDeclared(record.data) };
      const other = { ...stored, data: { ...stored.data } as Record<string, unknown> };
      const hidden = names.filter((name) => !(name in presentRecord(asker, stored)));
      for (const name of hidden) {
        const long = 'x'.repeat(random.one([1, 300_000]));
        const value = random.chance(0.2) ? long : pickDeclared(randomRecord(random).data)[random.one(names)];
        if (value === undefined) delete other.data[name];
        else other.data[name] = value;
      }
      // Compare only records for which `getRecord` shows the caller exactly the same data.
      if (hidden.length === 0 || !isEqual(presentRecord(asker, stored), presentRecord(asker, other))) continue;
      const operation = random.one(['read', 'update', 'delete'] as const);
      const patch = operation === 'update' && random.chance(0.5) ? { [random.one(names)]: 1 } : undefined;
      const question = { operation, record_id: stored.id, ...(patch && { patch }) };
      const principal = randomPrincipal(random);
      const explain = (each: DataRecord) => {
        const asked = { access: asker, principal, question, now };
        const scene = buildRecordScene(asked, viewReadableRecord(asker, each), []);
        return explainScene(withRuleChecks(asker), { kind: 'person', principal }, scene);
      };
      const explanation = explain(stored);
      expect(explain(other), `case ${n}`).toEqual(explanation);
      const verdict = decide({ schema, principal, question: { ...question, record: {} } }, stored);
      if (question.operation !== 'update' && explanation.decision !== 'hidden')
        expect(explanation.decision === 'allow', `case ${n}`).toBe(verdict === true);
      decided.set(explanation.decision, (decided.get(explanation.decision) ?? 0) + 1);
      if (!isEqual(stored.data, other.data)) differing += 1;
      compared += 1;
    }
    expect(differing).toBeGreaterThan(someOf(250));
    for (const decision of ['allow', 'deny', 'unknown', 'hidden'])
      expect(decided.get(decision), JSON.stringify([...decided])).toBeGreaterThan(10);
  });
});

const listLeaves = (tree: ClauseTree<Clause>): Clause[] =>
  tree.kind === 'clause' ? [tree.clause] : tree.parts.flatMap(listLeaves);

/**
 * Whether changing exactly these clauses' results can change the rule's decision. An unknown result may become true or
 * false.
 */
function canFlip(tree: ClauseTree<Clause>, results: ReadonlyMap<Clause, number>, flipped: readonly Clause[]): boolean {
  const before = combine(tree, results) === true;
  const unknown = flipped.filter((clause) => results.get(clause) === verdictSets.unknown);
  for (let choice = 0; choice < 2 ** unknown.length; choice += 1) {
    const changed = new Map(results);
    for (const clause of flipped) {
      const bit = unknown.indexOf(clause);
      const becomesTrue = bit === -1 ? results.get(clause) === verdictSets.false : ((choice >> bit) & 1) === 1;
      changed.set(clause, becomesTrue ? verdictSets.true : verdictSets.false);
    }
    if ((combine(tree, changed) === true) !== before) return true;
  }
  return false;
}

/** Whether some combination of results for these clauses fixes the rule's decision, regardless of the other results. */
function canSettle(
  tree: ClauseTree<Clause>,
  results: ReadonlyMap<Clause, VerdictSet>,
  chosen: readonly Clause[],
  wanted: boolean,
): boolean {
  const others = [...results].filter(([clause]) => !chosen.includes(clause));
  const open = listResults(others.map(([clause, set]) => [clause, allResults.filter((each) => set & each)] as const));
  const choices = listResults(chosen.map((clause) => [clause, [verdictSets.true, verdictSets.false]] as const));
  return choices.some((choice) =>
    open.every((each) => (combine(tree, new Map([...choice, ...each])) === true) === wanted),
  );
}

const allResults: readonly number[] = Object.values(verdictSets);

/** Every combination of the clauses' possible results. */
const listResults = (clauses: readonly (readonly [Clause, readonly number[]])[]): [Clause, number][][] =>
  clauses.reduce<[Clause, number][][]>(
    (ways, [clause, results]) =>
      ways.flatMap((way) => results.map((each): [Clause, number][] => [...way, [clause, each]])),
    [[]],
  );

/** An independent implementation of three-valued logic, so the test does not compare the code with itself. */
function combine(tree: ClauseTree<Clause>, results: ReadonlyMap<Clause, number>): Verdict {
  if (tree.kind === 'clause') {
    const result = results.get(tree.clause);
    return result === verdictSets.unknown ? null : result === verdictSets.true;
  }
  const parts = tree.parts.map((part) => combine(part, results));
  if (tree.kind === 'and') return and(parts);
  const or = parts.includes(true) ? true : parts.includes(null) ? null : false;
  return tree.kind === 'or' || or === null ? or : !or;
}

/** All subsets with at most `size` items. */
function listSubsets<T>(items: readonly T[], size: number): T[][] {
  let subsets: T[][] = size < 0 ? [] : [[]];
  for (const item of items) {
    const larger = subsets.filter((subset) => subset.length < size).map((subset) => [...subset, item]);
    subsets = [...subsets, ...larger];
  }
  return subsets;
}
