// A rule's clauses, which are its individual tests. Each has a location in the schema document and an operand.
// Parsed rules do not keep locations, so the clauses are read from the rule's JSON. evaluate.ts evaluates them.
//
//   "rls": { "update": { "$or": [ { "created_by": "{{user.email}}" }, { "data.price": { "$gte": 1, "$lt": 5 } } ] } }
//
//   or ── rls.update.$or[0].created_by
//      └─ and ── rls.update.$or[1].data.price.$gte
//             └─ rls.update.$or[1].data.price.$lt
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { type StepBudget, spendSteps } from '../budget.ts';
import { parseRule } from '../grammar.ts';
import { parseAttribute, parseOperand, readAttribute, resolveOperand } from '../operand.ts';
import type { SchemaProperties } from '../properties.ts';
import type { Condition, ConstantRule, DataRecord, Path, Test } from '../rule.ts';
import { isObject } from '../values.ts';
import { evaluateCondition, evaluateConstant } from './evaluate.ts';
import { anyVerdict, negateSet, ofVerdict, orSets, type VerdictSet, verdictSets } from './verdict-set.ts';

/** A rule's location in the schema document, such as `['rls', 'update']`. */
export type RuleLocation = readonly string[];

export type ClauseTree<Leaf> =
  | { readonly kind: 'and' | 'or' | 'nor'; readonly parts: readonly ClauseTree<Leaf>[] }
  | { readonly kind: 'clause'; readonly clause: Leaf };

export interface Clause {
  /** The clause's location, such as `rls.update.$or[0].created_by`. */
  readonly path: string;
  /** A constant rule consists of a single clause. */
  readonly condition: Condition | ConstantRule;
  /** The record field or principal attribute that the clause tests. Undefined for a constant. */
  readonly subject: { readonly field: Path } | { readonly attribute: string } | undefined;
  /** The operand as written in the rule. */
  readonly operand: unknown;
}

/** `json` is a rule from a schema that was parsed without faults. `constant` is its parsed form if it is a constant. */
export function listClauses(
  json: unknown,
  constant: ConstantRule | undefined,
  location: RuleLocation,
  properties: SchemaProperties,
): ClauseTree<Clause> {
  const path = location.join('.');
  if (constant !== undefined || !isObject(json))
    return toLeaf({ path, condition: constant ?? 'missing', subject: undefined, operand: null });
  return walkObject(json, path, properties);
}

const toLeaf = (clause: Clause): ClauseTree<Clause> => ({ kind: 'clause', clause });

const joinWithAnd = (parts: readonly ClauseTree<Clause>[]): ClauseTree<Clause> =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'and', parts };

type JsonObject = Readonly<Record<string, unknown>>;
const combinators = { $and: 'and', $or: 'or', $nor: 'nor' } as const;
const isCombinator = (key: string): key is keyof typeof combinators => Object.hasOwn(combinators, key);

const walkObject = (json: JsonObject, path: string, properties: SchemaProperties): ClauseTree<Clause> =>
  joinWithAnd(Object.entries(json).map(([key, value]) => walkEntry(key, value, `${path}.${key}`, properties)));

function walkEntry(key: string, json: unknown, path: string, properties: SchemaProperties): ClauseTree<Clause> {
  if (isCombinator(key) && Array.isArray(json)) {
    const parts = json.map((part: JsonObject, at) => walkObject(part, `${path}[${at}]`, properties));
    return { kind: combinators[key], parts };
  }
  if (!isObject(json)) return toFieldLeaf({ [key]: json }, path, json, properties);
  if (key === 'user_condition')
    return joinWithAnd(Object.entries(json).map(([name, value]) => toUserLeaf(name, value, `${path}.${name}`)));
  const tests = Object.entries(json).map(([operator, value]) =>
    toFieldLeaf({ [key]: { [operator]: value } }, `${path}.${operator}`, value, properties),
  );
  return joinWithAnd(tests);
}

function toUserLeaf(attribute: string, operand: unknown, path: string): ClauseTree<Clause> {
  const condition = parseStored({ user_condition: { [attribute]: operand } }, {});
  return toLeaf({ path, condition, subject: { attribute }, operand });
}

function toFieldLeaf(
  json: JsonObject,
  path: string,
  operand: unknown,
  properties: SchemaProperties,
): ClauseTree<Clause> {
  const condition = parseStored(json, properties);
  return toLeaf({ path, condition, subject: { field: findTestedField(condition) }, operand });
}

/** Parses part of a rule that was already parsed with its schema, so a fault here is a bug. */
function parseStored(json: JsonObject, properties: SchemaProperties): Condition {
  const parsed = parseRule(json, [], properties, 'stored');
  if ('rule' in parsed && typeof parsed.rule !== 'string') return parsed.rule;
  throw new Error('a clause of a stored rule cannot be parsed');
}

/** Operators such as `$ne` are parsed as a negated test of the field. */
function findTestedField(condition: Condition): Path {
  if (condition.kind === 'field') return condition.path;
  const [inner] = 'parts' in condition ? condition.parts : [];
  if (inner === undefined) throw new Error('a clause tests no field');
  return findTestedField(inner);
}

interface ClauseContext {
  readonly principal: Principal;
  readonly record: DataRecord;
  /** Whether the field's value may be used. */
  readonly isVisible: (field: Path) => boolean;
  readonly budget: StepBudget;
}

/** A clause's possible verdicts. There are several if it tests a field whose value may not be used. */
export function evaluateClause({ condition, subject }: Clause, context: ClauseContext): VerdictSet {
  const { principal, record, budget } = context;
  if (typeof condition === 'string') return ofVerdict(evaluateConstant(condition, principal));
  // Anonymous callers meet no conditions.
  if (principal.kind === 'anonymous') return verdictSets.false;
  if (isHidden(subject, context)) return listPossibleVerdicts(condition, principal, budget);
  return ofVerdict(evaluateCondition(condition, { principal, record, data: record.data, budget }));
}

export const isHidden = (subject: Clause['subject'], { isVisible }: Pick<ClauseContext, 'isVisible'>): boolean =>
  subject !== undefined && 'field' in subject && !isVisible(subject.field);

/** The possible results of a test if the field may have any value. Depends only on the test's operands. */
function listPossibleVerdicts(condition: Condition, principal: SignedIn, budget: StepBudget): VerdictSet {
  spendSteps(budget, 1);
  if (condition.kind === 'field') return listVerdictsOfTest(condition.test, principal, budget);
  if (condition.kind !== 'nor') return anyVerdict;
  return negateSet(orSets(condition.parts.map((part) => listPossibleVerdicts(part, principal, budget))));
}

function listVerdictsOfTest(test: Test, principal: SignedIn, budget: StepBudget): VerdictSet {
  const known = verdictSets.true | verdictSets.false;
  const isKnown = (operand: Parameters<typeof resolveOperand>[0]) =>
    resolveOperand(operand, principal, budget) !== undefined;
  switch (test.op) {
    case 'some':
      return anyVerdict;
    case 'in':
    case 'all': {
      const { scalars, others } = test.operands;
      const knownCount = others.filter(isKnown).length;
      if (knownCount === others.length) return known;
      if (knownCount + scalars.size === 0) return verdictSets.unknown;
      return verdictSets.unknown | (test.op === 'in' ? verdictSets.true : verdictSets.false);
    }
    case 'exists':
    case 'size':
    case 'contains':
    case 'startsWith':
      return known;
    default:
      return isKnown(test.operand) ? known : verdictSets.unknown;
  }
}

/**
 * The value that a clause compares with for this principal. Templates stay unresolved if the principal lacks the
 * attribute.
 */
export function resolveClauseOperand({ operand }: Clause, principal: Principal, budget: StepBudget): unknown {
  const resolve = (json: unknown): unknown => {
    if (principal.kind === 'anonymous' || typeof json !== 'string') return json;
    const parsed = parseOperand(json);
    return typeof parsed === 'string' ? json : (resolveOperand(parsed, principal, budget) ?? json);
  };
  return Array.isArray(operand) ? operand.map(resolve) : resolve(operand);
}

/** The value of the principal attribute that a clause tests. Undefined if the principal does not have the attribute. */
export function readTestedAttribute(attribute: string, principal: Principal): unknown {
  const parsed = parseAttribute(attribute);
  return principal.kind === 'signed_in' && parsed !== undefined ? readAttribute(principal, parsed) : undefined;
}
