// Judges an operation clause by clause: what its rules decide for a principal, and which clauses are decisive.
// Never uses values that the caller may not read, so explanations can't depend on them.
import type { Principal } from '../../../core/auth/principal.ts';
import type { StepBudget } from '../rules/budget.ts';
import { type Clause, type ClauseTree, evaluateClause, listClauses } from '../rules/decision/clauses.ts';
import { judgeTree } from '../rules/decision/deciding.ts';
import { isWithin, notTrue, type VerdictSet, verdictSets } from '../rules/decision/verdict-set.ts';
import type { DataRecord, Path } from '../rules/rule.ts';
import {
  type LocatedRule,
  locateFieldRules,
  locateRowRule,
  type RowOperation,
  type RuledSchema,
} from './located-rules.ts';

/** A record and the parts of it that the caller may read. */
export interface ViewedRecord {
  readonly record: DataRecord;
  readonly isVisible: (field: Path) => boolean;
  /** The data that the caller may read. */
  readonly shown: DataRecord['data'];
}

/** The operation to judge, with its principal and records. */
export interface Situation {
  readonly schema: RuledSchema;
  readonly operation: RowOperation;
  readonly principal: Principal;
  /** The stored record, or the new record for `create`. */
  readonly record: ViewedRecord;
  /** The record as `update` would store it. Undefined for other operations. */
  readonly updated: ViewedRecord | undefined;
  /** The fields in the request. Undefined if the question does not specify them. */
  readonly sent: readonly string[] | undefined;
}

/**
 * `hidden` means that the decision depends on a value that the caller may not read. `unknown` has the same effect as
 * `deny`.
 */
type Decision = 'allow' | 'deny' | 'unknown' | 'hidden';

/** A clause and its possible results for a record. */
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
  /** The field's name, such as `address.zip`. */
  readonly name: string;
  readonly decision: Decision;
  readonly rules: readonly JudgedRule[];
  readonly deciding: readonly JudgedClause[];
}

export interface Judgement {
  readonly decision: Decision;
  /** The operation's row rule. For updates, `update_check` follows if the schema has one. */
  readonly rules: readonly JudgedRule[];
  readonly fields: readonly JudgedField[];
  /** Whether the field rules are part of the decision. */
  readonly areFieldsRequired: boolean;
  readonly deciding: readonly JudgedClause[];
}

/** Throws StepBudgetExceeded if the rules take too many steps. */
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

/**
 * Groups the rules by field. For reads, the key is the field's full name. For writes, it is the name of the top-level
 * field.
 */
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
  // Anonymous principals meet no conditions, so the rule's clauses do not matter.
  const constant = principal.kind === 'anonymous' ? (rule.constant ?? 'nobody') : rule.constant;
  const tree = evaluate(findClauses(schema, { ...rule, constant }));
  return { rule, clauses, tree, decision: joinRules([{ tree }]).decision };
}

/** Caches parsed clauses, because the search for a suggestion applies the same rules to many records. */
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
