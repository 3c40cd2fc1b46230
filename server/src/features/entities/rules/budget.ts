// Owns the step budget of a request: how much work the evaluation of rules and queries in the process may be. A step is a
// visited condition, a compared value or a looked-up element. Steps are counted, not time, so that the same request on
// the same records has the same answer on every machine (docs/api/rules.md#limits).

export interface StepBudget {
  /** How many steps are left. */
  steps: number;
}

// A step takes up to 50 nanoseconds of CPU, so these take at most about 100 milliseconds. A page of 1,000 records under 20
// field rules of 10 tests each takes 400,000 steps.
const maxSteps = 2_000_000;

export const newStepBudget = (): StepBudget => ({ steps: maxSteps });

export class StepBudgetExceeded extends Error {}

/** Throws StepBudgetExceeded if fewer steps are left. Without a budget, steps are not counted. */
export function spendSteps(budget: StepBudget | undefined, steps: number): void {
  if (budget === undefined) return;
  budget.steps -= steps;
  if (budget.steps < 0) throw new StepBudgetExceeded('the step budget of the request is exceeded');
}

/** The steps of comparing or building a text: one, and one more for every 8 characters. */
export const countTextSteps = (length: number): number => 1 + (length >> 3);

/**
 * The steps of searching a text, whatever its case. JavaScript searches for up to 250 characters in linear time. For more,
 * the time grows with the product of both lengths: 20,000 characters in 250,000 took two seconds.
 */
export function countSearchSteps(length: number, soughtLength: number): number {
  const linear = 1 + ((length + soughtLength) >> 2);
  return soughtLength > 200 ? linear * (soughtLength >> 3) : linear;
}
