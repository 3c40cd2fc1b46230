// The HTTP contract for imported apps' repositories and for coding sessions.
import { open, readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs, importedAppAs } from '../../core/auth/guards/app.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { GitHost } from '../../gateways/git-host/types.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { eventMedia, media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page/page.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import {
  CodingSession,
  InputRequest,
  Launch,
  NewRepository,
  NewSessionMessage,
  OpenInputRequest,
  presentSession,
  Repository,
  SessionLogLine,
  SessionMessage,
  SessionQuery,
} from './contract.ts';
import { sessionPage as renderedPage } from './page.ts';
import {
  checkRepository,
  connectRepository,
  disconnectRepository,
  getRepository,
  type RepositoryDeps,
} from './repository/repository.ts';
import { cancelSession } from './session/cancel.ts';
import { toInputRequest } from './session/input-request.ts';
import { checkLaunch, type LaunchDeps, launchSession } from './session/launch.ts';
import { findOwnSession, getSessionMessage, type MessageDeps, sendSessionMessage } from './session/messages.ts';
import { type ReadDeps, readSession, readSessionByKey } from './session/read.ts';
import { type StreamDeps, streamSeconds, streamSession } from './session/stream.ts';
import { findLauncher, findSession, listSessions, toAppKey } from './store/sessions.ts';
import { endStates } from './transitions.ts';
import { turnPrice } from './turn/costs.ts';

export interface RouteDeps extends RepositoryDeps, LaunchDeps, MessageDeps, ReadDeps, StreamDeps {
  readonly cursors: Cursors;
  readonly gitHost: GitHost;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
}

const importedApp = importedAppAs('editor');
const sessionGuard = nestedResource(importedApp, 'session', findSession);
const ownSessionGuard = nestedResource(importedApp, 'session', findOwnSession);

const reads = perMinute(60, 'user', { group: 'coderead' });
const work = perMinute(6, 'user', { group: 'code' });
const repositoryChanges = perMinute(6, 'user');

const notConnected = { status: 404, code: 'repository_not_connected' } as const;
const sessionBusy = { status: 409, code: 'session_busy' } as const;
const hostUnavailable = { status: 503, code: 'git_host_unavailable' } as const;
const creditRefusals = [
  { status: 402, code: 'credits_exhausted' },
  { status: 402, code: 'credit_limit_reached' },
] as const;
const keyConflict = { status: 409, code: 'idempotency_conflict' } as const;
const repositoryMismatch = { status: 409, code: 'repository_mismatch' } as const;

/** The header is required, and its presence has already been checked. */
const toKey = (headers: Readonly<Record<string, string | string[] | undefined>>): string =>
  String(headers['idempotency-key']);

const sessionEvents = eventMedia(
  'The events of the session',
  'Server-sent events, listed in `x-events`. The `id` is the version of the session, and `log` says what the agent does and what people send to it. A session can be `completed` and `queued` again at once, so a last state is the last event only if the stream then ends.',
  {
    state: { data: CodingSession, last: { state: endStates } },
    input_request: { data: InputRequest },
    log: { data: SessionLogLine },
  },
);

const repositories = '/api/apps/{app_id}/imported/repository';
const sessions = '/api/apps/{app_id}/imported/sessions';

export const codingSessionRoutes = (deps: RouteDeps): Route[] => [
  ...repositoryRoutes(deps),
  ...sessionRoutes(deps),
  ...messageRoutes(deps),
  sessionPage,
];

const repositoryRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'getRepository',
    method: 'GET',
    path: repositories,
    summary: 'Read which repository an imported app is connected to',
    credentials: readCredentials,
    access: importedApp,
    limit: reads,
    answers: { 200: Repository },
    refusals: [notConnected],
    handle: ({ db, access }) => getRepository(db, access),
  }),
  route({
    name: 'connectRepository',
    method: 'PUT',
    path: repositories,
    summary: 'Connect an imported app to its repository at the git host',
    description:
      'The token is encrypted and never shown. It must be allowed to read and write contents and pull requests; `missing_permissions` lists what it lacks. Without `credentials`, the App that the operator registered at the git host is used, if the operator has given the repository to the workspace.',
    credentials: writeCredentials,
    access: importedApp,
    limit: repositoryChanges,
    work: 'outside',
    heldSeconds: 20,
    body: NewRepository,
    idempotency: 'optional',
    audits: ['repository.connected'],
    answers: { 200: Repository },
    refusals: [sessionBusy, hostUnavailable],
    precheck: ({ access, body }) => checkRepository(deps, access, body),
    handle: ({ db, access, body, now }, checked) => connectRepository(db, deps, access, { input: body, checked }, now),
  }),
  route({
    name: 'disconnectRepository',
    method: 'DELETE',
    path: repositories,
    summary: 'Disconnect an imported app from its repository and delete the token',
    credentials: writeCredentials,
    access: importedApp,
    limit: repositoryChanges,
    repeat: 'safe',
    audits: ['repository.disconnected'],
    answers: { 200: Success },
    refusals: [notConnected, sessionBusy],
    handle: ({ db, access, now }) => disconnectRepository(db, access, now),
  }),
];

const sessionRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'launchSession',
    method: 'POST',
    path: sessions,
    summary: "Let an agent carry out a task in the app's repository and open a pull request",
    description:
      'Responds before the work starts. If you get no response, send the same `Idempotency-Key` again: it never starts a second session, and returns the session as it is now. A session costs 1 credit per 10,000 tokens, at least 2.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: work,
    stores: 'measured',
    work: 'outside',
    effect: 'spend',
    prices: [turnPrice],
    needsWorker: true,
    idempotency: 'required',
    keepsKeys: true,
    heldSeconds: 20,
    body: Launch,
    audits: ['session.launched'],
    answers: { 200: CodingSession },
    refusals: [
      keyConflict,
      { status: 400, code: 'not_an_imported_app' },
      notConnected,
      repositoryMismatch,
      { status: 400, code: 'branch_not_allowed' },
      sessionBusy,
      ...creditRefusals,
      hostUnavailable,
      { status: 503, code: 'model_unavailable' },
    ],
    precheck: ({ db, access, body, headers }) => checkLaunch(db, deps, access, body, toKey(headers)),
    handle: ({ db, access, body, headers, now }, check) =>
      launchSession(db, deps, access, { launch: body, key: toKey(headers), check }, now),
  }),
  route({
    name: 'listSessions',
    method: 'GET',
    path: sessions,
    summary: 'List the coding sessions of an app, newest first',
    credentials: readCredentials,
    access: importedApp,
    limit: reads,
    work: 'slow',
    query: SessionQuery,
    answers: { 200: items(CodingSession) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { state, client_reference, limit, cursor } = query;
      const { app, caller } = access;
      const binding = ['listSessions', app.id, caller.credential_id, state ?? null, client_reference ?? null];
      const rows = await listSessions(db, toAppKey(access), query, deps.cursors.open(cursor, binding, now));
      return deps.cursors.page(
        rows,
        limit,
        binding,
        now,
        (row) => presentSession(row, deps.baseUrl),
        ({ id }) => [id],
      );
    },
  }),
  route({
    name: 'getSessionByKey',
    method: 'GET',
    path: `${sessions}/launch-requests/{launch_key}`,
    summary: 'Read the session that you launched with this Idempotency-Key',
    description: 'Shows whether a launch that you got no response to was accepted. It never launches a session.',
    credentials: readCredentials,
    access: importedApp,
    limit: reads,
    work: 'outside',
    heldSeconds: 10,
    headers: ['X-Session-Version'],
    answers: { 200: CodingSession },
    refusals: [{ status: 404, code: 'session_not_found' }],
    handle: ({ db, access, params, now }) => readSessionByKey(db, deps, access, params.launch_key, now),
  }),
  route({
    name: 'getSession',
    method: 'GET',
    path: `${sessions}/{session_id}`,
    summary: 'Read a coding session',
    description:
      'The state of the pull request is refreshed if it is older than a minute. If the git host does not respond, `X-Partial-Result` names `pull_request`.',
    credentials: readCredentials,
    access: sessionGuard,
    limit: reads,
    work: 'outside',
    heldSeconds: 10,
    headers: ['X-Session-Version'],
    answers: { 200: CodingSession },
    handle: ({ db, access, now }) => readSession(db, deps, access.session, now),
  }),
  route({
    name: 'cancelSession',
    method: 'POST',
    path: `${sessions}/{session_id}/cancel`,
    summary: 'Cancel a coding session and keep what it has pushed',
    description:
      'A queued session ends at once. Any other active session is `cancelling` until it has stopped, for at most 20 seconds.',
    credentials: writeCredentials,
    access: sessionGuard,
    limit: work,
    repeat: 'safe',
    audits: { sometimes: ['session.cancelled', 'session.cancel_requested'] },
    answers: { 200: CodingSession },
    handle: ({ db, access, now }) => cancelSession(db, deps, access, now),
  }),
  route({
    name: 'getInputRequest',
    method: 'GET',
    path: `${sessions}/{session_id}/input-request`,
    summary: 'Read the open question or approval of a coding session',
    credentials: readCredentials,
    access: sessionGuard,
    limit: reads,
    answers: { 200: OpenInputRequest },
    handle: async ({ db, access }) => ({
      input_request: toInputRequest(access.session),
      launched_by: await findLauncher(db, access.session),
    }),
  }),
];

const messageRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'sendSessionMessage',
    method: 'POST',
    path: `${sessions}/{session_id}/messages`,
    summary: 'Answer, approve or write to a coding session',
    description:
      'A text is read at the next step of the session. If the session has ended, a text starts another turn on the same branch. `answers` and `approve` require the `input_request_id` of the open question or approval.',
    credentials: writeCredentials,
    access: ownSessionGuard,
    limit: perMinute(30, 'user'),
    stores: 'measured',
    effect: 'spend',
    prices: [turnPrice],
    needsWorker: true,
    idempotency: 'required',
    keepsKeys: true,
    body: NewSessionMessage,
    audits: ['session.message_sent'],
    answers: { 200: SessionMessage },
    refusals: [
      keyConflict,
      { status: 403, code: 'not_session_owner' },
      { status: 400, code: 'branch_not_allowed' },
      notConnected,
      repositoryMismatch,
      sessionBusy,
      { status: 409, code: 'session_not_waiting' },
      { status: 409, code: 'input_request_changed' },
      ...creditRefusals,
    ],
    handle: ({ db, access, body, headers, now }) =>
      sendSessionMessage(db, deps, access, { message: body, key: toKey(headers) }, now),
  }),
  route({
    name: 'getSessionMessage',
    method: 'GET',
    path: `${sessions}/{session_id}/messages/{input_id}`,
    summary: 'Read whether the agent has read a message',
    credentials: readCredentials,
    access: sessionGuard,
    limit: reads,
    answers: { 200: SessionMessage },
    refusals: [{ status: 404, code: 'message_not_found' }],
    handle: ({ db, access, params }) => getSessionMessage(db, access, params.input_id),
  }),
  route({
    name: 'streamSession',
    method: 'GET',
    path: `${sessions}/{session_id}/events`,
    summary: 'Follow a coding session as a stream of events',
    description:
      'Begins with the session as it is, or after `Last-Event-ID`. Ends with the session, or after 30 minutes; to continue, send the last `id` that you received.',
    credentials: readCredentials,
    access: sessionGuard,
    limit: reads,
    work: 'outside',
    heldSeconds: streamSeconds,
    headers: ['X-Session-Version'],
    answers: { 200: sessionEvents },
    refusals: [{ status: 429, code: 'too_many_streams' }],
    handle: ({ access, headers, held }) =>
      streamSession(deps, access, { lastEventId: headers['last-event-id']?.toString(), held }),
  }),
];

const sessionPage = route({
  name: 'sessionPage',
  method: 'GET',
  path: '/editor/{app_id}/sessions/{session_id}',
  summary: 'Show the page of a coding session',
  description: 'The page contains no data; its script reads the session with the cookie of the signed-in person.',
  credentials: open,
  access: anyone,
  limit: perMinute(60, 'address'),
  answers: { 200: media('text/html; charset=utf-8', 'HTML page') },
  handle: () => answerWithPage(renderedPage),
});
