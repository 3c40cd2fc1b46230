// The bounds of a daily budget, in micros (millionths of a currency unit).
import { Problem } from '../../../kit/problem.ts';
import type { BudgetQuery } from './contract.ts';
import { budgets, isCurrency } from './table.ts';

/** Unknown currencies are refused, because another currency's bounds could be wrong by a factor of up to 1,000. */
export function getBudgetBoundaries({ currency_code, campaign_type }: BudgetQuery) {
  if (!isCurrency(currency_code)) throw currencyUnsupported();
  const { min, max, step } = budgets[currency_code];
  return {
    currency_code,
    campaign_type,
    min_daily_budget_micros: toMicros(min[campaign_type]),
    max_daily_budget_micros: toMicros(max),
    step_micros: toMicros(step),
  };
}

export const currencyUnsupported = () =>
  new Problem(
    'bad_request',
    'currency_unsupported',
    "Campaign budgets can't use this currency. Use one of the currencies listed in `supported`.",
    { members: { supported: Object.keys(budgets) } },
  );

const toMicros = (units: number): number => Math.round(units * 1_000_000);
