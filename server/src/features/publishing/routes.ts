// The publishing routes: an app's deployments and its security settings.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import {
  Deployment,
  DeploymentQuery,
  NewDeployment,
  Published,
  presentDeployment,
  SecuritySettings,
  SecuritySettingsChange,
} from './contract.ts';
import { createPublishGate, type PublishDeps, preparePublish, publishApp, unpublishApp } from './publish.ts';
import { getSecuritySettings, type SettingsDeps, setSecuritySettings } from './settings.ts';
import { listDeployments } from './store.ts';

export interface RouteDeps extends PublishDeps, SettingsDeps {
  readonly cursors: Cursors;
}

const deployCredentials = { ...writeCredentials, workspaceKey: 'apps:deploy' } as const;
const limit = perMinute(20, 'caller+app');

export const publishingRoutes = (deps: RouteDeps): Route[] => {
  const gate = createPublishGate();
  return [
    route({
      name: 'publishApp',
      method: 'POST',
      path: '/api/apps/{app_id}/deploy',
      summary: "Publish an app's files, or make an earlier deployment live again",
      description:
        'Publishes the files in `dist`, or else those in `public`. `X-Changed: false` means that they were already live. Visitors see the change within a second.',
      credentials: deployCredentials,
      access: appAs('editor'),
      limit,
      stores: 'measured',
      work: 'outside',
      idempotency: 'optional',
      heldSeconds: 120,
      body: NewDeployment,
      audits: ['app.published'],
      answers: { 200: Published },
      headers: ['X-Truncated'],
      refusals: [
        { status: 402, code: 'storage_quota_exceeded' },
        { status: 404, code: 'deployment_not_found' },
        { status: 409, code: 'nothing_to_publish' },
        { status: 409, code: 'revision_conflict' },
        { status: 409, code: 'apps_domain_missing' },
      ],
      precheck: ({ db, access, body, now }) =>
        preparePublish(db, deps, access, { deploymentId: body.deployment_id, gate }, now),
      handle: ({ db, access, now }, prepared) => publishApp(db, deps, access, prepared, now),
    }),
    route({
      name: 'unpublishApp',
      method: 'POST',
      path: '/api/apps/{app_id}/unpublish',
      summary: 'Take a published app off the web; its deployments are kept',
      description: '`X-Changed: false` means that the app was not published.',
      credentials: deployCredentials,
      access: appAs('editor'),
      limit,
      repeat: 'safe',
      audits: ['app.unpublished'],
      answers: { 200: Success },
      handle: ({ db, access, now }) => unpublishApp(db, access, now),
    }),
    route({
      name: 'listDeployments',
      method: 'GET',
      path: '/api/apps/{app_id}/deployments',
      summary: 'List the deployments of an app, newest first; the last 50 are kept',
      credentials: { ...readCredentials, workspaceKey: 'apps:read' },
      access: appAs('viewer'),
      limit: perMinute(60, 'caller'),
      query: DeploymentQuery,
      answers: { 200: items(Deployment) },
      refusals: [cursorRefusal],
      handle: async ({ db, access, query, now }) => {
        const binding = ['listDeployments', access.app.id, access.caller.credential_id];
        const rows = await listDeployments(db, access, query.limit, deps.cursors.open(query.cursor, binding, now));
        const present = (row: (typeof rows)[number]) => presentDeployment(row, access.app.live_deployment_id);
        return deps.cursors.page(rows, query.limit, binding, now, present, (row) => [row.id]);
      },
    }),
    route({
      name: 'getSecuritySettings',
      method: 'GET',
      path: '/api/apps/{app_id}/security/settings',
      summary: "Read an app's security settings",
      credentials: readCredentials,
      access: appAs('viewer'),
      limit: perMinute(60, 'caller'),
      answers: { 200: SecuritySettings },
      handle: ({ db, access }) => getSecuritySettings(db, access),
    }),
    route({
      name: 'setSecuritySettings',
      method: 'PATCH',
      path: '/api/apps/{app_id}/security/settings',
      summary: "Change an app's security settings; fields that are not sent keep their value",
      description: 'The headers take effect within a second, even for files that are already published.',
      credentials: writeCredentials,
      access: appAs('editor'),
      limit: perMinute(30, 'caller'),
      stores: 1_000,
      body: SecuritySettingsChange,
      idempotency: 'optional',
      audits: ['app.updated'],
      answers: { 200: SecuritySettings },
      handle: ({ db, access, body, now }) => setSecuritySettings(db, deps, access, body, now),
    }),
  ];
};
