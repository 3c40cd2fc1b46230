// Owns the schemas of the report of search terms as a caller sees it (docs/api/ads.md#search-terms).
import { z } from 'zod';
import { answer, count, oneOf, query } from '../../../kit/http/shapes.ts';
import { parseTime } from '../../../kit/text.ts';
import { datePresets } from './dates.ts';

const day = z
  .string()
  .refine((value) => /^\d{4}-\d\d-\d\d$/.test(value) && parseTime(`${value}T00:00:00Z`) !== undefined, {
    params: { type: 'date_parsing' },
    error: 'must be a date such as 2026-11-16',
  })
  .meta({ format: 'date' });

export const SearchTermQuery = query({
  date_range: oneOf(...datePresets).optional(),
  start_date: day.optional(),
  end_date: day.optional(),
});
export type SearchTermQuery = z.output<typeof SearchTermQuery>;

export const SearchTermRow = answer('SearchTermRow', {
  search_term: z.string(),
  campaign: z.string(),
  impressions: count,
  clicks: count,
  cost_micros: count,
  conversions: z.number(),
});
export type SearchTermRow = z.input<typeof SearchTermRow>;
