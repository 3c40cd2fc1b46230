// The HTTP contract for agents, conversations and memories.
import { z } from 'zod';
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { agentAs } from '../../core/auth/guards/app.ts';
import type { Guard } from '../../core/auth/guards/guard.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { getListPosition } from '../../core/identity/app-list.ts';
import { NewMessage, turnEvents } from '../../core/turns/messages.ts';
import { createSendHandlers } from '../../core/turns/send.ts';
import type { LanguageModel } from '../../gateways/language-model/index.ts';
import type { Clock } from '../../kit/clock.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { eventMedia } from '../../kit/http/operation.ts';
import { items, ProblemBody, Success } from '../../kit/http/shapes.ts';
import { type CampaignStops, changeAgent, createAgent, deleteAgent, getAgent } from './agent.ts';
import {
  Agent,
  AgentChange,
  AgentQuery,
  Conversation,
  ConversationQuery,
  ListedConversation,
  Memory,
  MemoryQuery,
  Message,
  NewAgent,
  NewConversation,
  presentAgent,
  presentListedConversation,
  presentMemory,
} from './contract.ts';
import { createConversation, deleteMessage, getConversation, replyPrice, type SendAccess } from './conversation.ts';
import { deleteMemory } from './memory.ts';
import { createTurnKind, type ReplyDeps } from './reply.ts';
import { listAgents } from './store/agents.ts';
import { type ConversationAccess, findConversation, listConversations } from './store/conversations.ts';
import { findMemory, listMemories } from './store/memories.ts';

export interface AgentDeps extends ReplyDeps {
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly model: LanguageModel;
  readonly addresses: AppAddresses;
  readonly campaigns: CampaignStops;
}

export const agentRoutes = (deps: AgentDeps): Route[] => [
  ...crudRoutes(deps),
  ...conversationRoutes(deps),
  ...memoryRoutes(deps.cursors),
];

const ownOnly = <Proof>(guard: Guard<Proof>): Guard<Proof> => ({ ...guard, needs: 'app viewer, own only' });
const ownConversation = ownOnly(nestedResource(agentAs('viewer'), 'conversation', findConversation));
const ownMemory = ownOnly(nestedResource(agentAs('viewer'), 'memory', findMemory));

/** Checks the model after all guards and before any transaction, so a slow model keeps no transaction open. */
const withModelCheck = (guard: Guard<ConversationAccess>, model: LanguageModel): Guard<SendAccess> => ({
  ...guard,
  decide: (found, exchange) => guard.decide(found, exchange) as SendAccess,
  loadNested: async (db, proof, exchange) => {
    const access = (await guard.loadNested?.(db, proof, exchange)) ?? proof;
    return { ...access, model: await model.readState() };
  },
});

/** A reply's events, each in a `data:` field. A comment line is sent every 15 seconds to keep the connection open. */
const replyStream = eventMedia(
  'The reply as it is written',
  'Server-sent events, listed in `x-events`. The texts of `message.delta` are to be appended, and `message.reset` means that the deltas so far must be discarded.',
  {
    ...turnEvents(Message),
    'message.completed': { data: Message, last: true },
    error: { data: ProblemBody, last: true },
  },
);

// The agent was deleted after the guard found it.
const deletedSince = { status: 404, code: 'app_not_found' } as const;

const crudRoutes = ({ cursors, addresses, campaigns }: AgentDeps): Route[] => [
  route({
    name: 'listAgents',
    method: 'GET',
    path: '/api/agents',
    summary: 'List the agents of the workspace that the caller can see',
    credentials: writeCredentials,
    access: workspaceAs('guest'),
    limit: perMinute(60, 'caller'),
    work: 'slow',
    query: AgentQuery,
    answers: { 200: items(Agent) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listAgents', access.workspace_id, access.caller.credential_id, filters];
      const rows = await listAgents(db, access, query, cursors.open(cursor, binding, now));
      const present = ({ sort_key: _, instructions, model, ...app }: (typeof rows)[number]) =>
        presentAgent(app, { instructions, model }, addresses);
      return cursors.page(rows, limit, binding, now, present, getListPosition);
    },
  }),
  route({
    name: 'createAgent',
    method: 'POST',
    path: '/api/agents',
    summary: 'Create an agent',
    credentials: writeCredentials,
    access: unlimitedToken(workspaceAs('editor')),
    limit: perMinute(5, 'workspace', { group: 'create' }),
    stores: 6_000,
    idempotency: 'optional',
    body: NewAgent,
    audits: ['app.created'],
    answers: { 200: Agent },
    handle: ({ db, access, body, now }) => createAgent(db, access, body, addresses, now),
  }),
  route({
    name: 'getAgent',
    method: 'GET',
    path: '/api/agents/{agent_id}',
    summary: 'Read one agent',
    credentials: writeCredentials,
    access: agentAs('viewer'),
    limit: perMinute(120, 'caller'),
    answers: { 200: Agent },
    handle: ({ db, access }) => getAgent(db, access, addresses),
  }),
  route({
    name: 'updateAgent',
    method: 'PATCH',
    path: '/api/agents/{agent_id}',
    summary: 'Change an agent; fields that are not sent keep their value',
    description: 'To change fields that all apps have (slug, visibility, owner and so on), use `updateApp`.',
    credentials: writeCredentials,
    access: agentAs('editor'),
    limit: perMinute(60, 'caller'),
    body: AgentChange,
    idempotency: 'optional',
    audits: ['app.updated'],
    answers: { 200: Agent },
    refusals: [deletedSince],
    handle: ({ db, access, body, now }) => changeAgent(db, access, body, addresses, now),
  }),
  route({
    name: 'deleteAgent',
    method: 'DELETE',
    path: '/api/agents/{agent_id}',
    summary: 'Move an agent to the trash; it can be restored for 30 days',
    description:
      "The agent's campaigns are paused first, and stay paused if the agent is restored. If the ad platform does not confirm the pause, the response is 409 `ad_platform_timeout`, and the agent is kept.",
    credentials: writeCredentials,
    access: agentAs('owner'),
    limit: perMinute(30, 'caller'),
    work: 'outside',
    needsWorker: true,
    heldSeconds: 60,
    repeat: 'safe',
    audits: ['app.deleted', 'ads.campaign.pause_requested'],
    answers: { 200: Success },
    refusals: [deletedSince, { status: 409, code: 'ad_platform_timeout' }],
    handle: ({ db, access, now }) => deleteAgent(db, access, campaigns, now),
  }),
];

const conversationRoutes = (deps: AgentDeps): Route[] => [
  route({
    name: 'createConversation',
    method: 'POST',
    path: '/api/agents/{agent_id}/conversations',
    summary: "Create the caller's conversation with an agent",
    description:
      'Each person has at most one conversation with an agent. A repeated call returns it unchanged (`X-Changed: false`), with the metadata of the first call.',
    credentials: writeCredentials,
    access: agentAs('viewer'),
    limit: perMinute(60, 'caller'),
    stores: 500,
    body: NewConversation,
    repeat: 'safe',
    audits: 'nothing',
    answers: { 200: Conversation },
    handle: ({ db, access, body, now }) => createConversation(db, access, body.metadata ?? {}, now),
  }),
  route({
    name: 'listConversations',
    method: 'GET',
    path: '/api/agents/{agent_id}/conversations',
    summary: "List the caller's own conversations with an agent, without their messages",
    credentials: writeCredentials,
    access: agentAs('viewer'),
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(ListedConversation) },
    handle: async ({ db, access }) => (await listConversations(db, access)).map(presentListedConversation),
  }),
  route({
    name: 'getConversation',
    method: 'GET',
    path: '/api/agents/{agent_id}/conversations/{conversation_id}',
    summary: "Read the caller's own conversation with its newest messages, or those before a given one, oldest first",
    credentials: readCredentials,
    access: ownConversation,
    limit: perMinute(120, 'caller'),
    work: 'slow',
    query: ConversationQuery,
    answers: { 200: Conversation },
    handle: ({ db, access, query }) => getConversation(db, access, query),
  }),
  sendAgentMessage(deps),
  route({
    name: 'deleteAgentMessage',
    method: 'DELETE',
    path: '/api/agents/{agent_id}/conversations/{conversation_id}/messages/{message_id}',
    summary: "Delete a message of the caller's own conversation",
    credentials: writeCredentials,
    access: ownConversation,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: 'nothing',
    answers: { 200: Success },
    handle: ({ db, access, params }) => deleteMessage(db, access, params.message_id),
  }),
];

const sendAgentMessage = (deps: AgentDeps): Route =>
  route({
    name: 'sendAgentMessage',
    effect: 'spend',
    prices: [replyPrice],
    heldSeconds: 300,
    alsoAnswers: [replyStream],
    method: 'POST',
    path: '/api/agents/{agent_id}/conversations/{conversation_id}/messages',
    parameterTexts: {
      'Idempotency-Key': {
        text: 'A value that you choose once per message; a repeat with the same value joins the reply that the first request started.',
        example: 'message-4711',
      },
    },
    summary: 'Send a message or a question to an agent and get its answer',
    description:
      'Responds when the reply is complete, after at most 5 minutes. With `Accept: text/event-stream` the reply is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.',
    needsWorker: true,
    credentials: writeCredentials,
    access: withModelCheck(ownConversation, deps.model),
    limit: perMinute(20, 'caller'),
    stores: 4_000,
    idempotency: 'optional',
    body: NewMessage,
    audits: 'nothing',
    answers: { 200: Message },
    refusals: [
      { status: 402, code: 'credits_exhausted' },
      { status: 402, code: 'credit_limit_reached' },
      { status: 404, code: 'message_not_found' },
      { status: 409, code: 'conversation_busy' },
      { status: 429, code: 'too_many_streams' },
      { status: 503, code: 'model_not_configured' },
      { status: 503, code: 'model_unavailable' },
      { status: 504, code: 'reply_timeout' },
    ],
    ...createSendHandlers(createTurnKind(deps), deps),
  });

const memoryRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listMemories',
    method: 'GET',
    path: '/api/agents/{agent_id}/memory',
    summary: "List an agent's memories about the caller and its global memories",
    credentials: writeCredentials,
    access: agentAs('viewer'),
    limit: perMinute(60, 'caller'),
    query: MemoryQuery,
    answers: { 200: items(Memory) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listMemories', access.app.id, access.caller.credential_id];
      const rows = await listMemories(db, access, query.limit, cursors.open(query.cursor, binding, now));
      return cursors.page(rows, query.limit, binding, now, presentMemory, (row) => [row.id]);
    },
  }),
  route({
    name: 'deleteMemory',
    method: 'DELETE',
    path: '/api/agents/{agent_id}/memory/{memory_id}',
    summary: 'Delete a memory about the caller',
    credentials: writeCredentials,
    access: ownMemory,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: 'nothing',
    answers: { 200: Success },
    refusals: [{ status: 403, code: 'role_required' }],
    handle: ({ db, access }) => deleteMemory(db, access),
  }),
];
