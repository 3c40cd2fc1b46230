// Owns the shapes of agents, conversations, messages and memories (docs/api/agents.md).
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
  freeObject,
  httpsUrl,
  id,
  name,
  oneOf,
  optional,
  pageQuery,
  query,
  queryInteger,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { Tables } from '../../tables.ts';

export type ConversationRow = Selectable<Tables['agent_conversations']>;
export type MessageRow = Selectable<Tables['agent_messages']>;
export type MemoryRow = Selectable<Tables['agent_memories']>;

export const Agent = answer('Agent', { ...appFields, instructions: z.string(), model: z.string().nullable() });

const description = optional(text(0, 4_000)).meta({ description: 'Returned as `user_description`.' });
const instructions = optional(text(0, 20_000));
const model = text(1, 200);

export const NewAgent = body({
  name: name(1, 100),
  description,
  logo_url: optional(httpsUrl),
  instructions,
  model: optional(model),
});
export type NewAgent = z.output<typeof NewAgent>;

export const AgentChange = body({
  name: optional(name(1, 100)),
  description,
  logo_url: clearable(httpsUrl),
  instructions,
  model: clearable(model),
});
export type AgentChange = z.output<typeof AgentChange>;

export const AgentQuery = query(appList);
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
  id,
  agent_id: id,
  user_id: id,
  metadata: z.record(z.string(), z.unknown()),
  created_date: timestamp,
  updated_date: timestamp,
};
export const Conversation = answer('Conversation', { ...conversationFields, messages: z.array(Message) });
export const ListedConversation = answer('ListedConversation', conversationFields);

export const NewConversation = body({ metadata: optional(freeObject(8 * 1024)) });
export const ConversationQuery = query({
  limit: queryInteger(1, 500).default(100),
  before: z.string().optional().meta({ description: 'A message id. Only messages before it are returned.' }),
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
  id,
  kind: oneOf('user', 'global'),
  content: z.string(),
  created_date: timestamp,
});
export const MemoryQuery = query(pageQuery);

export const presentMemory = (row: MemoryRow): z.input<typeof Memory> => ({
  id: row.id,
  kind: row.user_id === null ? 'global' : 'user',
  content: row.content,
  created_date: row.created_date.toISOString(),
});
