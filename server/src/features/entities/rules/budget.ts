// A request's step budget, which limits the work of evaluating rules and queries in the process. A step is a
// visited condition, a compared value or a looked-up element. The budget counts steps instead of time, so the same
// request on the same records has the same result on every machine (docs/api/rules.md#limits).

export interface StepBudget {
  /** The number of steps left. */
  steps: number;
}

// A step takes up to 50 nanoseconds of CPU time, so this budget lasts for at most about 100 milliseconds. A page of
// 1,000 records with 20 field rules of 10 tests each takes 400,000 steps.
const maxSteps = 2_000_000;

export const newStepBudget = (): StepBudget => ({ steps: maxSteps });

export class StepBudgetExceeded extends Error {}

/** Throws StepBudgetExceeded if fewer steps are left. Without a budget, steps are not counted. */
export function spendSteps(budget: StepBudget | undefined, steps: number): void {
  if (budget === undefined) return;
  budget.steps -= steps;
  if (budget.steps < 0) throw new StepBudgetExceeded('the step budget of the request is exceeded');
}

/** The cost of comparing or building a string: one step, plus one for every 8 characters. */
export const countTextSteps = (length: number): number => 1 + (length >> 3);

/**
 * The cost of a case-insensitive text search. JavaScript searches for strings of up to 250 characters in linear time.
 * For longer strings, the time grows with the product of both lengths. Searching 250,000 characters for a string of
 * 20,000 took two seconds.
 */
export function countSearchSteps(length: number, soughtLength: number): number {
  const linear = 1 + ((length + soughtLength) >> 2);
  return soughtLength > 200 ? linear * (soughtLength >> 3) : linear;
}
