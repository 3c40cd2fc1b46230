// The route that explains rules.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appDataAs } from '../../../core/auth/guards/app-data.ts';
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
    summary: 'Explain which clauses of the rules allow or deny an operation on a record, and what would allow it',
    description:
      'Explains the decision for the caller, or for the person in `as`, about a stored record (`record_id`) or a proposed one (`record`). The operation is not performed. Values that the caller may not read are `•`, and results that depend on them are `hidden`.',
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
