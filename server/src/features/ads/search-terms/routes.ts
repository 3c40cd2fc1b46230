// Owns the HTTP contract of the report of search terms.
import { z } from 'zod';
import { readCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { appAs } from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { SearchTermQuery, SearchTermRow } from './contract.ts';
import { getSearchTerms, type ReportDeps } from './report.ts';

export const searchTermRoutes = (deps: ReportDeps): Route[] => [
  route({
    name: 'getSearchTerms',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/analytics/search-terms',
    summary: "List what people searched for when they saw an app's ads",
    description:
      'At most 100 rows, highest impressions first. `X-Date-Range` says which days of the account’s time zone the report covers. `X-Partial-Result` names the kinds of campaigns that could not be read: `search`, `performance_max`, `smart`. Without an account the list is empty.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    work: 'outside',
    heldSeconds: 20,
    query: SearchTermQuery,
    headers: ['X-Date-Range', 'X-Truncated'],
    answers: { 200: z.array(SearchTermRow) },
    refusals: [
      { status: 400, code: 'date_range_incomplete' },
      { status: 400, code: 'date_range_reversed' },
      { status: 503, code: 'ad_platform_unavailable' },
    ],
    handle: ({ db, access, query, now }) => getSearchTerms(db, deps, access, query, now),
  }),
];
