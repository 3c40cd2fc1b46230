// Owns the shapes of locations that a caller sees (docs/api/ads.md#locations).
import { z } from 'zod';
import { answer, count, pattern, query, queryInteger, unstoredText } from '../../../kit/http/shapes.ts';
import type { FoundLocation } from '../store/locations.ts';

export const LocationQuery = query({
  query: unstoredText(0, 256).default(''),
  country_code: pattern(/^([A-Za-z]{2})?$/, 2).default(''),
  limit: queryInteger(1, 100).default(10),
});
export type LocationQuery = z.output<typeof LocationQuery>;

export const Location = answer('Location', {
  resource_name: z.string(),
  name: z.string(),
  canonical_name: z.string(),
  country_code: z.string(),
  target_type: z.string(),
  reach: count,
  search_term: z.string(),
});

export const presentLocation = ({ id, ...location }: FoundLocation, search_term: string): z.input<typeof Location> => ({
  resource_name: `geoTargetConstants/${id}`,
  ...location,
  search_term,
});
