// The HTTP routes for spending ceilings.
import { readCredentials, sessionOrToken } from '../../../core/auth/credentials.ts';
import { unlimitedToken, workspaceAs } from '../../../core/auth/guards/workspace.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { type CeilingDeps, getCeilings, putCeilings } from './ceiling.ts';
import { Ceilings, CeilingsChange } from './contract.ts';

const path = '/api/workspace/ads-ceilings';

export const ceilingRoutes = (deps: CeilingDeps): Route[] => [
  route({
    name: 'getAdsCeilings',
    method: 'GET',
    path,
    summary: 'Read how much app editors may have campaigns spend a day',
    credentials: readCredentials,
    access: workspaceAs('viewer'),
    limit: perMinute(60, 'workspace'),
    answers: { 200: Ceilings },
    handle: ({ db, access }) => getCeilings(db, deps, access),
  }),
  route({
    name: 'putAdsCeilings',
    method: 'PUT',
    path,
    summary: 'Set how much app editors may have campaigns spend a day',
    description: 'Running campaigns continue, whatever their budgets.',
    credentials: sessionOrToken,
    access: unlimitedToken(workspaceAs('owner')),
    limit: perMinute(10, 'workspace'),
    body: CeilingsChange,
    audits: { sometimes: ['ads.ceilings.changed'] },
    repeat: 'safe',
    answers: { 200: Ceilings },
    refusals: [{ status: 400, code: 'currency_unsupported' }],
    handle: ({ db, access, body, now }) => putCeilings(db, deps, access, body, now),
  }),
];
