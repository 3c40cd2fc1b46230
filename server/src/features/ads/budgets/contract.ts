// Owns the schemas of budget bounds as a caller sees them (docs/api/ads.md#budgets).
import { z } from 'zod';
import { answer, count, query, unstoredText } from '../../../kit/http/shapes.ts';
import { campaignTypes } from './table.ts';

export const BudgetQuery = query({
  currency_code: unstoredText(1, 64),
  campaign_type: z.enum(campaignTypes).default('PERFORMANCE_MAX'),
});
export type BudgetQuery = z.output<typeof BudgetQuery>;

export const BudgetBoundaries = answer('BudgetBoundaries', {
  currency_code: z.string(),
  campaign_type: z.enum(campaignTypes),
  min_daily_budget_micros: count,
  max_daily_budget_micros: count,
  step_micros: count,
});
