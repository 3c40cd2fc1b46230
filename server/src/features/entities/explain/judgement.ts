// Owns judging an operation clause by clause: what its rules decide for a principal, and which clauses decide it. Never uses
// a value that the asker may not read, so that nothing in an explanation depends on one.
import type { Principal } from '../../../core/auth/principal.ts';
import type { StepBudget } from '../rules/budget.ts';
import { type Clause, type ClauseTree, evaluateClause, listClauses } from '../rules/clauses.ts';
import { judgeTree } from '../rules/deciding.ts';
import type { DataRecord, Path } from '../rules/rule.ts';
import { isWithin, notTrue, type VerdictSet, verdictSets } from '../rules/verdict-set.ts';
import {
  type LocatedRule,
  locateFieldRules,
  locateRowRule,
  type RowOperation,
  type RuledSchema,
} from './located-rules.ts';

/** A record, and what of it the asker may read. */
export interface ViewedRecord {
  readonly record: DataRecord;
  readonly isVisible: (field: Path) => boolean;
  /** The data that the asker may read. */
  readonly shown: DataRecord['data'];
}

/** What is asked about. */
export interface Situation {
  readonly schema: RuledSchema;
  readonly operation: RowOperation;
  readonly principal: Principal;
  /** The stored record; for `create`, the new one. */
  readonly record: ViewedRecord;
  /** For `update`: the record as it would be stored. */
  readonly updated: ViewedRecord | undefined;
  /** The fields that the request sends. Undefined: that is not said. */
  readonly sent: readonly string[] | undefined;
}

/** `hidden`: it depends on a value that the asker may not read. `unknown` refuses. */
type Decision = 'allow' | 'deny' | 'unknown' | 'hidden';

/** A clause, evaluated on a record. */
export interface JudgedClause {
  readonly clause: Clause;
  readonly on: ViewedRecord;
  readonly possible: VerdictSet;
}

export interface JudgedRule {
  readonly rule: LocatedRule;
  readonly clauses: readonly JudgedClause[];
  readonly decision: Decision;
}

interface JudgedField {
  /** `address.zip` */
  readonly name: string;
  readonly decision: Decision;
  readonly rules: readonly JudgedRule[];
  readonly deciding: readonly JudgedClause[];
}

export interface Judgement {
  readonly decision: Decision;
  /** The row rule of the operation and, for `update`, `update_check`. */
  readonly rules: readonly JudgedRule[];
  readonly fields: readonly JudgedField[];
  /** Whether the fields are part of the decision. */
  readonly areFieldsRequired: boolean;
  readonly deciding: readonly JudgedClause[];
}

/** Throws StepBudgetExceeded. */
export function judgeOperation(situation: Situation, budget: StepBudget): Judgement {
  const { schema, operation, record, updated, sent } = situation;
  const judge = (rule: LocatedRule, on: ViewedRecord) => judgeRule(situation, rule, on, budget);
  const rules = [judge(locateRowRule(schema, operation), record)];
  const check = locateRowRule(schema, 'update_check');
  if (updated !== undefined && check.constant !== 'missing') rules.push(judge(check, updated));
  const fields = groupFieldRules(situation).map(([name, located]) => {
    const judged = located.map((rule) => judge(rule, record));
    return { name, ...joinRules(judged), rules: judged.map(({ tree: _, ...rule }) => rule) };
  });
  const areFieldsRequired = sent !== undefined;
  const required = areFieldsRequired ? fields.map(({ tree }) => ({ tree })) : [];
  const { decision, deciding } = joinRules([...rules, ...required]);
  return { decision, deciding, rules, fields, areFieldsRequired };
}

/** Which rules each field has: for `read` by the name of each field, for writes by that of the field that is sent. */
function groupFieldRules({ schema, operation, sent }: Situation): [name: string, LocatedRule[]][] {
  if (operation === 'delete') return [];
  const groups = new Map<string, LocatedRule[]>();
  for (const { names, ...rule } of locateFieldRules(schema, operation)) {
    const [top = ''] = names;
    if (sent !== undefined && !sent.includes(top)) continue;
    const name = operation === 'read' ? names.join('.') : top;
    groups.set(name, [...(groups.get(name) ?? []), rule]);
  }
  return [...groups];
}

type Tree = ClauseTree<JudgedClause>;

function judgeRule(
  { schema, principal }: Situation,
  rule: LocatedRule,
  on: ViewedRecord,
  budget: StepBudget,
): JudgedRule & { readonly tree: Tree } {
  const clauses: JudgedClause[] = [];
  const context = { principal, ...on, budget };
  const evaluate = (tree: ClauseTree<Clause>): Tree => {
    if (tree.kind !== 'clause') return { kind: tree.kind, parts: tree.parts.map(evaluate) };
    const clause = { clause: tree.clause, on, possible: evaluateClause(tree.clause, context) };
    clauses.push(clause);
    return { kind: 'clause', clause };
  };
  // No condition is met by an anonymous caller, so that its clauses do not matter.
  const constant = principal.kind === 'anonymous' ? (rule.constant ?? 'nobody') : rule.constant;
  const tree = evaluate(findClauses(schema, { ...rule, constant }));
  return { rule, clauses, tree, decision: joinRules([{ tree }]).decision };
}

/** A suggestion is found by judging many records by the same rules. */
const knownClauses = new WeakMap<RuledSchema, Map<string, ClauseTree<Clause>>>();

function findClauses(schema: RuledSchema, { json, constant, location }: LocatedRule): ClauseTree<Clause> {
  const known = knownClauses.get(schema) ?? new Map<string, ClauseTree<Clause>>();
  knownClauses.set(schema, known);
  const key = `${constant} ${location.join('.')}`;
  const tree = known.get(key) ?? listClauses(json, constant, location, schema.properties);
  known.set(key, tree);
  return tree;
}

function joinRules(rules: readonly { readonly tree: Tree }[]) {
  const tree: Tree = { kind: 'and', parts: rules.map((rule) => rule.tree) };
  const { possible, deciding } = judgeTree(tree, (clause) => clause.possible);
  return { tree, deciding, decision: toDecision(possible) };
}

function toDecision(possible: VerdictSet): Decision {
  if (possible === verdictSets.true) return 'allow';
  if (possible === verdictSets.unknown) return 'unknown';
  return isWithin(possible, notTrue) ? 'deny' : 'hidden';
}
