// The API schemas for the search term report (docs/api/ads.md#search-terms).
import { z } from 'zod';
import { answer, count, described, oneOf, query } from '../../../kit/http/shapes.ts';
import { parseTime } from '../../../kit/text.ts';
import { datePresets } from '../rules/dates.ts';

const day = z
  .string()
  .refine((value) => /^\d{4}-\d\d-\d\d$/.test(value) && parseTime(`${value}T00:00:00Z`) !== undefined, {
    params: { type: 'date_parsing' },
    error: 'must be a date such as 2026-11-16',
  })
  .meta({ format: 'date' });

export const SearchTermQuery = query({
  date_range: described(
    oneOf(...datePresets).optional(),
    'The days of the report, `LAST_30_DAYS` by default. Ignored if dates are sent. See docs/api/ads.md#search-terms.',
  ),
  start_date: described(day.optional(), 'The first day of the report. Requires `end_date`.', '2026-10-01'),
  end_date: described(day.optional(), 'The last day of the report. Requires `start_date`.', '2026-10-31'),
});
export type SearchTermQuery = z.output<typeof SearchTermQuery>;

export const SearchTermRow = answer('SearchTermRow', {
  search_term: described(z.string(), 'The search term that people entered.', 'flower delivery'),
  campaign: described(z.string(), 'The name of the campaign.', 'Spring flowers'),
  impressions: described(count, 'How often an ad was shown.', 1204),
  clicks: described(count, 'How often an ad was clicked.', 61),
  cost_micros: described(count, "The cost of the ads, in millionths of the account's currency unit.", 23180000),
  conversions: described(z.number(), 'How many conversions followed. The ad platform may report fractions.', 3),
});
export type SearchTermRow = z.input<typeof SearchTermRow>;
