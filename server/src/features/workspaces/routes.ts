// The routes for workspaces: the caller's workspaces, the current one, plans, exports, and operators' operations.
import { readCredentials, sessionOnly, sessionOrToken, writeCredentials } from '../../core/auth/credentials.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { operator, self, unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { exportBytes, perMinute } from '../../core/auth/limits.ts';
import {
  findRequiredPlan,
  gatedFeatures,
  monthlyCredits,
  plans,
  rateFactors,
  storageQuotas,
} from '../../core/auth/plans.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { LedgerEntry } from '../../core/credits/ledger.ts';
import { listWorkspacesOf } from '../../core/identity/accounts.ts';
import { getWorkspaceRow } from '../../core/identity/workspaces.ts';
import { readStorageUsage } from '../../core/storage/usage.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { attachment } from '../../kit/http/answer.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { items } from '../../kit/http/shapes.ts';
import {
  CreditGrant,
  DeletedWorkspace,
  Export,
  ExportQuery,
  NewWorkspace,
  OperatorChange,
  OperatorQuery,
  OperatorWorkspace,
  PlanRow,
  presentOperatorWorkspace,
  presentWorkspace,
  StartedExport,
  Workspace,
  WorkspaceChange,
  WorkspaceDeletion,
  WorkspaceWithStorage,
} from './contract.ts';
import { type ExportDeps, getExport, openArchive, startExport } from './export.ts';
import { findOperatorWorkspace, listOperatorWorkspaces } from './store/operators.ts';
import {
  changeWorkspace,
  createWorkspace,
  deleteWorkspace,
  grantCredits,
  updateOperatorWorkspace,
  type WorkspaceDeps,
} from './workspace.ts';

const operatorWorkspaceGuard = nestedResource(operator, 'workspace', findOperatorWorkspace);

/** A list that always fits on one page. */
const onePage = <Item>(all: Item[]) => ({ items: all, next_cursor: null, has_more: false });

export type RouteDeps = WorkspaceDeps & Pick<ExportDeps, 'objectStorage'> & { readonly wake: Pick<WakeUps, 'notify'> };

export const workspaceRoutes = (deps: RouteDeps & { cursors: Cursors }): Route[] => [
  ...memberRoutes(deps),
  ...exportRoutes(deps),
  planRoute,
  ...operatorRoutes(deps.cursors),
];

const memberRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'listWorkspaces',
    method: 'GET',
    path: '/api/workspaces',
    summary: "List the caller's workspaces",
    credentials: readCredentials,
    access: self,
    limit: perMinute(60, 'caller'),
    answers: { 200: items(Workspace) },
    handle: async ({ db, access }) =>
      onePage((await listWorkspacesOf(db, access.caller)).map((row) => presentWorkspace(row, row.role))),
  }),
  route({
    name: 'createWorkspace',
    method: 'POST',
    path: '/api/workspaces',
    summary: 'Create a workspace; the caller becomes its owner',
    credentials: sessionOrToken,
    access: unlimitedToken({ ...self, needs: 'none' }),
    limit: perMinute(5, 'user'),
    idempotency: 'optional',
    body: NewWorkspace,
    audits: ['workspace.created'],
    answers: { 200: Workspace },
    refusals: [{ status: 403, code: 'operator_required' }],
    handle: ({ db, access, body, now }) => createWorkspace(db, deps, access, body, now),
  }),
  route({
    name: 'getWorkspace',
    method: 'GET',
    path: '/api/workspace',
    summary: 'Read the current workspace',
    credentials: { ...readCredentials, workspaceKey: 'usage:read' },
    access: workspaceAs('viewer'),
    limit: perMinute(60, 'workspace'),
    answers: { 200: WorkspaceWithStorage },
    handle: async ({ db, access }) => ({
      ...presentWorkspace(await getWorkspaceRow(db, access), access.role),
      storage: await readStorageUsage(db, access.workspace_id),
    }),
  }),
  route({
    name: 'updateWorkspace',
    method: 'PATCH',
    path: '/api/workspace',
    summary: 'Change the current workspace',
    credentials: writeCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(30, 'workspace'),
    body: WorkspaceChange,
    idempotency: 'optional',
    audits: { sometimes: ['workspace.updated'] },
    answers: { 200: Workspace },
    handle: ({ db, access, body, now }) => changeWorkspace(db, access, body, now),
  }),
  route({
    name: 'deleteWorkspace',
    method: 'DELETE',
    path: '/api/workspace',
    summary: 'Delete the current workspace; it is purged after 30 days',
    credentials: sessionOnly,
    access: workspaceAs('owner'),
    limit: perMinute(5, 'user'),
    body: WorkspaceDeletion,
    description:
      "The workspace's campaigns are paused first. If the ad platform does not confirm the pause, the response is 409 `ad_platform_timeout`, and the workspace is kept.",
    work: 'outside',
    needsWorker: true,
    heldSeconds: 60,
    repeat: 'safe',
    audits: ['workspace.deleted', 'ads.campaign.pause_requested'],
    answers: { 200: DeletedWorkspace },
    refusals: [{ status: 409, code: 'ad_platform_timeout' }],
    handle: ({ db, access, body, now }) => deleteWorkspace(db, deps, access, body.confirm_name, now),
  }),
];

const exportRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'startExport',
    method: 'POST',
    path: '/api/workspace/export',
    summary: 'Start an export of everything in the workspace, to download',
    needsWorker: true,
    credentials: writeCredentials,
    access: unlimitedToken(workspaceAs('owner')),
    limit: perMinute(2, 'workspace'),
    stores: 'measured',
    bytes: exportBytes,
    idempotency: 'optional',
    audits: ['workspace.export_started'],
    answers: { 200: StartedExport },
    refusals: [
      { status: 409, code: 'limit_reached' },
      { status: 402, code: 'storage_quota_exceeded' },
    ],
    handle: ({ db, access, now }) => startExport(db, deps, access, now),
  }),
  route({
    name: 'getExport',
    alsoAnswers: [media('application/gzip', 'The archive, with `download=true`', { type: 'string', format: 'binary' })],
    headers: ['Content-Disposition'],
    method: 'GET',
    path: '/api/workspace/export/{export_id}',
    summary: 'Read the state of an export, or download its archive',
    description:
      'With `download=true`, the response for a finished export is its archive: a gzipped tar file with one or more JSON Lines files per table and a manifest with counts and hashes. The archive is kept for seven days.',
    credentials: readCredentials,
    access: unlimitedToken(workspaceAs('owner')),
    limit: perMinute(60, 'workspace'),
    bytes: exportBytes,
    query: ExportQuery,
    answers: { 200: Export },
    refusals: [{ status: 404, code: 'export_not_found' }],
    handle: async ({ db, access, params, query, now, countBytes }) => {
      const found = await getExport(db, access, params.export_id, deps.baseUrl, now);
      if (!query.download || found.state !== 'ready') return found;
      const archive = await openArchive(deps.objectStorage, found.export_id, countBytes);
      return attachment(archive, 'application/gzip', `plinth-${found.export_id}.tar.gz`);
    },
  }),
];

const planRoute = route({
  name: 'listPlans',
  method: 'GET',
  path: '/api/plans',
  summary: 'List the plans and what each includes',
  credentials: { ...readCredentials, workspaceKey: 'usage:read' },
  access: { ...self, needs: 'none' },
  limit: perMinute(60, 'caller'),
  answers: { 200: items(PlanRow, 'The plans, from the lowest to the highest.') },
  handle: () =>
    onePage(
      plans.map((plan) => ({
        plan,
        monthly_credits: monthlyCredits[plan],
        rate_multiplier: rateFactors[plan],
        storage_quota_bytes: storageQuotas[plan],
        features: Object.fromEntries(
          gatedFeatures.map((feature) => [feature, findRequiredPlan(plan, feature) === undefined]),
        ),
      })),
    ),
});

const operatorRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listOperatorWorkspaces',
    method: 'GET',
    path: '/api/operator/workspaces',
    summary: 'List all workspaces of the installation',
    credentials: sessionOnly,
    access: operator,
    limit: perMinute(60, 'caller'),
    query: OperatorQuery,
    answers: { 200: items(OperatorWorkspace) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listOperatorWorkspaces', access.caller.credential_id];
      const rows = await listOperatorWorkspaces(db, access, query.limit, cursors.open(query.cursor, binding, now));
      return cursors.page(rows, query.limit, binding, now, presentOperatorWorkspace, (row) => [row.id]);
    },
  }),
  route({
    name: 'setOperatorWorkspace',
    method: 'PATCH',
    path: '/api/operator/workspaces/{workspace_id}',
    summary: 'Set the plan, credits, rate multiplier, storage quota, feature switches or billing hold of a workspace',
    credentials: sessionOnly,
    access: operatorWorkspaceGuard,
    limit: perMinute(60, 'caller'),
    body: OperatorChange,
    idempotency: 'optional',
    audits: ['operator.workspace_changed'],
    answers: { 200: OperatorWorkspace },
    handle: ({ db, access, body, now }) => updateOperatorWorkspace(db, access, body, now),
  }),
  route({
    name: 'grantCredits',
    method: 'POST',
    path: '/api/operator/workspaces/{workspace_id}/credits',
    summary: 'Grant credits to a workspace, or take credits back',
    credentials: sessionOnly,
    access: operatorWorkspaceGuard,
    limit: perMinute(60, 'caller'),
    idempotency: 'optional',
    body: CreditGrant,
    audits: ['credits.granted'],
    answers: { 200: LedgerEntry },
    handle: ({ db, access, body, now }) => grantCredits(db, access, body, now),
  }),
];
