// Evaluates rules and queries on one record in the process, using three-valued logic. The results must agree with
// the SQL from sql/sql.ts, which agreement.test.ts checks with random cases.
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { countSearchSteps, countTextSteps, type StepBudget, spendSteps } from '../budget.ts';
import { readAttribute, resolveOperand } from '../operand.ts';
import type {
  Comparator,
  Condition,
  ConstantRule,
  DataRecord,
  Path,
  Rule,
  Test,
  UserCondition,
  Verdict,
} from '../rule.ts';
import { compareCodePoints, equalsOrContains, findValue, includesAll, isObject, isOneOf } from '../values.ts';

/** The rule's verdict on a record for a principal. Only true allows the operation. Throws StepBudgetExceeded. */
export function evaluate(rule: Rule, principal: Principal, record: DataRecord, budget: StepBudget): Verdict {
  if (typeof rule === 'string') return evaluateConstant(rule, principal);
  if (principal.kind === 'anonymous') return false;
  return evaluateCondition(rule, { principal, record, data: record.data, budget });
}

export function evaluateConstant(rule: ConstantRule, principal: Principal): boolean {
  switch (rule) {
    case 'missing':
      return principal.isManager;
    case 'everyone':
      return true;
    case 'signed_in':
      return principal.kind === 'signed_in';
    case 'nobody':
      return false;
  }
}

export interface EvaluationContext {
  /** Undefined for queries, which have no templates. */
  readonly principal: SignedIn | undefined;
  readonly record: DataRecord;
  /** The record's data or, inside `$elemMatch`, the element. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly budget: StepBudget;
  /** Whether the principal may read the value at a path. An unreadable value is treated as missing. */
  readonly isVisible?: (names: readonly string[]) => boolean;
}

export function evaluateCondition(condition: Condition, context: EvaluationContext): Verdict {
  spendSteps(context.budget, 1);
  switch (condition.kind) {
    case 'and':
      return evaluateAnd(condition.parts, context);
    case 'or':
      return evaluateOr(condition.parts, context);
    case 'nor':
      return negate(evaluateOr(condition.parts, context));
    case 'user':
      return evaluateUserCondition(condition, context.principal, context.budget);
    case 'field':
      return evaluateTest(condition.test, readValue(condition.path, context), context);
  }
}

function evaluateAnd(parts: readonly Condition[], context: EvaluationContext): Verdict {
  let verdict: Verdict = true;
  for (const part of parts) {
    const each = evaluateCondition(part, context);
    if (each === false) return false;
    if (each === null) verdict = null;
  }
  return verdict;
}

function evaluateOr(parts: readonly Condition[], context: EvaluationContext): Verdict {
  let verdict: Verdict = false;
  for (const part of parts) {
    const each = evaluateCondition(part, context);
    if (each === true) return true;
    if (each === null) verdict = null;
  }
  return verdict;
}

const negate = (verdict: Verdict): Verdict => (verdict === null ? null : !verdict);

function readValue(path: Path, context: EvaluationContext): unknown {
  if (path.column !== undefined) return context.record[path.column];
  return context.isVisible === undefined || context.isVisible(path.names)
    ? findValue(context.data, path.names)
    : undefined;
}

export function evaluateUserCondition(
  { attribute, operand }: UserCondition,
  principal: SignedIn | undefined,
  budget?: StepBudget,
): Verdict {
  const value = readAttribute(principal, attribute);
  const wanted = resolveOperand(operand, principal, budget);
  return value === undefined || wanted === undefined ? null : equalsOrContains(value, wanted, budget);
}

function evaluateTest(test: Test, value: unknown, context: EvaluationContext): Verdict {
  const { principal, budget } = context;
  switch (test.op) {
    case 'eq': {
      const wanted = resolveOperand(test.operand, principal, budget);
      return wanted === undefined ? null : equalsOrContains(value, wanted, budget);
    }
    case 'in': {
      if (isOneOf(value, test.operands.scalars, budget)) return true;
      let verdict: Verdict = false;
      for (const operand of test.operands.others) {
        const wanted = resolveOperand(operand, principal, budget);
        if (wanted === undefined) verdict = null;
        else if (equalsOrContains(value, wanted, budget)) return true;
      }
      return verdict;
    }
    case 'all': {
      if (!includesAll(value, test.operands.scalars, budget)) return false;
      let verdict: Verdict = true;
      for (const operand of test.operands.others) {
        const wanted = resolveOperand(operand, principal, budget);
        if (wanted === undefined) verdict = null;
        else if (!equalsOrContains(value, wanted, budget)) return false;
      }
      return verdict;
    }
    case 'exists':
      return value !== undefined && value !== null;
    case 'size':
      return Array.isArray(value) && value.length === test.length;
    case 'some':
      return evaluateElemMatch(test.condition, value, context);
    case 'contains':
      if (typeof value !== 'string') return false;
      spendSteps(budget, countSearchSteps(value.length, test.text.length));
      return value.toLowerCase().includes(test.text.toLowerCase());
    case 'startsWith':
      spendSteps(budget, countTextSteps(test.text.length));
      return typeof value === 'string' && value.startsWith(test.text);
    default: {
      const wanted = resolveOperand(test.operand, principal, budget);
      return wanted === undefined ? null : isComparisonMet(test.op, value, wanted, budget);
    }
  }
}

function evaluateElemMatch(condition: Condition, value: unknown, context: EvaluationContext): Verdict {
  if (!Array.isArray(value)) return false;
  const { principal, record, budget } = context;
  spendSteps(budget, value.length);
  let verdict: Verdict = false;
  for (const data of value) {
    const each = isObject(data) && evaluateCondition(condition, { principal, record, data, budget });
    if (each === true) return true;
    if (each === null) verdict = null;
  }
  return verdict;
}

// Only two numbers or two strings have an order. For any other pair, all four comparisons are false.
function isComparisonMet(op: Comparator, value: unknown, wanted: unknown, budget: StepBudget): boolean {
  const order =
    typeof value === 'number' && typeof wanted === 'number'
      ? value - wanted
      : typeof value === 'string' && typeof wanted === 'string'
        ? compareCodePoints(value, wanted, budget)
        : undefined;
  if (order === undefined) return false;
  if (op === 'gt') return order > 0;
  if (op === 'gte') return order >= 0;
  return op === 'lt' ? order < 0 : order <= 0;
}
