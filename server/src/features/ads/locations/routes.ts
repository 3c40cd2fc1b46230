// The HTTP routes for locations.
import { z } from 'zod';
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { Location, LocationQuery } from './contract.ts';
import { findGeoTargets } from './search.ts';

export const locationRoutes = (): Route[] => [
  route({
    name: 'searchGeoTargets',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/geo-targets/search',
    summary: 'Search the locations that ads can be shown in, best match first',
    description:
      'Case and accents make no difference. A query of one or two characters finds only names that begin with it; an empty query returns the locations with the largest reach. No advertising account is needed.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(300, 'caller'),
    query: LocationQuery,
    answers: { 200: z.array(Location) },
    handle: ({ db, query }) => findGeoTargets(db, query),
  }),
];
