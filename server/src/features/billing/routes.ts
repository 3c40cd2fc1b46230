// The HTTP routes for billing.
import { readCredentials, sessionOrToken } from '../../core/auth/credentials.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type BillingDeps, getBilling, requestCardSetup, startBillingSetup } from './billing.ts';
import { Billing, BillingSetup } from './contract.ts';

export const billingRoutes = (deps: BillingDeps): Route[] => [
  route({
    name: 'getBilling',
    method: 'GET',
    path: '/api/workspace/billing',
    summary: 'Read how the workspace pays for advertising, and whether it is on billing hold',
    credentials: readCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(60, 'workspace'),
    work: 'outside',
    heldSeconds: 45,
    answers: { 200: Billing },
    handle: ({ db, access }) => getBilling(db, deps, access),
  }),
  route({
    name: 'startBillingSetup',
    method: 'POST',
    path: '/api/workspace/billing/setup-session',
    summary: 'Create a page at the payment provider where the owner enters a card',
    credentials: sessionOrToken,
    access: unlimitedToken(workspaceAs('owner')),
    limit: perMinute(10, 'workspace'),
    work: 'outside',
    heldSeconds: 90,
    idempotency: 'optional',
    audits: ['workspace.billing_setup_started'],
    answers: { 200: BillingSetup },
    refusals: [{ status: 503, code: 'payment_provider_unavailable' }],
    precheck: ({ db, access, now }) => requestCardSetup(db, deps, access, now),
    handle: ({ db, access, now }, setup) => startBillingSetup(db, access, setup, now),
  }),
];
