// The builder chat's HTTP contract.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { builtAppAs } from '../../core/auth/guards/app.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { FollowDeps } from '../../core/turns/answer.ts';
import { turnEvents } from '../../core/turns/messages.ts';
import { createSendHandlers } from '../../core/turns/send.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { eventMedia } from '../../kit/http/operation.ts';
import { ProblemBody } from '../../kit/http/shapes.ts';
import { type ChatAnswerDeps, createTurnKind } from './answer.ts';
import { stopChat } from './chat.ts';
import {
  AppRevision,
  Chat,
  ChatMessage,
  ChatQuery,
  ChatStopped,
  ChatTurn,
  HeldRulesAnswer,
  HeldRulesAnswered,
  NewChatMessage,
  presentHeldRule,
  presentMessage,
  TurnStarted,
} from './contract.ts';
import { turnPrice } from './costs.ts';
import type { AppSchemas, AppSignUp } from './draft.ts';
import { followChat, followSeconds } from './follow.ts';
import { answerHeldRule } from './held-rules.ts';
import { findHeldRule, listHeldRules } from './store/held-rules.ts';
import { listMessages, toChatKey } from './store/messages.ts';

export interface ChatRouteDeps extends ChatAnswerDeps, FollowDeps {
  readonly cursors: Cursors;
  readonly schemas: AppSchemas;
  readonly signUp: AppSignUp;
}

/** A turn's events, each sent as `data:`. A comment line every 15 seconds keeps the connection open. */
const turnStream = eventMedia(
  'The turn as it runs',
  'Server-sent events, listed in `x-events`. The texts of `message.delta` are to be appended, `message.reset` means that the deltas so far must be discarded, and `turn.completed` contains the same object as a response without a stream.',
  {
    ...turnEvents(ChatMessage),
    'turn.completed': { data: ChatTurn, last: true },
    error: { data: ProblemBody, last: true },
  },
);

const chatStream = eventMedia(
  'The turns of the app',
  'Server-sent events, listed in `x-events`. The stream begins with `app.changed`. The events of a turn are those of `sendChatMessage`, after `turn.started`.',
  {
    'app.changed': { data: AppRevision },
    'turn.started': { data: TurnStarted },
    ...turnEvents(ChatMessage),
    'turn.completed': { data: ChatTurn },
    error: { data: ProblemBody, last: true },
  },
);

export const chatRoutes = (deps: ChatRouteDeps): Route[] => [
  sendChatMessage(deps),
  route({
    name: 'followChat',
    method: 'GET',
    path: '/api/apps/{app_id}/chat/events',
    summary: "Follow all turns of an app's chat, and its revisions, as a stream of events",
    description:
      'Begins with the running turn, if there is one, or after `Last-Event-ID`. Ends after 30 minutes; to continue, send the last `id` that you received.',
    credentials: readCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(60, 'caller'),
    work: 'outside',
    heldSeconds: followSeconds,
    answers: { 200: chatStream },
    refusals: [
      { status: 422, code: 'validation' },
      { status: 429, code: 'too_many_streams' },
    ],
    handle: ({ db, access, headers, held }) =>
      followChat(db, deps, access, { lastEventId: headers['last-event-id'], held }),
  }),
  route({
    name: 'getChat',
    method: 'GET',
    path: '/api/apps/{app_id}/chat/full-conversation',
    summary: "List the messages of an app's chat, newest first",
    credentials: readCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(120, 'caller'),
    work: 'slow',
    query: ChatQuery,
    answers: { 200: Chat },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['getChat', access.app.id, access.caller.credential_id];
      const after = deps.cursors.open(query.cursor, binding, now);
      const rows = await listMessages(db, toChatKey(access), query.limit, after);
      const page = deps.cursors.page(rows, query.limit, binding, now, presentMessage, ({ position }) => [position]);
      return { ...page, held_rules: (await listHeldRules(db, access)).map(presentHeldRule) };
    },
  }),
  route({
    name: 'stopChat',
    method: 'POST',
    path: '/api/apps/{app_id}/chat/stop',
    summary: "Stop the running turn of an app's chat; nothing that it changed is saved",
    description: 'If no turn was running, `stopped` is false, and the response has `X-Changed: false`.',
    credentials: writeCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: 'nothing',
    answers: { 200: ChatStopped },
    handle: ({ db, access, now }) => stopChat(db, deps, access, now),
  }),
  answerHeldRules(deps),
];

const heldRuleGuard = nestedResource(builtAppAs('editor'), 'held_rule', findHeldRule, 'held_id');

const answerHeldRules = (deps: ChatRouteDeps): Route =>
  route({
    name: 'answerHeldRules',
    method: 'POST',
    path: '/api/apps/{app_id}/chat/held-rules/{held_id}',
    summary: 'Apply or drop a rule that the assistant proposed and that would open data',
    description:
      'Applying a rule creates one revision. After 409 `held_rules_outdated`, the proposal can only be dropped.',
    credentials: writeCredentials,
    access: heldRuleGuard,
    limit: perMinute(60, 'caller'),
    stores: 'measured',
    body: HeldRulesAnswer,
    repeat: 'safe',
    audits: {
      sometimes: [
        'entity_schema.updated',
        'entity_schema.rule_dropped',
        'app.auth_settings_changed',
        'app.sign_up_dropped',
      ],
    },
    answers: { 200: HeldRulesAnswered },
    refusals: [
      { status: 402, code: 'storage_quota_exceeded' },
      { status: 409, code: 'held_rules_outdated' },
    ],
    handle: ({ db, access, body, now }) => answerHeldRule(db, deps, access, body, now),
  });

const sendChatMessage = (deps: ChatRouteDeps): Route =>
  route({
    name: 'sendChatMessage',
    effect: 'spend',
    prices: [turnPrice],
    heldSeconds: 600,
    alsoAnswers: [turnStream],
    method: 'POST',
    path: '/api/apps/{app_id}/chat/message',
    parameterTexts: {
      'Idempotency-Key': {
        text: 'A value that you choose once per message; a repeat with the same value joins the turn that the first request started.',
        example: 'message-4711',
      },
    },
    summary: 'Build an app by chat: send a message to its assistant',
    description:
      'Responds when the turn has ended, after at most 10 minutes. If the turn fails, the response is 200 with `status.state` `error`, and nothing is saved. With `Accept: text/event-stream` the turn is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.',
    needsWorker: true,
    credentials: writeCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(20, 'caller+app'),
    stores: 5_000,
    idempotency: 'optional',
    body: NewChatMessage,
    audits: { sometimes: ['app.files_changed', 'entity_schema.created', 'entity_schema.updated'] },
    answers: { 200: ChatTurn },
    refusals: [
      { status: 409, code: 'app_busy' },
      { status: 429, code: 'too_many_streams' },
      { status: 504, code: 'reply_timeout' },
    ],
    ...createSendHandlers(createTurnKind(deps), deps),
  });
