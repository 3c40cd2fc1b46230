// Owns the HTTP contract of budget bounds.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { appAs } from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { getBudgetBoundaries } from './boundaries.ts';
import { BudgetBoundaries, BudgetQuery } from './contract.ts';

export const budgetRoutes = (): Route[] => [
  route({
    name: 'getBudgetBoundaries',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/campaigns/budget-boundaries',
    summary: 'Read how small and how large the daily budget of a campaign may be',
    description: 'Needs no advertising account. The ad platform may have a higher minimum of its own.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    query: BudgetQuery,
    answers: { 200: BudgetBoundaries },
    refusals: [{ status: 400, code: 'currency_unsupported' }],
    handle: ({ query }) => getBudgetBoundaries(query),
  }),
];
