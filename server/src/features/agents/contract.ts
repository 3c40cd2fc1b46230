// The request and response schemas for agents, conversations, messages and memories (docs/api/agents.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { AppRow } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { appFields, appList, presentApp } from '../../core/identity/app-shapes.ts';
import { messageFields, presentMessageOf } from '../../core/turns/messages.ts';
import {
  answer,
  body,
  clearable,
  createdDate,
  described,
  freeObject,
  httpsUrl,
  id,
  name,
  oneOf,
  optional,
  pageQuery,
  parameter,
  query,
  queryInteger,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { Tables } from '../../tables.ts';

export type ConversationRow = Selectable<Tables['agent_conversations']>;
export type MessageRow = Selectable<Tables['agent_messages']>;
export type MemoryRow = Selectable<Tables['agent_memories']>;

const instructionsText = [
  'Instructions for the model, sent with every message; empty by default.',
  'You answer questions about the orders of a bakery.',
] as const;

export const Agent = answer('Agent', {
  ...appFields,
  id: described(id, 'The id of the agent, which is also its app id.', '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5'),
  name: described(z.string(), 'The name of the agent; white space at the ends is removed.', 'Order desk'),
  instructions: described(z.string(), ...instructionsText),
  model: described(
    z.string().nullable(),
    'The name of the model; null means the default model of the installation.',
    'house-model',
  ),
});

const description = described(
  optional(text(0, 4_000)),
  'A description of the agent, returned as `user_description`.',
  'Answers questions about orders',
);
const instructions = optional(text(0, 20_000));
const model = text(1, 200);

export const NewAgent = body({
  name: described(name(1, 100), 'The name of the agent; white space at the ends is removed.', 'Order desk'),
  description,
  logo_url: described(optional(httpsUrl), 'The https URL of the logo.', 'https://static.example.com/order-desk.png'),
  instructions: described(instructions, ...instructionsText),
  model: described(
    optional(model),
    'The name of the model; if not sent, the default model of the installation is used.',
    'house-model',
  ),
});
export type NewAgent = z.output<typeof NewAgent>;

export const AgentChange = body({
  name: described(optional(name(1, 100)), 'The name of the agent; white space at the ends is removed.', 'Order desk'),
  description,
  logo_url: described(
    clearable(httpsUrl),
    'The https URL of the logo; null removes it.',
    'https://static.example.com/order-book.png',
  ),
  instructions: described(instructions, ...instructionsText),
  model: described(
    clearable(model),
    'The name of the model; null means the default model of the installation.',
    'house-model',
  ),
});
export type AgentChange = z.output<typeof AgentChange>;

export const AgentQuery = query({
  ...appList,
  folder_id: described(appList.folder_id, 'Only agents in this folder.', '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b'),
});
export type AgentQuery = z.output<typeof AgentQuery>;

export interface AgentSettings {
  readonly instructions: string;
  readonly model: string | null;
}

export const presentAgent = (
  app: AppRow,
  { instructions, model }: AgentSettings,
  addresses: AppAddresses,
): z.input<typeof Agent> => ({
  ...presentApp(app, addresses),
  instructions,
  model,
});

export const Message = answer('AgentMessage', messageFields);
export type Message = z.input<typeof Message>;

export const presentMessage = (row: MessageRow): Message => presentMessageOf(row.conversation_id, row);

const conversationFields = {
  id: described(id, 'The id of the conversation.', '0198c1fb-6e90-7c25-9f48-1a7be5d3094c'),
  agent_id: described(id, 'The id of the agent, which is also its app id.', '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5'),
  user_id: described(
    id,
    'The id of the person who owns the conversation; nobody else can read it.',
    '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  ),
  metadata: described(
    z.record(z.string(), z.unknown()),
    'Any object that was stored with the conversation when it was created; at most 8 KiB as JSON.',
    { from: 'website' },
  ),
  created_date: createdDate,
  updated_date: described(
    timestamp,
    'When the last message was added, or the time of creation if there is none.',
    '2026-11-15T09:30:00.000Z',
  ),
};
export const Conversation = answer('Conversation', {
  ...conversationFields,
  messages: described(
    z.array(Message),
    'The newest messages, or those before the message given in `before`, oldest first.',
  ),
});
export const ListedConversation = answer('ListedConversation', conversationFields);

export const NewConversation = body({
  metadata: described(
    optional(freeObject(8 * 1024)),
    'Any object to store with the conversation, at most 8 KiB as JSON; ignored if the conversation exists.',
    { from: 'website' },
  ),
});
export const ConversationQuery = query({
  limit: described(queryInteger(1, 500).default(100), 'The maximum number of messages to return.', 100),
  before: parameter(
    z.string().optional(),
    'The id of a message; only earlier messages are returned.',
    '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6',
  ),
});
export type ConversationQuery = z.output<typeof ConversationQuery>;

export const presentListedConversation = (row: ConversationRow): z.input<typeof ListedConversation> => ({
  id: row.id,
  agent_id: row.app_id,
  user_id: row.user_id,
  metadata: row.metadata as Record<string, unknown>,
  created_date: row.created_date.toISOString(),
  updated_date: row.updated_date.toISOString(),
});

export const presentConversation = (
  row: ConversationRow,
  messages: readonly MessageRow[],
): z.input<typeof Conversation> => ({ ...presentListedConversation(row), messages: messages.map(presentMessage) });

export const Memory = answer('AgentMemory', {
  id: described(id, 'The id of the memory.', '0198c1fb-9c47-7041-b7e2-5f83a6d0c91d'),
  kind: described(
    oneOf('user', 'global'),
    'Whether the memory is about the caller (`user`) or about everyone (`global`).',
  ),
  content: described(z.string(), 'What the agent remembers, in 1 to 500 characters.', 'Grace prefers rye bread.'),
  created_date: createdDate,
});
export const MemoryQuery = query(pageQuery);

export const presentMemory = (row: MemoryRow): z.input<typeof Memory> => ({
  id: row.id,
  kind: row.user_id === null ? 'global' : 'user',
  content: row.content,
  created_date: row.created_date.toISOString(),
});
