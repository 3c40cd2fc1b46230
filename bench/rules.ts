// Compares the two evaluators of rules and queries (in the process and as SQL) on random cases, and measures the cost
// of evaluating a rule in the process.

import type { Bench } from '../harness/bench.ts';
import { adminUrl } from '../harness/services.ts';
import { rounded } from '../harness/statistics.ts';
import type { Principal } from '../server/src/core/auth/principal.ts';
import { newStepBudget } from '../server/src/features/entities/rules/budget.ts';
import { evaluate } from '../server/src/features/entities/rules/decision/evaluate.ts';
import { parseRule } from '../server/src/features/entities/rules/grammar.ts';
import type { DataRecord, Rule } from '../server/src/features/entities/rules/rule.ts';
import {
  type Agreement,
  compareQueries,
  compareRules,
  openAgreementDatabase,
} from '../server/test/support/rule-agreement.ts';

const leastShare = 0.1;

export const rules: Bench = async ({ quick, progress }) => {
  const startedAt = performance.now();
  const bar = quick
    ? { cases: 50_000, seconds: 60, databases: 4 }
    : { cases: 1_000_000, seconds: 1_200, databases: 20 };
  const ruleTotals = none();
  const queryTotals = none();
  for (let seed = 1; seed <= bar.databases; seed += 1) {
    const database = await openAgreementDatabase(adminUrl.replace(/\/[^/]*$/, ''), seed);
    try {
      add(ruleTotals, await compareRules(database, seed, (bar.cases / bar.databases) * 0.8));
      add(queryTotals, await compareQueries(database, seed, (bar.cases / bar.databases) * 0.2));
    } finally {
      await database.close();
    }
    progress(
      `${ruleTotals.cases} rules, ${queryTotals.cases} queries, ${disagreements(ruleTotals, queryTotals).length} disagreements`,
    );
  }
  const differing = disagreements(ruleTotals, queryTotals);
  for (const each of differing.slice(0, 5)) progress(`DISAGREE ${each}`);
  const { true: met, false: refused, unknown } = ruleTotals.verdicts;
  const shares = [met, refused, unknown].map((count) => count / ruleTotals.cases);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    figures: {
      rule_cases: ruleTotals.cases,
      query_cases: queryTotals.cases,
      constant_rule_cases: ruleTotals.expected,
      disagreements: differing.length,
      share_met: rounded(shares[0] ?? 0, 3),
      share_refused: rounded(shares[1] ?? 0, 3),
      share_unknown: rounded(shares[2] ?? 0, 3),
      seconds: rounded(seconds, 1),
      evaluate_ns: Object.fromEntries(measured.map(([name, rule]) => [name, nanosecondsOf(rule)])),
    },
    judged: [
      { bar: `at least ${bar.cases} cases`, met: ruleTotals.cases + queryTotals.cases >= bar.cases },
      { bar: 'no disagreement', met: differing.length === 0 },
      {
        bar: 'true, false and missing rules: at least 0.01 of the rules, each with the right verdict',
        met: ruleTotals.expected / ruleTotals.cases >= 0.01,
      },
      { bar: `met, refused and unknown: each at least ${leastShare}`, met: Math.min(...shares) >= leastShare },
      { bar: `within ${bar.seconds} s`, met: seconds <= bar.seconds },
    ],
    skipped: [],
  };
};

interface Sum {
  cases: number;
  expected: number;
  verdicts: { true: number; false: number; unknown: number };
  disagreements: string[];
}

const none = (): Sum => ({ cases: 0, expected: 0, verdicts: { true: 0, false: 0, unknown: 0 }, disagreements: [] });

function add(sum: Sum, { cases, expected, verdicts, disagreements }: Agreement): void {
  sum.cases += cases;
  sum.expected += expected;
  for (const verdict of ['true', 'false', 'unknown'] as const) sum.verdicts[verdict] += verdicts[verdict];
  sum.disagreements.push(...disagreements);
}

const disagreements = (...sums: Sum[]): string[] => sums.flatMap((sum) => sum.disagreements);

const ann: Principal = {
  kind: 'signed_in',
  isManager: false,
  id: '01890000-0000-7000-8000-000000000001',
  email: 'ann@example.com',
  full_name: 'Ann',
  role: 'editor',
  data: { team: 'red', level: 3 },
};

const record: DataRecord = {
  id: '01890000-0000-7000-8000-00000000000a',
  created_by: 'ann@example.com',
  created_by_id: ann.id,
  created_date: '2026-03-01T12:00:00.000Z',
  updated_date: '2026-03-01T12:00:00.000Z',
  is_sample: false,
  data: { team: 'red', state: 'open', level: 2, tags: ['a', 'b', 'c'], lines: [{ sku: 'x' }, { sku: 'y' }] },
};

const measured: readonly (readonly [string, unknown])[] = [
  ['owner', { created_by_id: '{{user.id}}' }],
  ['owner_or_admin', { $or: [{ user_condition: { role: 'admin' } }, { created_by_id: '{{user.id}}' }] }],
  ['team_and_state', { 'data.team': '{{user.data.team}}', 'data.state': { $in: ['draft', 'open'] } }],
  ['ordered', { 'data.level': { $lte: '{{user.data.level}}' }, created_date: { $gte: '2026-01-01' } }],
  ['element', { 'data.tags': { $all: ['a', 'c'] }, 'data.lines': { $elemMatch: { sku: 'y' } } }],
];

/** Uses the fastest round, which was disturbed the least. */
function nanosecondsOf(json: unknown): number {
  const fields = { team: {}, state: {}, level: {}, tags: {}, lines: {} };
  const parsed = parseRule(json, [], fields);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  const rounds = Array.from({ length: 30 }, () => round(parsed.rule));
  return rounded(Math.min(...rounds), 0);
}

function round(rule: Rule): number {
  const times = 100_000;
  const startedAt = performance.now();
  let met = 0;
  for (let at = 0; at < times; at += 1) if (evaluate(rule, ann, record, newStepBudget()) === true) met += 1;
  if (met !== times) throw new Error('a measured rule is not met');
  return ((performance.now() - startedAt) * 1e6) / times;
}
