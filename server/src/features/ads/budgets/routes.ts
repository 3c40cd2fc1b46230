// The HTTP routes for budget bounds.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { getBudgetBoundaries } from './boundaries.ts';
import { BudgetBoundaries, BudgetQuery } from './contract.ts';

export const budgetRoutes = (): Route[] => [
  route({
    name: 'getBudgetBoundaries',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/campaigns/budget-boundaries',
    summary: 'Read the smallest and the largest daily budget that a campaign can have',
    description: 'No advertising account is needed. The ad platform may require a higher minimum.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    query: BudgetQuery,
    answers: { 200: BudgetBoundaries },
    refusals: [{ status: 400, code: 'currency_unsupported' }],
    handle: ({ query }) => getBudgetBoundaries(query),
  }),
];
