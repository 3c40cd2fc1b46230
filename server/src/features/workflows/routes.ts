// Owns the HTTP contract of workflows, their runs and their hooks.
import { open, readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { hookGuard } from '../../core/auth/hook-guard.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { appAs, nestedResource } from '../../core/auth/resource-guards.ts';
import type { AppRole } from '../../core/auth/roles.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
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
import { accepts, drawWorkflow, type ReadDeps, readRun } from './reads/run.ts';
import { prepareRun, runWorkflow } from './run-now.ts';
import type { CancelDeps } from './runs/cancel.ts';
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
  presentInFull,
  restoreWorkflow,
  toggleWorkflow,
  type WorkflowRules,
} from './workflow.ts';

export interface WorkflowRouteDeps extends WorkflowRules, StartDeps, TriggerDeps, CancelDeps, ReadDeps, AnalysisDeps {
  readonly cursors: Cursors;
  readonly jq: Jq;
  readonly wake: ReadDeps['wake'] & StartDeps['wake'] & TriggerDeps['wake'] & CancelDeps['wake'] & AnalysisDeps['wake'];
}

const workflowGuard = (role: AppRole) => nestedResource(appAs(role), 'workflow', findWorkflow);
const runGuard = (role: AppRole) =>
  nestedResource(workflowGuard(role), 'run', (db, { workflow }, id) => findRun(db, workflow, id));

const base = '/api/apps/{app_id}/workflows';
const one = `${base}/{workflow_id}` as const;
const readLimit = perMinute(60, 'caller');
const writeLimit = perMinute(20, 'caller');

/** Of the definitions in a page of versions. */
const maxPageBytes = 2 * 1024 * 1024;

const archived = { status: 400, code: 'workflow_archived' } as const;
const nameTaken = { status: 409, code: 'name_taken' } as const;
const limitReached = { status: 409, code: 'limit_reached' } as const;
const agentUnknown = { status: 404, code: 'agent_not_found' } as const;
const entityUnknown = { status: 404, code: 'entity_not_found' } as const;
const planRequired = { status: 402, code: 'plan_required' } as const;

const diagram = media(mermaid, 'A flowchart for Mermaid');
const progress = media('text/event-stream', 'The run while it goes on', {
  type: 'string',
  description:
    'Server-sent events with an `id` for `Last-Event-ID`: `run.step` for each step, then `run.completed`, `run.failed` or `run.cancelled`. A stream that ends without one of these can be resumed.',
});

export const workflowRoutes = (deps: WorkflowRouteDeps): Route[] => [
  ...crudRoutes(deps),
  ...stateRoutes(deps),
  ...runRoutes(deps),
  analyzeRunRoute(runGuard('editor'), deps),
  hookRoute(deps),
];

const crudRoutes = (deps: WorkflowRouteDeps): Route[] => [
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
    summary: 'Create a workflow; it is active at once',
    credentials: writeCredentials,
    access: appAs('editor'),
    plan: 'workflows',
    limit: writeLimit,
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
      return createWorkflow(db, access, body, draft, deps, now);
    },
  }),
  route({
    name: 'validateWorkflow',
    method: 'POST',
    path: `${base}/validate-definition`,
    summary: 'Check a definition and a trigger without saving them',
    description: 'An invalid definition answers 200 with `valid` false.',
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
  route({
    name: 'getWorkflow',
    method: 'GET',
    path: one,
    summary: 'Read a workflow with its definition',
    description: `With \`Accept: ${mermaid}\` the definition is answered as a flowchart.`,
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
    description: 'Another definition makes a new version. Runs that have started keep theirs.',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: writeLimit,
    work: 'outside',
    body: WorkflowChange,
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
      return changeWorkflow(db, access, body, draft, deps, now);
    },
  }),
  route({
    name: 'listWorkflowVersions',
    method: 'GET',
    path: `${one}/versions`,
    summary: 'List the definitions that a workflow has had, newest first',
    description: 'The newest 100 are kept, and those of runs that go on. A page ends early at 2 MiB.',
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
    summary: 'Archive a workflow: nothing starts it any more, and runs that have started go on',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    limit: writeLimit,
    audits: ['workflow.archived'],
    answers: { 200: Workflow },
    handle: ({ db, access, now }) => archiveWorkflow(db, access, now),
  }),
  route({
    name: 'restoreWorkflow',
    method: 'POST',
    path: `${one}/restore`,
    summary: 'Take a workflow out of the archive; it is inactive',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: writeLimit,
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
    description: 'What keeps it inactive, such as a schedule that has ended, is the `status_reason`.',
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    limit: writeLimit,
    body: StatusChange,
    audits: ['workflow.toggled'],
    answers: { 200: WorkflowStatus },
    refusals: [archived, planRequired, agentUnknown, entityUnknown],
    precheck: ({ db, access, body }) => checkForTurningOn(db, access, body.status, deps.jq),
    handle: async ({ db, access, body, now }, current) => {
      await checkAgents(db, access, current);
      return toggleWorkflow(db, access, body, current, deps, now);
    },
  }),
  route({
    name: 'runWorkflow',
    method: 'POST',
    path: `${one}/run-now`,
    summary: 'Run a workflow now, with an input or with what an earlier run was started with',
    description: 'Whatever its trigger and status are, unless it is archived.',
    effect: 'spend',
    needsWorker: true,
    credentials: writeCredentials,
    access: workflowGuard('editor'),
    plan: 'workflows',
    limit: perMinute(5, 'caller'),
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
    handle: ({ db, access, now }, source) => runWorkflow(db, access, source, deps, now),
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
      description: 'Kept for 90 days after their end.',
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
        return deps.cursors.page(rows, limit, binding, now, presentRun, positionOf);
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
        return deps.cursors.page(rows, limit, binding, now, presentRun, positionOf);
      },
    }),
    route({
      name: 'getRun',
      method: 'GET',
      path: `${one}/runs/{run_id}`,
      summary: 'Read a run with its steps',
      description: `Has the values of 100 steps: the last, or those from \`values_from\` on; \`X-Partial-Result: step_values\` says that others are left out. \`Accept: text/event-stream\` follows the run, \`${mermaid}\` draws it.`,
      alsoAnswers: [progress, diagram],
      heldSeconds: streamSeconds,
      credentials: readCredentials,
      access: runGuard('viewer'),
      limit: perMinute(120, 'caller'),
      work: 'slow',
      query: RunValuesQuery,
      answers: { 200: Run },
      handle: ({ db, access, query, headers }) => readRun(db, access, query, headers, deps),
    }),
    route({
      name: 'cancelRun',
      method: 'POST',
      path: `${one}/runs/{run_id}/cancel`,
      summary: 'Cancel a run: a wait ends at once, a call after at most 30 seconds',
      description: 'A run that has ended keeps its status, with `X-Changed: false`.',
      credentials: writeCredentials,
      access: runGuard('editor'),
      limit: perMinute(10, 'caller'),
      audits: ['workflow.run_cancelled'],
      answers: { 200: RunCancelled },
      handle: ({ db, access, now }) => cancelRunByPerson(db, access, deps, now),
    }),
  ];
};

const hookRoute = (deps: WorkflowRouteDeps): Route =>
  route({
    name: 'receiveHook',
    method: 'POST',
    path: '/api/hooks/{hook_token}',
    summary: 'Start the workflow that this address belongs to',
    description:
      'The token is the credential: `hook_url` of a workflow with the trigger `webhook`. The run gets the body, the query and some headers.',
    needsWorker: true,
    credentials: open,
    access: hookGuard('workflow', 'workflows'),
    limit: perMinute(300, 'hook'),
    idempotency: 'optional',
    bodyLimitBytes: maxInputBytes,
    query: HookQuery,
    body: HookBody,
    audits: 'nothing',
    answers: { 200: HookReceived },
    refusals: [{ status: 409, code: 'workflow_inactive' }],
    precheck: ({ db, access, headers, query, body, now }) =>
      checkHook(db, access, { headers, query, body }, deps.jq, now),
    handle: ({ db, access, now }, checked) => receiveHook(db, access, checked, deps, now),
  });
