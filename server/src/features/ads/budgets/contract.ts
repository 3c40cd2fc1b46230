// The API schemas for budget bounds (docs/api/ads.md#budgets).
import { z } from 'zod';
import { answer, count, described, query, unstoredText } from '../../../kit/http/shapes.ts';
import { campaignTypes } from './table.ts';

export const BudgetQuery = query({
  currency_code: described(unstoredText(1, 64), 'The currency, as an ISO 4217 code.', 'EUR'),
  campaign_type: described(z.enum(campaignTypes).default('PERFORMANCE_MAX'), 'The type of the campaign.', 'SMART'),
});
export type BudgetQuery = z.output<typeof BudgetQuery>;

export const BudgetBoundaries = answer('BudgetBoundaries', {
  currency_code: described(z.string(), 'The currency, as an ISO 4217 code.', 'EUR'),
  campaign_type: described(z.enum(campaignTypes), 'The type of the campaign.'),
  min_daily_budget_micros: described(
    count,
    'The smallest daily budget, in millionths of the currency unit.',
    5_000_000,
  ),
  max_daily_budget_micros: described(
    count,
    'The largest daily budget, in millionths of the currency unit.',
    10_000_000_000,
  ),
  step_micros: described(count, 'Daily budgets must be multiples of this amount.', 10_000),
});
