// Owns the bounds of a daily budget, in micros: millionths of a currency's unit.
import { Problem } from '../../../kit/problem.ts';
import type { BudgetQuery } from './contract.ts';
import { budgets, isCurrency } from './table.ts';

/** Another currency's bounds would be wrong by a factor of up to 1,000, so that an unknown currency is refused. */
export function getBudgetBoundaries({ currency_code, campaign_type }: BudgetQuery) {
  if (!isCurrency(currency_code))
    throw new Problem(
      'bad_request',
      'currency_unsupported',
      "Campaigns can't have a budget in this currency. Use one of those in `supported`.",
      { members: { supported: Object.keys(budgets) } },
    );
  const { min, max, step } = budgets[currency_code];
  return {
    currency_code,
    campaign_type,
    min_daily_budget_micros: toMicros(min[campaign_type]),
    max_daily_budget_micros: toMicros(max),
    step_micros: toMicros(step),
  };
}

const toMicros = (units: number): number => Math.round(units * 1_000_000);
