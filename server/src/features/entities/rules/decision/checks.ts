// Checks an entity's rules during one request. Decides each rule once and evaluates it once per record, all
// within a single step budget.
import type { AppPrincipal, Principal } from '../../../../core/auth/principal.ts';
import { Problem } from '../../../../kit/problem.ts';
import { newStepBudget, type StepBudget, StepBudgetExceeded } from '../budget.ts';
import type { Rules } from '../grammar.ts';
import type { DataRecord, Rule } from '../rule.ts';
import { type Decision, decideRule } from './decide.ts';
import { evaluate, evaluateConstant } from './evaluate.ts';

export type RuleOperation = keyof Rules;

export interface RuleChecks {
  /** Whether the rule allows the operation on the record. */
  allows(rule: Rule, operation: RuleOperation, record: DataRecord): boolean;
  /** Decides which records the rule allows. */
  decide(rule: Rule, operation: RuleOperation): Decision;
  /** Runs other work within the budget. If the budget is exceeded, the error names the operation. */
  withinBudget<T>(operation: RuleOperation, work: (budget: StepBudget) => T): T;
}

export function newRuleChecks(entityName: string, principal: Principal | AppPrincipal): RuleChecks {
  const budget = newStepBudget();
  // Weak references let a request that works in batches release the records from earlier batches.
  const verdicts = new WeakMap<DataRecord, Map<Rule, boolean>>();
  const decisions = new Map<Rule, Decision>();

  const withinBudget: RuleChecks['withinBudget'] = (operation, work) => {
    try {
      return work(budget);
    } catch (error) {
      throw error instanceof StepBudgetExceeded ? ruleTooExpensive(entityName, operation) : error;
    }
  };
  if (principal.kind === 'app') return { withinBudget, decide: () => true, allows: () => true };
  return {
    withinBudget,
    decide(rule, operation) {
      const known = decisions.get(rule);
      if (known !== undefined) return known;
      const decision = withinBudget(operation, (budget) => decideRule(rule, principal, budget));
      decisions.set(rule, decision);
      return decision;
    },
    allows(rule, operation, record) {
      if (typeof rule === 'string') return evaluateConstant(rule, principal);
      const known = verdicts.get(record)?.get(rule);
      if (known !== undefined) return known;
      const verdict = withinBudget(operation, (budget) => evaluate(rule, principal, record, budget)) === true;
      const ofRecord = verdicts.get(record);
      if (ofRecord === undefined) verdicts.set(record, new Map([[rule, verdict]]));
      else ofRecord.set(rule, verdict);
      return verdict;
    },
  };
}

/** Whether the error means that the rules took too many steps. */
export const isRuleTooExpensive = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'rule_too_expensive';

const ruleTooExpensive = (entity_name: string, operation: RuleOperation) =>
  new Problem(
    'conflict',
    'rule_too_expensive',
    "Evaluating this entity's rules takes too many steps for one request. Send or request fewer records, or simplify this operation's rules.",
    { members: { entity_name, operation }, retrySafe: false },
  );
