// Proves that a rule allows nothing that another rule denies, for any caller and any record. Every test is
// treated as independently true, false or unknown, so only the way the rules combine tests matters. This proves
// rewrites (a different order, De Morgan's laws, `$in` for `$or`) and added conditions. It does not prove that `level >
// 5` implies `level > 3`, which is left to the search by values (openings.ts).
import type { StepBudget } from '../budget.ts';
import type { Condition, Operand, OperandList, Rule, UserCondition } from '../rule.ts';
import { type Formula, findAssignment } from './search.ts';
import { findCandidate, type ValueContext } from './values.ts';

/** Equal strings mean equal rules. */
export const toRuleText = (rule: Rule): string =>
  JSON.stringify(rule, (_key, value: unknown) => (value instanceof Set ? [...value] : value));

/** Throws StepBudgetExceeded if the proof takes too many steps. */
export function isImplied(allowed: Rule, by: Rule, budget: StepBudget): boolean {
  if (by === 'nobody' || allowed === 'everyone') return true;
  // Anonymous callers meet no conditions.
  if (allowed === 'signed_in' && typeof by !== 'string') return true;
  if (typeof allowed === 'string' || typeof by === 'string') return false;
  const context: ValueContext = { budget, doubt: { isRaised: false }, findObject: () => undefined };
  const formulas = [toFormula(by, 'true'), toFormula(allowed, 'not_true')];
  return (
    findAssignment(formulas, (_variable, wanted) => findCandidate(verdicts, wanted, context), budget) === undefined
  );
}

const verdicts = ['true', 'false', 'unknown'];

/** The result that a condition should have. */
type Wanted = keyof typeof opposites;

/** The result that a condition must have for its negation to have the wanted result. */
const opposites = { true: 'false', false: 'true', not_true: 'not_false', not_false: 'not_true' } as const;

const allowedVerdicts: Readonly<Record<Wanted, ReadonlySet<string>>> = {
  true: new Set(['true']),
  false: new Set(['false']),
  not_true: new Set(['false', 'unknown']),
  not_false: new Set(['true', 'unknown']),
};

function toFormula(condition: Condition, wanted: Wanted): Formula {
  switch (condition.kind) {
    case 'and':
      return join(condition.parts, wanted, wanted === 'true' || wanted === 'not_false');
    case 'or':
      return join(condition.parts, wanted, wanted === 'false' || wanted === 'not_true');
    case 'nor':
      return toFormula({ kind: 'or', parts: condition.parts }, opposites[wanted]);
    case 'user':
      return isAboutEveryUser(condition) ? wanted === 'true' || wanted === 'not_false' : toLeaf(condition, wanted);
    case 'field': {
      const { test, path } = condition;
      if (test.op !== 'in' && test.op !== 'all') return toLeaf(condition, wanted);
      const parts = listAll(test.operands).map(
        (operand): Condition => ({
          kind: 'field',
          path,
          test: { op: 'eq', operand },
        }),
      );
      return toFormula({ kind: test.op === 'in' ? 'or' : 'and', parts }, wanted);
    }
  }
}

/** A user's id always equals itself, so the condition is true for every user. */
const isAboutEveryUser = ({ attribute, operand }: UserCondition): boolean =>
  attribute.builtIn === 'id' && operand.kind === 'attribute' && operand.attribute.builtIn === 'id';

const join = (parts: readonly Condition[], wanted: Wanted, needsAll: boolean): Formula => ({
  kind: needsAll ? 'and' : 'or',
  parts: parts.map((part) => toFormula(part, wanted)),
});

const listAll = ({ scalars, others }: OperandList): Operand[] => [
  ...[...scalars].map((value): Operand => ({ kind: 'value', value })),
  ...others,
];

const toLeaf = (condition: Condition, wanted: Wanted): Formula => ({
  kind: 'leaf',
  variable: toRuleText(condition),
  literal: { names: [], test: { op: 'in', operands: { scalars: allowedVerdicts[wanted], others: [] } }, wanted: true },
});
