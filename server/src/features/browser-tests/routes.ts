// The HTTP contract of browser tests.

import type { KeyObject } from 'node:crypto';
import { open, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { perCall } from '../../core/auth/prices.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import {
  CancelledExecution,
  EvidenceQuery,
  Execution,
  ExecutionQuery,
  ExecutionsByFlow,
  Flow,
  FlowChange,
  FlowList,
  GeneratedFlows,
  NewExecution,
  NewFlow,
  presentExecution,
  presentFlow,
  TestReport,
} from './contract.ts';
import { type DeletionDeps, deleteFlow } from './delete-flow.ts';
import { type EvidenceAddress, getTestEvidence, imageType, traceType } from './evidence.ts';
import { cancelExecution, latestExecutions, type StartDeps, startExecution } from './execution.ts';
import { changeFlow, createFlow } from './flow.ts';
import { type GenerationDeps, proposeFlows, saveProposedFlows } from './generate-flows.ts';
import { generationPrice, runPrice } from './prices.ts';
import { getTestReport } from './report.ts';
import { findExecution, listExecutions } from './store/executions.ts';
import { findFlow, findFlowToDelete, listFlows, toAppKey } from './store/flows.ts';

export interface RouteDeps extends StartDeps, GenerationDeps, DeletionDeps {
  readonly cursors: Cursors;
  readonly addressOf: EvidenceAddress;
  readonly objectStorage: ObjectStorage;
  readonly signingKey: KeyObject;
  readonly wake: StartDeps['wake'] & DeletionDeps['wake'];
}

const flowGuard = nestedResource(appAs('editor'), 'flow', findFlow);
const flowToDeleteGuard = nestedResource(appAs('editor'), 'flow', findFlowToDelete);
const executionGuard = nestedResource(appAs('editor'), 'execution', findExecution);

const reads = perMinute(6_000, 'caller+app');
const changes = perMinute(300, 'caller+app');
const creditRefusals = [
  { status: 402, code: 'credits_exhausted' },
  { status: 402, code: 'credit_limit_reached' },
] as const;

export const browserTestRoutes = (deps: RouteDeps): Route[] => [
  ...flowRoutes(deps),
  ...executionRoutes(deps),
  ...reportRoutes(deps),
];

const flowRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'listFlows',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/flows',
    summary: 'List the tests of an app, newest first',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: reads,
    work: 'slow',
    answers: { 200: FlowList },
    handle: async ({ db, access }) => (await listFlows(db, toAppKey(access))).map(presentFlow),
  }),
  route({
    name: 'createFlow',
    method: 'POST',
    path: '/api/apps/{app_id}/testing-agent/flows',
    summary: 'Create a test that an agent runs in a real browser',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: changes,
    stores: 1_500,
    idempotency: 'optional',
    body: NewFlow,
    audits: ['test_flow.created'],
    answers: { 200: Flow },
    refusals: [{ status: 409, code: 'limit_reached' }],
    handle: ({ db, access, body, now }) => createFlow(db, access, body, now),
  }),
  route({
    name: 'getFlow',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/flows/{flow_id}',
    summary: 'Read a test',
    credentials: writeCredentials,
    access: flowGuard,
    limit: reads,
    answers: { 200: Flow },
    handle: ({ access }) => presentFlow(access.flow),
  }),
  route({
    name: 'updateFlow',
    method: 'PATCH',
    path: '/api/apps/{app_id}/testing-agent/flows/{flow_id}',
    summary: 'Change a test; fields that are not sent keep their value',
    credentials: writeCredentials,
    access: flowGuard,
    limit: changes,
    body: FlowChange,
    idempotency: 'optional',
    audits: ['test_flow.updated'],
    answers: { 200: Flow },
    refusals: [{ status: 409, code: 'flow_busy' }],
    handle: ({ db, access, body, now }) => changeFlow(db, access, body, now),
  }),
  route({
    name: 'deleteFlow',
    method: 'DELETE',
    path: '/api/apps/{app_id}/testing-agent/flows/{flow_id}',
    summary: 'Delete a test and keep its runs and reports',
    description:
      'If the test is running, the run is cancelled and its browser closed first. After a 503 response, send the request again.',
    credentials: writeCredentials,
    access: flowToDeleteGuard,
    limit: perMinute(300, 'caller+app', { scaledBy: 'override' }),
    work: 'outside',
    heldSeconds: 20,
    repeat: 'safe',
    audits: { sometimes: ['test_flow.delete_requested', 'test_flow.deleted', 'test_run.cancelled'] },
    answers: { 200: Success },
    refusals: [{ status: 503, code: 'browser_unavailable' }],
    handle: ({ db, access, now }) => deleteFlow(db, deps, access, now),
  }),
  route({
    name: 'generateFlows',
    method: 'POST',
    path: '/api/apps/{app_id}/testing-agent/flows/generate-from-app-context',
    summary: 'Let the language model write up to five tests based on the contents of an app',
    description: 'Costs 2 credits. `no_changes` is true if the model found nothing new to test.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(20, 'caller+app'),
    stores: 3_000,
    work: 'outside',
    effect: 'spend',
    prices: [perCall(generationPrice)],
    idempotency: 'optional',
    heldSeconds: 65,
    audits: { sometimes: ['test_flow.created'] },
    answers: { 200: GeneratedFlows },
    refusals: [...creditRefusals, { status: 409, code: 'limit_reached' }, { status: 503, code: 'model_unavailable' }],
    precheck: ({ db, access, now }) => proposeFlows(db, deps, access, now),
    handle: ({ db, access, now }, proposed) => saveProposedFlows(db, access, proposed, now),
  }),
];

const executionRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'startExecution',
    method: 'POST',
    path: '/api/apps/{app_id}/testing-agent/executions',
    summary: 'Run a test on the published app',
    description:
      'Costs 3 credits. Poll `getExecution` until `completed_at` is set, then read the report with `getTestReport`.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller+app'),
    stores: 5_000,
    effect: 'spend',
    prices: [perCall(runPrice)],
    needsWorker: true,
    idempotency: 'optional',
    body: NewExecution,
    audits: ['test_run.started'],
    answers: { 200: Execution },
    refusals: [
      { status: 404, code: 'flow_not_found' },
      { status: 409, code: 'nothing_to_publish' },
      { status: 409, code: 'run_in_progress' },
      { status: 503, code: 'browser_unavailable' },
      { status: 503, code: 'model_unavailable' },
      ...creditRefusals,
    ],
    precheck: () => deps.model.readState(),
    handle: ({ db, access, body, now }, modelState) =>
      startExecution(db, deps, access, { input: body, modelState }, now),
  }),
  route({
    name: 'listExecutions',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/executions',
    summary: 'List the test runs of an app, including those of deleted tests, newest first',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: reads,
    work: 'slow',
    query: ExecutionQuery,
    answers: { 200: items(Execution) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { flow_id, limit, cursor } = query;
      const binding = ['listExecutions', access.app.id, access.caller.credential_id, flow_id ?? null];
      const rows = await listExecutions(db, toAppKey(access), query, deps.cursors.open(cursor, binding, now));
      return deps.cursors.page(rows, limit, binding, now, presentExecution, (row) => [row.id]);
    },
  }),
  route({
    name: 'latestExecutions',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/executions/latest-by-flow',
    summary: 'Read the newest run of each test of an app, keyed by the id of the test',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: reads,
    work: 'slow',
    answers: { 200: ExecutionsByFlow },
    handle: ({ db, access }) => latestExecutions(db, access),
  }),
  route({
    name: 'getExecution',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/executions/{execution_id}',
    summary: 'Read a test run',
    credentials: writeCredentials,
    access: executionGuard,
    limit: reads,
    answers: { 200: Execution },
    handle: ({ access }) => presentExecution(access.execution),
  }),
  route({
    name: 'cancelExecution',
    method: 'POST',
    path: '/api/apps/{app_id}/testing-agent/executions/{execution_id}/cancel',
    summary: 'Cancel a test run and close its browser',
    description:
      'Waits up to 5 seconds for the browser to close. `already_terminal` is true if the run had ended before.',
    credentials: writeCredentials,
    access: executionGuard,
    limit: changes,
    work: 'outside',
    heldSeconds: 10,
    repeat: 'safe',
    audits: ['test_run.cancelled'],
    answers: { 200: CancelledExecution },
    handle: ({ db, access, now }) => cancelExecution(db, deps, access, now),
  }),
];

const reportRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'getTestReport',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/analysis/{execution_id}',
    summary: 'Read the report of a test run',
    description: 'The addresses of screenshots and traces in the report expire after an hour.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: reads,
    answers: { 200: TestReport },
    refusals: [{ status: 404, code: 'report_not_found' }],
    handle: ({ db, access, params, now }) => getTestReport(db, access, deps.addressOf, params.execution_id, now),
  }),
  route({
    name: 'getTestEvidence',
    method: 'GET',
    path: '/api/apps/{app_id}/testing-agent/evidence/{execution_id}/{file}',
    parameterTexts: { file: { text: 'The file name of the screenshot or trace.', example: '1-4.jpg' } },
    summary: 'Fetch a screenshot or trace at an address from a report',
    credentials: open,
    access: anyone,
    limit: perMinute(300, 'address'),
    work: 'outside',
    query: EvidenceQuery,
    headers: ['Content-Disposition'],
    answers: { 200: media(imageType, 'A screenshot') },
    alsoAnswers: [media(traceType, 'A Playwright trace')],
    refusals: [{ status: 404, code: 'report_not_found' }],
    handle: ({ params, query, now }) => getTestEvidence(deps, { params, query }, now),
  }),
];
