// The HTTP routes for the search term report.
import { z } from 'zod';
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
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
      "Returns at most 100 rows, most impressions first. `X-Date-Range` contains the days that the report covers, in the account's time zone. `X-Partial-Result` names the kinds of campaigns that could not be read: `search`, `performance_max` or `smart`. Without an advertising account, the list is empty.",
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
