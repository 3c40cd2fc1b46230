// The API schemas for locations (docs/api/ads.md#locations).
import { z } from 'zod';
import { answer, count, described, pattern, query, queryInteger, unstoredText } from '../../../kit/http/shapes.ts';
import type { FoundLocation } from '../store/locations.ts';

export const LocationQuery = query({
  query: described(
    unstoredText(0, 256).default(''),
    'The name of a location, optionally with its region or country.',
    'münchen',
  ),
  country_code: described(
    pattern(/^([A-Za-z]{2})?$/, 2).default(''),
    'The country to search, as an ISO 3166-1 alpha-2 code; empty for all countries.',
    'DE',
  ),
  limit: described(queryInteger(1, 100).default(10), 'The maximum number of locations to return.', 10),
});
export type LocationQuery = z.output<typeof LocationQuery>;

export const Location = answer('Location', {
  resource_name: described(z.string(), 'The id to send in `geo_targets`.', 'geoTargetConstants/2867714'),
  name: described(z.string(), 'The name of the location.', 'Munich'),
  canonical_name: described(
    z.string(),
    'The full name of the location, with its region and country.',
    'Munich,Bavaria,Germany',
  ),
  country_code: described(
    z.string(),
    'The country of the location, as an ISO 3166-1 alpha-2 code; empty if it is in none.',
    'DE',
  ),
  target_type: described(z.string(), 'The type of the location, such as `City`, `Region` or `Country`.', 'City'),
  reach: described(count, 'The estimated population of the location; 0 if unknown.', 1260391),
  search_term: described(z.string(), 'The query as it was sent.', 'münchen'),
});

export const presentLocation = ({ id, ...location }: FoundLocation, search_term: string): z.input<typeof Location> => ({
  resource_name: `geoTargetConstants/${id}`,
  ...location,
  search_term,
});
