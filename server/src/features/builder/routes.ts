// Owns the HTTP contract of the builder chat.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { builtAppAs } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { FollowDeps } from '../../core/turns/follow.ts';
import { NewMessage } from '../../core/turns/messages.ts';
import { createSendHandlers } from '../../core/turns/send.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { items } from '../../kit/http/shapes.ts';
import { type ChatAnswerDeps, createTurnKind } from './answer.ts';
import { stopChat } from './chat.ts';
import { ChatMessage, ChatQuery, ChatStopped, ChatTurn, presentMessage } from './contract.ts';
import { listMessages, toChatKey } from './store/messages.ts';

export interface ChatRouteDeps extends ChatAnswerDeps, FollowDeps {
  readonly wake: ChatAnswerDeps['wake'] & FollowDeps['wake'];
  readonly cursors: Cursors;
}

/** The events of a turn, as `data:` of each. A comment line is sent every 15 seconds to keep the connection open. */
const turnStream = media('text/event-stream', 'The turn as it runs', {
  type: 'string',
  description:
    'Server-sent events with an `id` for `Last-Event-ID`. `message.created` and `message.completed`: a message; `message.delta`: `{"text": "…"}`, to be appended; `tool_call`: a tool call; `message.reset`: discard the deltas so far; `turn.completed`: the same object as without a stream; `error`: a problem.',
});

export const chatRoutes = (deps: ChatRouteDeps): Route[] => [
  sendChatMessage(deps),
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
    answers: { 200: items(ChatMessage) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['getChat', access.app.id, access.caller.credential_id];
      const after = deps.cursors.open(query.cursor, binding, now);
      const rows = await listMessages(db, toChatKey(access), query.limit, after);
      return deps.cursors.page(rows, query.limit, binding, now, presentMessage, ({ position }) => [position]);
    },
  }),
  route({
    name: 'stopChat',
    method: 'POST',
    path: '/api/apps/{app_id}/chat/stop',
    summary: 'Stop the turn of the chat that is running; nothing that it changed is saved',
    description: '`stopped` is false if no turn was running, with `X-Changed: false`.',
    credentials: writeCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(60, 'caller'),
    audits: 'nothing',
    answers: { 200: ChatStopped },
    handle: ({ db, access, now }) => stopChat(db, access, deps, now),
  }),
];

const sendChatMessage = (deps: ChatRouteDeps): Route =>
  route({
    name: 'sendChatMessage',
    effect: 'spend',
    heldSeconds: 600,
    alsoAnswers: [turnStream],
    method: 'POST',
    path: '/api/apps/{app_id}/chat/message',
    summary: 'Build an app by chat: send a message to its assistant',
    description:
      'Responds when the turn has ended, after at most 10 minutes. A turn that failed answers 200 with `status.state` `error`, and nothing of it is saved. With `Accept: text/event-stream` the turn is streamed as `message.created`, `message.delta`, `tool_call`, `message.reset` (discard the deltas so far), `message.completed` and `turn.completed`, or `error`. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.',
    needsWorker: true,
    credentials: writeCredentials,
    access: builtAppAs('editor'),
    limit: perMinute(20, 'caller+app'),
    idempotency: 'optional',
    body: NewMessage,
    audits: { sometimes: ['app.files_changed', 'entity_schema.created', 'entity_schema.updated'] },
    answers: { 200: ChatTurn },
    refusals: [
      { status: 409, code: 'app_busy' },
      { status: 504, code: 'reply_timeout' },
    ],
    ...createSendHandlers(createTurnKind(deps), deps),
  });
