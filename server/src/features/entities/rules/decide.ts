// Owns what is left of a rule once it is known who asks: attributes, templates and constants are folded away, negations
// stand at the tests. What is left is true exactly where the rule is met; unknown and false are no longer told apart.
import type { Principal, SignedIn } from '../../../core/auth/principal.ts';
import { judgeUser } from './evaluate.ts';
import { resolve } from './operand.ts';
import type { Comparator, Condition, Place, Rule, Test } from './rule.ts';

export type Decided = boolean | Residual;

export type Residual =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Residual[] }
  | { readonly kind: 'is' | 'is_not'; readonly place: Place; readonly check: Check };

export type Check =
  | { readonly op: 'eq'; readonly value: unknown }
  | { readonly op: 'in' | 'all'; readonly values: readonly unknown[] }
  | { readonly op: Comparator; readonly value: number | string }
  | { readonly op: 'some' | 'every'; readonly element: Decided }
  | Extract<Test, { op: 'exists' | 'size' | 'contains' | 'startsWith' }>;

/** `true`: every record; `false`: none; else which records, for this caller. */
export function decidedFor(rule: Rule, who: Principal): Decided {
  if (rule === 'everyone') return true;
  if (rule === 'nobody' || who.kind === 'anonymous') return false;
  return rule === 'missing' || decide(rule, who, true);
}

interface Equality {
  /** As a rule names it: `created_by`, `data.state`. */
  readonly path: string;
  readonly value: string | number | boolean;
}

/** What every record that the rule is met by is equal to: what an index can be driven by. */
export const equalities = (rule: Rule, who: Principal): Equality[] => equalitiesOf(decidedFor(rule, who));

/** The value of a field may also be an array that holds the value. */
export function equalitiesOf(decided: Decided): Equality[] {
  if (typeof decided === 'boolean') return [];
  const parts = decided.kind === 'and' ? decided.parts : [decided];
  return parts.flatMap((part) => {
    if (part.kind !== 'is' || part.check.op !== 'eq') return [];
    const { value } = part.check;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return [];
    return [{ path: part.place.column ?? `data.${part.place.names.join('.')}`, value }];
  });
}

/** Where the condition's verdict is the one wanted. */
export function decide(condition: Condition, who: SignedIn | undefined, wanted: boolean): Decided {
  switch (condition.kind) {
    case 'and':
      return join(wanted ? 'and' : 'or', condition.parts, who, wanted);
    case 'or':
      return join(wanted ? 'or' : 'and', condition.parts, who, wanted);
    case 'nor':
      return join(wanted ? 'and' : 'or', condition.parts, who, !wanted);
    case 'user':
      return judgeUser(condition, who) === wanted;
    case 'field':
      return decideTest(condition.place, condition.test, who, wanted);
  }
}

function join(
  kind: 'and' | 'or',
  conditions: readonly Condition[],
  who: SignedIn | undefined,
  wanted: boolean,
): Decided {
  const settles = kind === 'or';
  const parts: Residual[] = [];
  for (const condition of conditions) {
    const decided = decide(condition, who, wanted);
    if (decided === settles) return settles;
    if (typeof decided === 'boolean') continue;
    if (decided.kind === kind) parts.push(...decided.parts);
    else parts.push(decided);
  }
  const [first] = parts;
  if (first === undefined) return !settles;
  return parts.length === 1 ? first : { kind, parts };
}

function decideTest(place: Place, test: Test, who: SignedIn | undefined, wanted: boolean): Decided {
  const left = (check: Check): Residual => ({ kind: wanted ? 'is' : 'is_not', place, check });
  switch (test.op) {
    case 'eq': {
      const value = resolve(test.operand, who);
      return value !== undefined && left({ op: 'eq', value });
    }
    case 'in':
    case 'all': {
      const values = test.operands.map((operand) => resolve(operand, who)).filter((value) => value !== undefined);
      // One unknown value keeps `in` from being false and `all` from being true; none known keeps from the other.
      const needsAll = wanted === (test.op === 'all');
      const never = needsAll ? values.length < test.operands.length : values.length === 0;
      return !never && left({ op: test.op, values });
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const value = resolve(test.operand, who);
      if (value === undefined) return false;
      return typeof value === 'number' || typeof value === 'string' ? left({ op: test.op, value }) : !wanted;
    }
    case 'some': {
      const element = decide(test.condition, who, wanted);
      if (element === !wanted) return !wanted;
      return { kind: 'is', place, check: { op: wanted ? 'some' : 'every', element } };
    }
    default:
      return left(test);
  }
}
