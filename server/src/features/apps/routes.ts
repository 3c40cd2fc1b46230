// Owns the HTTP contract of apps.
import { changing, reading } from '../../access/accepted.ts';
import { insertApp } from '../../access/apps.ts';
import { perMinute } from '../../access/limits.ts';
import { appAs, workspaceAs } from '../../access/reach.ts';
import { type Route, route } from '../../access/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items } from '../../kit/http/shapes.ts';
import { App, AppQuery, NewApp, presentApp } from './contract.ts';
import { listApps, positionOf } from './store.ts';

export const appRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listApps',
    method: 'GET',
    path: '/api/apps',
    origin: 'N',
    summary: 'List the apps of the workspace that the caller can see',
    credentials: { ...reading, workspaceKey: 'apps:read' },
    access: workspaceAs('guest'),
    limit: perMinute(300, 'workspace'),
    query: AppQuery,
    answers: { 200: items(App) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listApps', access.workspace_id, access.caller.credential_id, filters];
      const rows = await listApps(db, access, query, cursors.open(cursor, binding, now));
      return cursors.page(rows, limit, binding, now, presentApp, (app) => positionOf(query.sort, app));
    },
  }),
  route({
    name: 'createApp',
    method: 'POST',
    path: '/api/apps',
    origin: 'N',
    summary: 'Create an app',
    credentials: { ...changing, workspaceKey: 'apps:write' },
    access: workspaceAs('editor'),
    limit: perMinute(5, 'workspace', { group: 'create' }),
    idempotency: 'optional',
    body: NewApp,
    answers: { 200: App },
    handle: async ({ db, access, body, now }) => {
      const app = {
        name: 'Untitled app',
        user_description: '',
        app_type: 'user_app',
        visibility: 'workspace',
        public_settings: 'public_with_login',
        ...body,
      } as const;
      return presentApp(await insertApp(db, access, app, now));
    },
  }),
  route({
    name: 'getApp',
    method: 'GET',
    path: '/api/apps/{app_id}',
    origin: 'N',
    summary: 'Read one app',
    credentials: { ...reading, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(300, 'workspace'),
    answers: { 200: App },
    handle: ({ access }) => presentApp(access.app),
  }),
];
