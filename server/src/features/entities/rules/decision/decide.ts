// Decides a rule for one principal before any record is read. Everything that depends only on the principal is
// replaced by its result. The rest is a filter over records, which sql/sql.ts writes as SQL.
//
// Worked example: "your own records, all records if you are an admin, and everything your team has published".
//
//   { "$or": [ { "created_by": "{{user.email}}" },
//              { "user_condition": { "role": "admin" } },
//              { "data.team": "{{user.data.team}}", "data.state": { "$ne": "draft" } } ] }
//
// For Ann (ann@x.y, role "user", team "red"), each part becomes:
//
//   created_by equals {{user.email}}      → created_by passes eq "ann@x.y"   a template is replaced by its value
//   user_condition role = "admin"         → false                            already known, dropped from the "or"
//   data.team equals {{user.data.team}}   → data.team passes eq "red"
//   data.state $ne "draft"                → data.state fails eq "draft"      a negation is moved down to its test
//
// The decision is a filter, or(created_by passes …, and(data.team passes …, data.state fails …)), and its SQL is
//
//   ((r.created_by = $1::text) or ((r.data->'team' @> $2::jsonb) and ((r.data->'state' @> $3::jsonb) is not true)))
//
// The same rule for other principals:
//
//   Cem, role "admin"       true (every record)               SQL: true
//   Bob, who has no team    created_by passes eq "bob@x.y"    SQL: (r.created_by = $1::text)
//   anonymous               false (no record)                 SQL: false
//
// Bob's third part is unknown, because a missing attribute of the principal makes a comparison unknown, and only true
// allows the record. A missing value in the record simply fails. The negation of unknown is also unknown. However,
// unknown becomes `false` before SQL is written, so negating that SQL would allow the record. Instead, decideCondition
// takes the verdict to look for, true or false. `nor` looks for the opposite verdict in its parts, and looking for
// false swaps "and" with "or". Around a single check, "is not true" is safe, because all operands are known there.
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { type StepBudget, spendSteps } from '../budget.ts';
import { resolveOperand } from '../operand.ts';
import { formatPath } from '../properties.ts';
import type { Comparator, Condition, Path, Rule, Test } from '../rule.ts';
import { evaluateConstant, evaluateUserCondition } from './evaluate.ts';

/** `true` means every record, and `false` means no record. A filter means the records that match it. */
export type Decision = boolean | RecordFilter;

/** A condition that no longer depends on the principal. `fails` matches where the check's SQL is false or null. */
export type RecordFilter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly RecordFilter[] }
  | { readonly kind: 'passes' | 'fails'; readonly path: Path; readonly check: Check };

/** A test whose operands are known values. `some` and `every` test the objects in an array. */
export type Check =
  | { readonly op: 'eq'; readonly value: unknown }
  | { readonly op: 'in' | 'all'; readonly values: readonly unknown[] }
  | { readonly op: Comparator; readonly value: number | string }
  | { readonly op: 'some' | 'every'; readonly element: Decision }
  | Extract<Test, { op: 'exists' | 'size' | 'contains' | 'startsWith' }>;

/** Decides which records the rule allows for this principal. Throws StepBudgetExceeded. */
export function decideRule(rule: Rule, principal: Principal, budget?: StepBudget): Decision {
  if (typeof rule === 'string') return evaluateConstant(rule, principal);
  if (principal.kind === 'anonymous') return false;
  return decideCondition(rule, principal, true, budget);
}

/**
 * Decides for which records the condition has this verdict. Queries use this function too. They need no principal,
 * because they contain no templates, and no budget, because they have their own limits.
 */
export function decideCondition(
  condition: Condition,
  principal: SignedIn | undefined,
  verdict: boolean,
  budget?: StepBudget,
): Decision {
  spendSteps(budget, 1);
  switch (condition.kind) {
    case 'and':
      return joinParts(verdict ? 'and' : 'or', condition.parts, principal, verdict, budget);
    case 'or':
      return joinParts(verdict ? 'or' : 'and', condition.parts, principal, verdict, budget);
    case 'nor':
      return joinParts(verdict ? 'and' : 'or', condition.parts, principal, !verdict, budget);
    case 'user':
      return evaluateUserCondition(condition, principal, budget) === verdict;
    case 'field':
      return decideTest(condition.path, condition.test, principal, verdict, budget);
  }
}

// One true part decides an "or", and one false part decides an "and". Parts with the opposite constant have no effect.
function joinParts(
  kind: 'and' | 'or',
  conditions: readonly Condition[],
  principal: SignedIn | undefined,
  verdict: boolean,
  budget: StepBudget | undefined,
): Decision {
  const deciding = kind === 'or';
  const parts: RecordFilter[] = [];
  for (const condition of conditions) {
    const decision = decideCondition(condition, principal, verdict, budget);
    if (decision === deciding) return deciding;
    if (typeof decision === 'boolean') continue;
    if (decision.kind === kind) parts.push(...decision.parts);
    else parts.push(decision);
  }
  const [first] = parts;
  if (first === undefined) return !deciding;
  return parts.length === 1 ? first : { kind, parts };
}

// Matches no record if an operand is unknown, because the test is then neither true nor false for any record.
function decideTest(
  path: Path,
  test: Test,
  principal: SignedIn | undefined,
  verdict: boolean,
  budget: StepBudget | undefined,
): Decision {
  const toFilter = (check: Check): RecordFilter => ({ kind: verdict ? 'passes' : 'fails', path, check });
  switch (test.op) {
    case 'eq': {
      const value = resolveOperand(test.operand, principal, budget);
      return value !== undefined && toFilter({ op: 'eq', value });
    }
    case 'in':
    case 'all': {
      const { scalars, others } = test.operands;
      const resolved = others.map((operand) => resolveOperand(operand, principal, budget));
      const known = resolved.filter((value) => value !== undefined);
      const values = [...scalars, ...known];
      // `in` is true if one known value matches, and false only if all values are known and none matches. `all` is the
      // reverse. Lists of operands are never empty, because the parser rejects empty lists.
      const needsAllKnown = verdict === (test.op === 'all');
      const isPossible = needsAllKnown ? known.length === others.length : values.length > 0;
      return isPossible && toFilter({ op: test.op, values });
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const value = resolveOperand(test.operand, principal, budget);
      if (value === undefined) return false;
      // Only numbers and strings have an order. With any other operand, the test is false for every record.
      return typeof value === 'number' || typeof value === 'string' ? toFilter({ op: test.op, value }) : !verdict;
    }
    case 'some': {
      const element = decideCondition(test.condition, principal, verdict, budget);
      // No element meets the condition, so `some` is true for no record.
      if (verdict && element === false) return false;
      // The condition is false for every element, so `some` is false for every record.
      if (!verdict && element === true) return true;
      // `some` is false where the condition is false for every element.
      return { kind: 'passes', path, check: { op: verdict ? 'some' : 'every', element } };
    }
    default:
      return toFilter(test);
  }
}

/** A condition that a field equals a value or is an array that contains it. */
interface Equality {
  /** The field as named in rules, such as `created_by` or `data.state`. */
  readonly field: string;
  readonly value: string | number | boolean;
}

/**
 * The equalities that hold for every allowed record. The store uses them to choose an index (records/store/list.ts).
 */
export function listEqualities(decision: Decision): Equality[] {
  if (typeof decision === 'boolean') return [];
  const parts = decision.kind === 'and' ? decision.parts : [decision];
  return parts.flatMap((part) => {
    if (part.kind !== 'passes' || part.check.op !== 'eq') return [];
    const { value } = part.check;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return [];
    return [{ field: formatPath(part.path), value }];
  });
}
