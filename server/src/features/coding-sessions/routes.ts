// Owns the HTTP contract of repositories of imported apps and of coding sessions.
import { open, readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { anyone, appAs, importedAppAs, nestedResource } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { GitHost } from '../../gateways/git-host/types.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import { cancelSession } from './cancel.ts';
import {
  CodingSession,
  Launch,
  NewRepository,
  NewSessionMessage,
  OpenInputRequest,
  presentSession,
  Repository,
  SessionMessage,
  SessionQuery,
} from './contract.ts';
import { toInputRequest } from './input-request.ts';
import { checkLaunch, type LaunchDeps, launchSession } from './launch.ts';
import { findOwnSession, getSessionMessage, type MessageDeps, sendSessionMessage } from './messages.ts';
import { sessionPage as renderedPage } from './page.ts';
import { type ReadDeps, readSession, readSessionByKey } from './read.ts';
import {
  checkRepository,
  connectRepository,
  disconnectRepository,
  getRepository,
  type RepositoryDeps,
} from './repository.ts';
import { findSession, listSessions, toAppKey } from './store/sessions.ts';
import { type StreamDeps, streamSeconds, streamSession } from './stream.ts';

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

/** Checked before the handler runs, because the header is required. */
const toKey = (headers: Readonly<Record<string, string | string[] | undefined>>): string =>
  String(headers['idempotency-key']);

const sessionEvents = media('text/event-stream', 'The events of the session', {
  type: 'string',
  description:
    'Server-sent events; the `id` of each is the version of the session. `state`: the session; `input_request`: what it asks; `log`: `{"text": "…"}`, what it does.',
});

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
      'The token is encrypted and never shown. It needs to read and write contents and pull requests: what it lacks is in `missing_permissions`. Without `credentials`, the App that the operator registered at the git host is used, if the operator has given the repository to the workspace.',
    credentials: writeCredentials,
    access: importedApp,
    limit: repositoryChanges,
    work: 'outside',
    heldSeconds: 20,
    body: NewRepository,
    audits: ['repository.connected'],
    answers: { 200: Repository },
    refusals: [sessionBusy, hostUnavailable],
    precheck: ({ access, body }) => checkRepository(deps, access, body),
    handle: ({ db, access, body, now }, checked) => connectRepository(db, deps, access, body, checked, now),
  }),
  route({
    name: 'disconnectRepository',
    method: 'DELETE',
    path: repositories,
    summary: 'Disconnect an imported app from its repository; the token is deleted',
    credentials: writeCredentials,
    access: importedApp,
    limit: repositoryChanges,
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
      'Answers before the work starts. Send the same `Idempotency-Key` again if you got no answer: it never starts a second session, and answers the session as it is now. Costs 1 credit per 10,000 tokens, at least 2.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: work,
    work: 'outside',
    effect: 'spend',
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
      launchSession(db, deps, access, body, toKey(headers), check, now),
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
    description: 'To find out whether a launch without an answer was accepted. It starts nothing.',
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
      'The state of its pull request is read anew if it is older than a minute. If the git host does not answer, `X-Partial-Result` names `pull_request`.',
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
    summary: 'Cancel a coding session; what it has pushed stays',
    description: 'One that is queued ends at once. Any other is `cancelling` until it has stopped, at most 20 seconds.',
    credentials: writeCredentials,
    access: sessionGuard,
    limit: work,
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
    handle: ({ access }) => ({ input_request: toInputRequest(access.session) }),
  }),
];

const messageRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'sendSessionMessage',
    method: 'POST',
    path: `${sessions}/{session_id}/messages`,
    summary: 'Answer, approve or write to a coding session',
    description:
      'A text is read at the next step. One to a session that has ended begins another turn on the same branch. `answers` and `approve` need the `input_request_id` of the open question.',
    credentials: writeCredentials,
    access: ownSessionGuard,
    limit: perMinute(30, 'user'),
    effect: 'spend',
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
    handle: ({ db, access, body, headers, now }) => sendSessionMessage(db, deps, access, body, toKey(headers), now),
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
      'Begins with the session as it is, or after `Last-Event-ID`. Ends when the session has ended, and after 30 minutes: continue with the last `id`.',
    credentials: readCredentials,
    access: sessionGuard,
    limit: reads,
    work: 'outside',
    heldSeconds: streamSeconds,
    headers: ['X-Session-Version'],
    answers: { 200: sessionEvents },
    handle: ({ db, access, headers }) => streamSession(db, deps, access, headers['last-event-id']?.toString()),
  }),
];

const sessionPage = route({
  name: 'sessionPage',
  method: 'GET',
  path: '/editor/{app_id}/sessions/{session_id}',
  summary: 'Show the page of a coding session',
  description: 'It contains no data: its script reads the session with the cookie of a signed-in person.',
  credentials: open,
  access: anyone,
  limit: perMinute(60, 'address'),
  answers: { 200: media('text/html; charset=utf-8', 'HTML page') },
  handle: () => answerWithPage(renderedPage),
});
