// The HTTP contract for workflows, their runs and their hooks.

import { open, readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { hookGuard } from '../../core/auth/guards/hook.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { perCall } from '../../core/auth/prices.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppRole } from '../../core/auth/roles.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { accepts } from '../../kit/http/answer.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { eventMedia, media } from '../../kit/http/operation.ts';
import { items } from '../../kit/http/shapes.ts';
import type { Jq } from '../../kit/jq/index.ts';
import type { AnalysisDeps } from './analysis/analyze.ts';
import { analyzeRunRoute } from './analysis/route.ts';
import { cancelRunByPerson } from './cancel-run.ts';
import {
  DefinitionCheck,
  HookBody,
  HookQuery,
  HookReceived,
  maxInputBytes,
  NewWorkflow,
  presentRun,
  presentVersion,
  presentWorkflow,
  Run,
  RunCancelled,
  RunQuery,
  RunRequest,
  RunStarted,
  RunValuesQuery,
  StatusChange,
  Step,
  Validation,
  Version,
  VersionQuery,
  Workflow,
  WorkflowChange,
  WorkflowQuery,
  WorkflowStatus,
} from './contract.ts';
import { checkAgents, checkDraft, checkForTurningOn, validateDraft } from './draft.ts';
import { mermaid } from './reads/diagram.ts';
import { streamSeconds } from './reads/progress.ts';
import { drawWorkflow, type ReadDeps, readRun } from './reads/run.ts';
import { hideMessage } from './reads/viewers.ts';
import { prepareRun, runWorkflow } from './run-now.ts';
import type { CancelDeps } from './runs/cancel.ts';
import { runCredits } from './runs/execute.ts';
import type { StartDeps } from './runs/start.ts';
import type { RunSummary } from './store/rows.ts';
import { findRun, listRunsOfApp, listRunsOfWorkflow } from './store/run-reads.ts';
import { getVersion, listVersions } from './store/versions.ts';
import { findWorkflow, listWorkflows } from './store/workflows.ts';
import { checkHook, receiveHook } from './triggers/hook.ts';
import type { TriggerDeps } from './triggers/start.ts';
import {
  archiveWorkflow,
  changeWorkflow,
  createWorkflow,
  isEditor,
  presentInFull,
  restoreWorkflow,
  toggleWorkflow,
  type WorkflowRules,
} from './workflow.ts';

export interface WorkflowRouteDeps extends WorkflowRules, StartDeps, TriggerDeps, CancelDeps, ReadDeps, AnalysisDeps {
  readonly cursors: Cursors;
  readonly jq: Jq;
  readonly wake: StartDeps['wake'] & TriggerDeps['wake'] & CancelDeps['wake'] & AnalysisDeps['wake'];
}

const workflowGuard = (role: AppRole) => nestedResource(appAs(role), 'workflow', findWorkflow);
const runGuard = (role: AppRole) =>
  nestedResource(workflowGuard(role), 'run', (db, { workflow }, id) => findRun(db, workflow, id));

const base = '/api/apps/{app_id}/workflows';
const one = `${base}/{workflow_id}` as const;
const readLimit = perMinute(60, 'caller');
const writeLimit = perMinute(20, 'caller');

/** The maximum combined size of the definitions on a page of versions. */
const maxPageBytes = 2 * 1024 * 1024;

const archived = { status: 400, code: 'workflow_archived' } as const;
const nameTaken = { status: 409, code: 'name_taken' } as const;
const limitReached = { status: 409, code: 'limit_reached' } as const;
const agentUnknown = { status: 404, code: 'agent_not_found' } as const;
const entityUnknown = { status: 404, code: 'entity_not_found' } as const;
const planRequired = { status: 402, code: 'plan_required' } as const;

const diagram = media(mermaid, 'A flowchart for Mermaid');
const progress = eventMedia(
  'The run while it continues',
  'Server-sent events, listed in `x-events`. A stream that ends without a last event can be resumed.',
  {
    'run.step': { data: Step },
    'run.completed': { data: Run, last: true },
    'run.failed': { data: Run, last: true },
    'run.cancelled': { data: Run, last: true },
  },
);

/** Viewers of the app don't see why a run failed. */
const presentRunFor = (access: AppAccess) => (row: RunSummary) => presentRun(isEditor(access) ? row : hideMessage(row));

export const workflowRoutes = (deps: WorkflowRouteDeps): Route[] => [
  ...collectionRoutes(deps),
  ...definitionRoutes(deps),
  ...stateRoutes(deps),
  ...runRoutes(deps),
  analyzeRunRoute(runGuard('editor'), deps),
  hookRoute(deps),
];

const collectionRoutes = (deps: WorkflowRouteDeps): Route[] => [
  route({
    name: 'listWorkflows',
    method: 'GET',
    path: base,
    summary: "List an app's workflows, newest first",
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: readLimit,
    work: 'slow',
    query: WorkflowQuery,
    answers: { 200: items(Workflow) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listWorkflows', access.app.id, access.caller.credential_id, filters];
      const rows = await listWorkflows(db, access, query, deps.cursors.open(cursor, binding, now));
      return deps.cursors.page(rows, limit, binding, now, presentWorkflow, ({ id }) => [id]);
    },
  }),
  route({
    name: 'createWorkflow',
    method: 'POST',
    path: base,
    summary: 'Create a workflow, which becomes active immediately',
    credentials: writeCredentials,
    access: appAs('editor'),
    plan: 'workflows',
    limit: writeLimit,
    stores: 3_000,
    work: 'outside',
    idempotency: 'optional',
    secretFields: ['hook_url'],
    body: NewWorkflow,
    audits: ['workflow.created'],
    answers: { 200: Workflow },
    refusals: [nameTaken, limitReached, agentUnknown, entityUnknown],
    precheck: ({ access, body }) => checkDraft(body, access, deps.jq),
    handle: async ({ db, access, body, now }, draft) => {
      await checkAgents(db, access, draft);
      return createWorkflow(db, deps, access, { input: body, draft }, now);
    },
  }),
  route({
    name: 'validateWorkflow',
    method: 'POST',
    path: `${base}/validate-definition`,
    summary: 'Check a definition and a trigger without saving them',
    description: 'If the definition is invalid, the response is 200 with `valid: false`.',
    effect: 'read',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(30, 'caller'),
    work: 'outside',
    body: DefinitionCheck,
    audits: 'nothing',
    answers: { 200: Validation },
    handle: ({ access, body }) => validateDraft(body, access, deps.jq),
  }),
];

const definitionRoutes = (deps: WorkflowRouteDeps): Route[] => [
  route({
    name: 'getWorkflow',
    method: 'GET',
    path: one,
    summary: 'Read a workflow with its definition',
    description: `With \`Accept: ${mermaid}\` the definition is returned as a flowchart.`,
    alsoAnswers: [diagram],
    credentials: readCredentials,
    access: workflowGuard('viewer'),
    limit: readLimit,
    answers: { 200: Workflow },
    handle: async ({ db, access, headers }) => {
      const { definition } = await getVersion(db, access.workflow, access.workflow.current_version_id);
      if (accepts(headers, mermaid)) return drawWorkflow(access.workflow, definition);
      return presentInFull(access, access.workflow, definition, deps);
    },
  }),
  route({
    name: 'updateWorkflow',
    method: 'PUT',
    path: one,
    summary: 'Change a workflow; fields that are not sent keep their value',
    description: 'A changed definition creates a new version. Runs that have already started keep their version.',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: writeLimit,
    stores: 'measured',
    work: 'outside',
    body: WorkflowChange,
    repeat: 'safe',
    audits: ['workflow.updated'],
    answers: { 200: Workflow },
    refusals: [
      archived,
      nameTaken,
      limitReached,
      agentUnknown,
      entityUnknown,
      { status: 404, code: 'workflow_not_found' },
    ],
    precheck: ({ access, body }) => checkDraft(body, access, deps.jq),
    handle: async ({ db, access, body, now }, draft) => {
      await checkAgents(db, access, draft);
      return changeWorkflow(db, deps, access, { input: body, draft }, now);
    },
  }),
  route({
    name: 'listWorkflowVersions',
    method: 'GET',
    path: `${one}/versions`,
    summary: "List the versions of a workflow's definition, newest first",
    description:
      'The newest 100 versions are kept, as are versions that unfinished runs use. A page ends early at 2 MiB.',
    credentials: readCredentials,
    access: workflowGuard('viewer'),
    limit: readLimit,
    work: 'slow',
    query: VersionQuery,
    answers: { 200: items(Version) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listWorkflowVersions', access.workflow.id, access.caller.credential_id];
      const after = deps.cursors.open(query.cursor, binding, now);
      const bounds = { limit: query.limit + 1, maxBytes: maxPageBytes };
      const rows = await listVersions(db, access.workflow, bounds, after);
      const fitting = rows.filter(({ bytesSoFar }, index) => index === 0 || bytesSoFar <= maxPageBytes).length;
      return deps.cursors.page(rows, Math.min(query.limit, fitting), binding, now, presentVersion, (row) => [
        row.created_date.toISOString(),
        row.version_id,
      ]);
    },
  }),
];

const stateRoutes = (deps: WorkflowRouteDeps): Route[] => [
  route({
    name: 'archiveWorkflow',
    method: 'DELETE',
    path: one,
    summary: 'Archive a workflow; it can no longer be started, and runs that have started continue',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    limit: writeLimit,
    repeat: 'safe',
    audits: ['workflow.archived'],
    answers: { 200: Workflow },
    handle: ({ db, access, now }) => archiveWorkflow(db, access, now),
  }),
  route({
    name: 'restoreWorkflow',
    method: 'POST',
    path: `${one}/restore`,
    summary: 'Restore an archived workflow, which is then inactive',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: writeLimit,
    repeat: 'safe',
    audits: ['workflow.restored'],
    answers: { 200: Workflow },
    refusals: [nameTaken, limitReached],
    handle: ({ db, access, now }) => restoreWorkflow(db, access, now),
  }),
  route({
    name: 'toggleWorkflow',
    method: 'POST',
    path: `${one}/toggle-status`,
    summary: 'Turn a workflow on or off',
    description:
      'If the workflow stays inactive, for example because its schedule has ended, `status_reason` says why.',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    limit: writeLimit,
    body: StatusChange,
    repeat: 'safe',
    audits: ['workflow.toggled'],
    answers: { 200: WorkflowStatus },
    refusals: [archived, planRequired, agentUnknown, entityUnknown],
    precheck: ({ db, access, body }) => checkForTurningOn(db, access, body.status, deps.jq),
    handle: async ({ db, access, body, now }, current) => {
      await checkAgents(db, access, current);
      return toggleWorkflow(db, deps, access, { change: body, current }, now);
    },
  }),
  route({
    name: 'runWorkflow',
    method: 'POST',
    path: `${one}/run-now`,
    summary: 'Run a workflow now, with an input or with the input of an earlier run',
    description: 'Works with every trigger and status, unless the workflow is archived.',
    effect: 'spend',
    prices: [perCall(runCredits)],
    needsWorker: true,
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: perMinute(5, 'caller'),
    stores: 3_000,
    idempotency: 'optional',
    body: RunRequest,
    audits: ['workflow.run'],
    answers: { 200: RunStarted },
    refusals: [
      archived,
      { status: 402, code: 'credits_exhausted' },
      { status: 402, code: 'credit_limit_reached' },
      { status: 404, code: 'run_not_found' },
      { status: 409, code: 'replay_payload_mismatch' },
      { status: 409, code: 'workflow_inactive' },
    ],
    precheck: ({ db, access, body }) => prepareRun(db, access, body, deps.jq),
    handle: ({ db, access, now }, source) => runWorkflow(db, deps, access, source, now),
  }),
];

const runRoutes = (deps: WorkflowRouteDeps): Route[] => {
  const positionOf = (run: RunSummary) => [run.started_at.toISOString(), run.id];
  return [
    route({
      name: 'listAppRuns',
      method: 'GET',
      path: `${base}/runs`,
      summary: "List the runs of an app's workflows, newest first",
      description: 'Runs are kept for 90 days after they end.',
      credentials: readCredentials,
      access: appAs('viewer'),
      limit: readLimit,
      work: 'slow',
      query: RunQuery,
      answers: { 200: items(Run) },
      refusals: [cursorRefusal],
      handle: async ({ db, access, query, now }) => {
        const { limit, cursor, ...filters } = query;
        const binding = ['listAppRuns', access.app.id, access.caller.credential_id, filters];
        const rows = await listRunsOfApp(db, access.app, query, deps.cursors.open(cursor, binding, now));
        return deps.cursors.page(rows, limit, binding, now, presentRunFor(access), positionOf);
      },
    }),
    route({
      name: 'listWorkflowRuns',
      method: 'GET',
      path: `${one}/runs`,
      summary: 'List the runs of a workflow, newest first',
      credentials: readCredentials,
      access: workflowGuard('viewer'),
      limit: readLimit,
      work: 'slow',
      query: RunQuery,
      answers: { 200: items(Run) },
      refusals: [cursorRefusal],
      handle: async ({ db, access, query, now }) => {
        const { limit, cursor, ...filters } = query;
        const binding = ['listWorkflowRuns', access.workflow.id, access.caller.credential_id, filters];
        const rows = await listRunsOfWorkflow(db, access.workflow, query, deps.cursors.open(cursor, binding, now));
        return deps.cursors.page(rows, limit, binding, now, presentRunFor(access), positionOf);
      },
    }),
    route({
      name: 'getRun',
      method: 'GET',
      path: `${one}/runs/{run_id}`,
      summary: 'Read a run with its steps',
      description: `Includes the input and output of 100 steps: the last ones, or those from \`values_from\` on. \`X-Partial-Result: step_values\` means that others were left out. With \`Accept: text/event-stream\` the response follows the run; with \`${mermaid}\` it is a flowchart.`,
      alsoAnswers: [progress, diagram],
      heldSeconds: streamSeconds,
      credentials: readCredentials,
      access: runGuard('viewer'),
      limit: perMinute(120, 'caller'),
      work: 'slow',
      query: RunValuesQuery,
      answers: { 200: Run },
      refusals: [{ status: 429, code: 'too_many_streams' }],
      handle: ({ db, access, query, ...call }) => readRun(db, deps, access, query, call),
    }),
    route({
      name: 'cancelRun',
      method: 'POST',
      path: `${one}/runs/{run_id}/cancel`,
      summary: 'Cancel a run; a wait ends immediately, a call after at most 30 seconds',
      description: 'A run that has already ended keeps its status, and the response has `X-Changed: false`.',
      credentials: writeCredentials,
      access: runGuard('editor'),
      limit: perMinute(10, 'caller'),
      repeat: 'safe',
      audits: ['workflow.run_cancelled'],
      answers: { 200: RunCancelled },
      handle: ({ db, access, now }) => cancelRunByPerson(db, deps, access, now),
    }),
  ];
};

const hookRoute = (deps: WorkflowRouteDeps): Route =>
  route({
    name: 'receiveHook',
    method: 'POST',
    path: '/api/hooks/{hook_token}',
    summary: 'Start the workflow that this URL belongs to',
    description:
      'The URL is the `hook_url` of a workflow with the trigger `webhook`; its token is the credential. The run receives the body, the query and some headers.',
    needsWorker: true,
    credentials: open,
    access: hookGuard('workflow', 'workflows'),
    limit: perMinute(300, 'hook'),
    stores: 3_000,
    idempotency: 'optional',
    bodyLimitBytes: maxInputBytes,
    query: HookQuery,
    body: HookBody,
    audits: 'nothing',
    answers: { 200: HookReceived },
    refusals: [{ status: 409, code: 'workflow_inactive' }],
    precheck: ({ db, access, headers, query, body, now }) =>
      checkHook(db, access, { headers, query, body }, deps.jq, now),
    handle: ({ db, access, now }, checked) => receiveHook(db, deps, access, checked, now),
  });
