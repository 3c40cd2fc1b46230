// The HTTP contract for automations.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import {
  type AutomationRules,
  changeAutomation,
  checkOutside,
  createAutomation,
  deleteAutomation,
} from './automation.ts';
import { Automation, AutomationChange, AutomationQuery, NewAutomation, presentAutomation } from './contract.ts';
import { findAutomation, listAutomations } from './store/automations.ts';

export interface AutomationRouteDeps extends AutomationRules {
  readonly cursors: Cursors;
}

const automationGuard = nestedResource(appAs('editor'), 'automation', findAutomation);
const referenceRefusals = [
  { status: 404, code: 'entity_not_found' },
  { status: 404, code: 'workflow_not_found' },
] as const;

export const automationRoutes = (deps: AutomationRouteDeps): Route[] => [
  route({
    name: 'listAutomations',
    method: 'GET',
    path: '/api/apps/{app_id}/automations',
    summary: 'List the automations of an app, newest first',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller'),
    query: AutomationQuery,
    answers: { 200: items(Automation) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listAutomations', access.app.id, access.caller.credential_id];
      const rows = await listAutomations(db, access, query.limit, deps.cursors.open(query.cursor, binding, now));
      return deps.cursors.page(rows, query.limit, binding, now, presentAutomation, (row) => [row.id]);
    },
  }),
  route({
    name: 'createAutomation',
    method: 'POST',
    path: '/api/apps/{app_id}/automations',
    summary: 'Create an automation, which performs one action when records change or at certain times',
    credentials: writeCredentials,
    access: appAs('editor'),
    plan: 'workflows',
    limit: perMinute(20, 'caller'),
    stores: 1_500,
    work: 'outside',
    idempotency: 'optional',
    body: NewAutomation,
    audits: ['automation.created'],
    answers: { 200: Automation },
    refusals: [...referenceRefusals, { status: 409, code: 'limit_reached' }],
    precheck: ({ access, body }) => checkOutside(deps, access, body),
    handle: ({ db, access, body, now }) => createAutomation(db, access, body, deps, now),
  }),
  route({
    name: 'updateAutomation',
    method: 'PATCH',
    path: '/api/apps/{app_id}/automations/{automation_id}',
    summary: 'Change an automation; fields that are not sent keep their value',
    description: '`is_active: true` resets `consecutive_failures`. `action` and `schedule` are replaced as a whole.',
    credentials: writeCredentials,
    access: automationGuard,
    limit: perMinute(60, 'caller'),
    work: 'outside',
    body: AutomationChange,
    idempotency: 'optional',
    audits: ['automation.updated'],
    answers: { 200: Automation },
    refusals: [
      { status: 402, code: 'plan_required' },
      { status: 404, code: 'automation_not_found' },
      ...referenceRefusals,
    ],
    precheck: ({ access, body }) => checkOutside(deps, access, body),
    handle: ({ db, access, body, now }) => changeAutomation(db, access, body, deps, now),
  }),
  route({
    name: 'deleteAutomation',
    method: 'DELETE',
    path: '/api/apps/{app_id}/automations/{automation_id}',
    summary: 'Delete an automation; its pending runs no longer do anything',
    credentials: writeCredentials,
    access: automationGuard,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['automation.deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deleteAutomation(db, access, now),
  }),
];
