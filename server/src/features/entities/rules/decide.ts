// Owns deciding a rule for one principal before any record is read. Everything that depends on the principal alone is
// replaced by its result; what remains is a filter over records, which sql.ts writes as SQL.
//
// Worked example: "your own records; all of them if you are an admin; and what your team has published".
//
//   { "$or": [ { "created_by": "{{user.email}}" },
//              { "user_condition": { "role": "admin" } },
//              { "data.team": "{{user.data.team}}", "data.state": { "$ne": "draft" } } ] }
//
// For Ann (ann@x.y, role "user", team "red"), each part becomes:
//
//   created_by equals {{user.email}}      → created_by passes eq "ann@x.y"   a template is replaced by its value
//   user_condition role = "admin"         → false                            known now, and dropped from an "or"
//   data.team equals {{user.data.team}}   → data.team passes eq "red"
//   data.state $ne "draft"                → data.state fails eq "draft"      a negation ends up at its test
//
// so the decision is a filter, or(created_by passes …, and(data.team passes …, data.state fails …)), and its SQL is
//
//   ((r.created_by = $1::text) or ((r.data->'team' @> $2::jsonb) and ((r.data->'state' @> $3::jsonb) is not true)))
//
// The same rule for other principals:
//
//   Cem, role "admin"       true: every record                SQL: true
//   Bob, who has no team    created_by passes eq "bob@x.y"    SQL: (r.created_by = $1::text)
//   anonymous               false: no record                  SQL: false
//
// Bob's third part is unknown, because a missing attribute makes a comparison unknown, and only true allows. The negation
// of unknown is unknown too, so a negation can't be written as SQL around its condition: "is not true" would turn unknown
// into true. Instead decideCondition takes the verdict to look for, true or false, and a "nor" swaps it for its parts. At a
// single test "is not true" is safe: there null can only mean that the record lacks the value, which is false, not unknown.
import type { Principal, SignedIn } from '../../../core/auth/principal.ts';
import { evaluateUserCondition } from './evaluate.ts';
import { resolveOperand } from './operand.ts';
import { formatPath } from './properties.ts';
import type { Comparator, Condition, Path, Rule, Test } from './rule.ts';

/** `true`: every record. `false`: no record. Otherwise: the records that the filter matches. */
export type Decision = boolean | RecordFilter;

/** A condition in which nothing depends on the principal any more. A value *fails* a check that is false or null. */
export type RecordFilter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly RecordFilter[] }
  | { readonly kind: 'passes' | 'fails'; readonly path: Path; readonly check: Check };

/** A test whose operands are known values. `some` and `every` look at the objects in an array. */
export type Check =
  | { readonly op: 'eq'; readonly value: unknown }
  | { readonly op: 'in' | 'all'; readonly values: readonly unknown[] }
  | { readonly op: Comparator; readonly value: number | string }
  | { readonly op: 'some' | 'every'; readonly element: Decision }
  | Extract<Test, { op: 'exists' | 'size' | 'contains' | 'startsWith' }>;

/** Which records the rule allows to this principal. */
export function decideRule(rule: Rule, principal: Principal): Decision {
  if (rule === 'everyone') return true;
  if (rule === 'nobody' || principal.kind === 'anonymous') return false;
  return rule === 'missing' || decideCondition(rule, principal, true);
}

/** Which records the condition has this verdict on. A query has no templates, so its principal is undefined. */
export function decideCondition(condition: Condition, principal: SignedIn | undefined, verdict: boolean): Decision {
  switch (condition.kind) {
    case 'and':
      return joinParts(verdict ? 'and' : 'or', condition.parts, principal, verdict);
    case 'or':
      return joinParts(verdict ? 'or' : 'and', condition.parts, principal, verdict);
    case 'nor':
      return joinParts(verdict ? 'and' : 'or', condition.parts, principal, !verdict);
    case 'user':
      return evaluateUserCondition(condition, principal) === verdict;
    case 'field':
      return decideTest(condition.path, condition.test, principal, verdict);
  }
}

// One true part decides an "or", one false part an "and". Parts that are the other constant change nothing.
function joinParts(
  kind: 'and' | 'or',
  conditions: readonly Condition[],
  principal: SignedIn | undefined,
  verdict: boolean,
): Decision {
  const deciding = kind === 'or';
  const parts: RecordFilter[] = [];
  for (const condition of conditions) {
    const decision = decideCondition(condition, principal, verdict);
    if (decision === deciding) return deciding;
    if (typeof decision === 'boolean') continue;
    if (decision.kind === kind) parts.push(...decision.parts);
    else parts.push(decision);
  }
  const [first] = parts;
  if (first === undefined) return !deciding;
  return parts.length === 1 ? first : { kind, parts };
}

// `false` where an operand is unknown: such a test is neither true nor false on any record.
function decideTest(path: Path, test: Test, principal: SignedIn | undefined, verdict: boolean): Decision {
  const filter = (check: Check): RecordFilter => ({ kind: verdict ? 'passes' : 'fails', path, check });
  switch (test.op) {
    case 'eq': {
      const value = resolveOperand(test.operand, principal);
      return value !== undefined && filter({ op: 'eq', value });
    }
    case 'in':
    case 'all': {
      const values = test.operands
        .map((operand) => resolveOperand(operand, principal))
        .filter((value) => value !== undefined);
      // `in` is true if one known value matches, and false only if all are known and none matches. `all` is the reverse.
      const needsAllKnown = verdict === (test.op === 'all');
      const isImpossible = needsAllKnown ? values.length < test.operands.length : values.length === 0;
      return !isImpossible && filter({ op: test.op, values });
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const value = resolveOperand(test.operand, principal);
      if (value === undefined) return false;
      // Only numbers and texts have an order: compared with anything else, the test is false on every record.
      return typeof value === 'number' || typeof value === 'string' ? filter({ op: test.op, value }) : !verdict;
    }
    case 'some': {
      const element = decideCondition(test.condition, principal, verdict);
      if (element === !verdict) return !verdict;
      // "False for some element" is "every element has the verdict false".
      return { kind: 'passes', path, check: { op: verdict ? 'some' : 'every', element } };
    }
    default:
      return filter(test);
  }
}

interface Equality {
  /** As rules name it: `created_by`, `data.state`. */
  readonly field: string;
  readonly value: string | number | boolean;
}

/** What every allowed record is equal to. The store looks for an index by these (records/store/list.ts). */
export const listEqualities = (rule: Rule, principal: Principal): Equality[] =>
  findEqualities(decideRule(rule, principal));

/** A field may also be an array that contains the value. */
export function findEqualities(decision: Decision): Equality[] {
  if (typeof decision === 'boolean') return [];
  const parts = decision.kind === 'and' ? decision.parts : [decision];
  return parts.flatMap((part) => {
    if (part.kind !== 'passes' || part.check.op !== 'eq') return [];
    const { value } = part.check;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return [];
    return [{ field: formatPath(part.path), value }];
  });
}
