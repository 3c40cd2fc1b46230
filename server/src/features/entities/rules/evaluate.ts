// Owns deciding rules and queries in the process: three-valued, on one record at a time. `sql.ts` must agree with it.
import type { Principal, SignedIn } from '../../../core/auth/principal.ts';
import { attributeOf, resolve } from './operand.ts';
import type { Comparator, Condition, Place, Rule, Subject, Test, UserCondition, Verdict } from './rule.ts';
import { compareCodePoints, isObject, isOrHolds, valueAt } from './values.ts';

/** What a rule says of a record to whom; only true allows. */
export function evaluate(rule: Rule, who: Principal, record: Subject): Verdict {
  if (rule === 'everyone') return true;
  if (rule === 'nobody' || who.kind === 'anonymous') return false;
  if (rule === 'missing') return true;
  return judge(rule, { who, record, data: record.data });
}

/** What a condition looks at. In `$elemMatch` the data is the element. */
export interface View {
  /** A query names no attributes, so it may be asked by nobody. */
  readonly who: SignedIn | undefined;
  readonly record: Subject;
  readonly data: Readonly<Record<string, unknown>>;
  /** Whether the value at a place may be seen; what may not is missing. */
  readonly sees?: (names: readonly string[]) => boolean;
}

export function judge(condition: Condition, view: View): Verdict {
  switch (condition.kind) {
    case 'and':
      return all(condition.parts, view);
    case 'or':
      return any(condition.parts, view);
    case 'nor':
      return negate(any(condition.parts, view));
    case 'user':
      return judgeUser(condition, view.who);
    case 'field':
      return judgeTest(condition.test, seen(condition.place, view), view);
  }
}

function all(parts: readonly Condition[], view: View): Verdict {
  let verdict: Verdict = true;
  for (const part of parts) {
    const each = judge(part, view);
    if (each === false) return false;
    if (each === null) verdict = null;
  }
  return verdict;
}

function any(parts: readonly Condition[], view: View): Verdict {
  let verdict: Verdict = false;
  for (const part of parts) {
    const each = judge(part, view);
    if (each === true) return true;
    if (each === null) verdict = null;
  }
  return verdict;
}

const negate = (verdict: Verdict): Verdict => (verdict === null ? null : !verdict);

function seen(place: Place, view: View): unknown {
  if (place.column !== undefined) return view.record[place.column];
  return view.sees === undefined || view.sees(place.names) ? valueAt(view.data, place.names) : undefined;
}

export function judgeUser({ attribute, operand }: UserCondition, who: SignedIn | undefined): Verdict {
  const value = attributeOf(who, attribute);
  const wanted = resolve(operand, who);
  return value === undefined || wanted === undefined ? null : isOrHolds(value, wanted);
}

function judgeTest(test: Test, value: unknown, view: View): Verdict {
  switch (test.op) {
    case 'eq': {
      const wanted = resolve(test.operand, view.who);
      return wanted === undefined ? null : isOrHolds(value, wanted);
    }
    case 'in': {
      let verdict: Verdict = false;
      for (const operand of test.operands) {
        const wanted = resolve(operand, view.who);
        if (wanted === undefined) verdict = null;
        else if (isOrHolds(value, wanted)) return true;
      }
      return verdict;
    }
    case 'all': {
      let verdict: Verdict = true;
      for (const operand of test.operands) {
        const wanted = resolve(operand, view.who);
        if (wanted === undefined) verdict = null;
        else if (!isOrHolds(value, wanted)) return false;
      }
      return verdict;
    }
    case 'exists':
      return value !== undefined && value !== null;
    case 'size':
      return Array.isArray(value) && value.length === test.length;
    case 'some':
      return judgeSome(test.condition, value, view);
    case 'contains':
      return typeof value === 'string' && value.toLowerCase().includes(test.text.toLowerCase());
    case 'startsWith':
      return typeof value === 'string' && value.startsWith(test.text);
    default: {
      const wanted = resolve(test.operand, view.who);
      return wanted === undefined ? null : isInOrder(test.op, value, wanted);
    }
  }
}

function judgeSome(condition: Condition, value: unknown, { who, record }: View): Verdict {
  if (!Array.isArray(value)) return false;
  let verdict: Verdict = false;
  for (const data of value) {
    const each = isObject(data) && judge(condition, { who, record, data });
    if (each === true) return true;
    if (each === null) verdict = null;
  }
  return verdict;
}

// Numbers with numbers and texts with texts; any other pair is in no order.
function isInOrder(op: Comparator, value: unknown, wanted: unknown): boolean {
  const order =
    typeof value === 'number' && typeof wanted === 'number'
      ? value - wanted
      : typeof value === 'string' && typeof wanted === 'string'
        ? compareCodePoints(value, wanted)
        : undefined;
  if (order === undefined) return false;
  if (op === 'gt') return order > 0;
  if (op === 'gte') return order >= 0;
  return op === 'lt' ? order < 0 : order <= 0;
}
