// The HTTP routes for connectors (docs/api/connectors.md).
import { open, readCredentials, sessionOnly, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { self } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { notFound } from '../../kit/problem.ts';
import { catalogue, findConnector } from './catalogue.ts';
import { disconnectConnector, type RevokeDeps, removeConnector } from './connection.ts';
import {
  CallbackQuery,
  ConnectionFields,
  ConnectionPage,
  ConnectionQuery,
  ConnectionStatus,
  ConnectorPage,
  ConnectorQuery,
  Disconnected,
  NewConnection,
  presentConnection,
  presentConnector,
  presentFields,
  presentStatus,
  Removed,
  ScopeChange,
  StartResult,
  StatusQuery,
} from './contract.ts';
import { type FlowDeps, leaveForService, returnFromService } from './flow.ts';
import { answerOutcome, redirectTo } from './page.ts';
import { checkStart, type StartDeps, setScopes, startConnection } from './start.ts';
import { findAttempt } from './store/attempts.ts';
import { findConnection, listConnections } from './store/connections.ts';

export type ConnectorRouteDeps = StartDeps & FlowDeps & RevokeDeps & { readonly cursors: Cursors };

const connectorOf = (role: 'viewer' | 'editor') =>
  nestedResource(appAs(role), 'connector', async (_db, _access, type) => findConnector(type), 'integration_type');

const connectionNotFound = { status: 404, code: 'connection_not_found' } as const;
const notConfigured = { status: 503, code: 'connector_not_configured' } as const;
const inProgress = { status: 409, code: 'connection_in_progress' } as const;

export const connectorRoutes = (deps: ConnectorRouteDeps): Route[] => [
  ...readRoutes(deps),
  ...changeRoutes(deps),
  ...browserRoutes(deps),
];

const readRoutes = ({ cursors, endpoints }: ConnectorRouteDeps): Route[] => [
  route({
    name: 'listConnectors',
    method: 'GET',
    path: '/api/apps/{app_id}/external-auth/available-integrations',
    summary: 'List the services that an app can be connected to, by type',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(150, 'caller'),
    query: ConnectorQuery,
    answers: { 200: ConnectorPage },
    refusals: [cursorRefusal],
    handle: ({ access, query, now }) => {
      const binding = ['listConnectors', access.app.id, access.caller.credential_id];
      const [after = ''] = cursors.open(query.cursor, binding, now) ?? [];
      const rest = catalogue.filter(({ integration_type }) => integration_type > String(after));
      const present = (connector: (typeof catalogue)[number]) => presentConnector(connector, endpoints);
      return cursors.page(rest, query.limit, binding, now, present, (connector) => [connector.integration_type]);
    },
  }),
  route({
    name: 'getConnectionConfig',
    method: 'GET',
    path: '/api/apps/{app_id}/external-auth/connection-config/{integration_type}',
    summary: 'Get the fields that a service needs before it is connected, and their saved values',
    credentials: readCredentials,
    access: connectorOf('viewer'),
    limit: perMinute(150, 'caller', { scaledBy: 'override' }),
    answers: { 200: ConnectionFields },
    handle: async ({ db, access }) =>
      presentFields(access.connector, await findConnection(db, access.app, access.connector.integration_type)),
  }),
  route({
    name: 'getConnectionStatus',
    method: 'GET',
    path: '/api/apps/{app_id}/external-auth/status',
    summary: 'Get the status of the latest attempt to connect a service',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(150, 'caller'),
    query: StatusQuery,
    answers: { 200: ConnectionStatus },
    refusals: [{ status: 404, code: 'connector_not_found' }, connectionNotFound],
    handle: async ({ db, access, query, now }) => {
      const connector = findConnector(query.integration_type);
      if (connector === undefined) throw notFound('connector_not_found');
      const connection = await findConnection(db, access.app, connector.integration_type);
      const isOther = query.connection_id !== undefined && query.connection_id !== connection?.id;
      if (connection === undefined || isOther) throw notFound('connection_not_found');
      return presentStatus(connection, await findAttempt(db, connection), now);
    },
  }),
  route({
    name: 'listConnections',
    method: 'GET',
    path: '/api/apps/{app_id}/external-auth/list',
    summary: 'List the connections of an app, by type',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(150, 'caller'),
    query: ConnectionQuery,
    answers: { 200: ConnectionPage },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listConnections', access.app.id, access.caller.credential_id];
      const rows = await listConnections(db, access.app, query.limit, cursors.open(query.cursor, binding, now));
      return cursors.page(rows, query.limit, binding, now, presentConnection, (row) => [row.integration_type]);
    },
  }),
];

const changeRoutes = (deps: ConnectorRouteDeps): Route[] => [
  route({
    name: 'startConnection',
    method: 'POST',
    path: '/api/apps/{app_id}/external-auth/initiate',
    summary: 'Start connecting a service; the person must open redirect_url within ten minutes',
    description:
      'Services with API keys are connected immediately. Check `error` and `already_authorized`: the status is 200 in both cases.',
    credentials: writeCredentials,
    access: appAs('editor'),
    plan: 'connectors',
    limit: perMinute(30, 'caller'),
    work: 'outside',
    idempotency: 'optional',
    secretFields: ['redirect_url'],
    body: NewConnection,
    audits: ['connection.started', 'connection.connected'],
    answers: { 200: StartResult },
    refusals: [
      { status: 404, code: 'connector_not_found' },
      inProgress,
      notConfigured,
      { status: 503, code: 'connector_unavailable' },
    ],
    precheck: ({ db, access, body, now }) => checkStart(db, deps, access, body, now),
    handle: ({ db, access, now }, checked) => startConnection(db, deps, access, checked, now),
  }),
  route({
    name: 'setConnectorScopes',
    method: 'PUT',
    path: '/api/apps/{app_id}/external-auth/integrations/{integration_type}',
    summary: 'Replace the scopes of a connection; wider scopes need consent at redirect_url',
    credentials: writeCredentials,
    access: connectorOf('editor'),
    plan: 'connectors',
    limit: perMinute(30, 'caller'),
    body: ScopeChange,
    idempotency: 'optional',
    secretFields: ['redirect_url'],
    audits: ['connection.started', 'connection.scopes_changed'],
    answers: { 200: StartResult },
    refusals: [connectionNotFound, inProgress, notConfigured],
    handle: ({ db, access, body, now }) => setScopes(db, deps, access, body, now),
  }),
  route({
    name: 'disconnectConnector',
    method: 'POST',
    path: '/api/apps/{app_id}/external-auth/integrations/{integration_type}/disconnect',
    summary: 'Erase the tokens of a connection, and revoke them at the service if it is reachable',
    credentials: writeCredentials,
    access: connectorOf('editor'),
    limit: perMinute(30, 'caller'),
    work: 'outside',
    repeat: 'safe',
    audits: ['connection.disconnected'],
    answers: { 200: Disconnected },
    refusals: [connectionNotFound],
    handle: ({ db, access, now }) => disconnectConnector(db, deps, access, now),
  }),
  route({
    name: 'removeConnector',
    method: 'DELETE',
    path: '/api/apps/{app_id}/external-auth/integrations/{integration_type}/remove',
    summary: 'Remove a connection: its tokens, as when disconnecting, and its configuration',
    credentials: writeCredentials,
    access: connectorOf('editor'),
    limit: perMinute(30, 'caller'),
    work: 'outside',
    repeat: 'safe',
    audits: ['connection.removed'],
    answers: { 200: Removed },
    refusals: [connectionNotFound],
    handle: ({ db, access, now }) => removeConnector(db, deps, access, now),
  }),
];

const page = media('text/html; charset=utf-8', 'HTML page');
const redirect = media('text/html; charset=utf-8', 'A redirect, without a body');

const browserRoutes = (deps: ConnectorRouteDeps): Route[] => [
  route({
    name: 'openConnection',
    headers: ['Location', 'Set-Cookie'],
    method: 'GET',
    path: '/connect/{state}',
    summary: 'Redirect the browser of the person who started a connection to the service',
    credentials: sessionOnly,
    access: self,
    limit: perMinute(60, 'address'),
    answers: { 302: redirect },
    refusals: [{ status: 403, code: 'connection_of_other_user' }, connectionNotFound, notConfigured],
    handle: async ({ db, access, params, now }) => {
      const { url, cookie } = await leaveForService(db, deps, access, params.state, now);
      return redirectTo(url.href, { 'set-cookie': cookie });
    },
  }),
  route({
    name: 'oauthCallback',
    headers: ['Location'],
    method: 'GET',
    path: '/api/external-auth/callback',
    summary: 'Receive the browser that a service redirects back',
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    work: 'outside',
    query: CallbackQuery,
    answers: { 200: page, 302: redirect },
    refusals: [{ status: 400, code: 'connection_state_invalid' }],
    handle: async ({ db, access, query, headers, now }) => {
      const { cookie } = headers;
      const cookies = typeof cookie === 'string' ? cookie : undefined;
      return answerOutcome(await returnFromService(db, deps, { visitor: access, query, cookies }, now));
    },
  }),
];
