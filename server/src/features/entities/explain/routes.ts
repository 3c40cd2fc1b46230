// Owns the route that explains rules.
import { appDataAs } from '../../../core/auth/app-data-guard.ts';
import { readCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { ExplainBody, Explanation } from '../contract.ts';
import { entityGuard } from '../records/routes.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import { explainRules } from './explain.ts';

export const explainRoutes = ({ findEntity }: { readonly findEntity: FindEntity }): Route[] => [
  route({
    name: 'explainRules',
    effect: 'read',
    headers: ['X-Truncated', 'X-Warning'],
    method: 'POST',
    path: '/api/apps/{app_id}/entity-schemas/{entity_name}/rules/explain',
    summary: 'Explain what the rules decide about a record: which clauses decide, and what would allow it',
    description:
      'For the caller, or for whom `as` names; about a stored record (`record_id`) or a proposed one (`record`). Performs nothing. Values that the caller may not read are `•`, and what depends on them is `hidden`.',
    credentials: readCredentials,
    access: entityGuard(appDataAs('editor'), findEntity),
    limit: perMinute(60, 'caller'),
    body: ExplainBody,
    audits: 'nothing',
    answers: { 200: Explanation },
    refusals: [
      { status: 403, code: 'read_only_credential_route_not_allowed' },
      { status: 404, code: 'record_not_found' },
      { status: 404, code: 'app_user_not_found' },
      { status: 404, code: 'member_not_found' },
      { status: 409, code: 'rule_too_expensive' },
    ],
    handle: ({ db, access, body, now }) => explainRules(db, access, body, now),
  }),
];
