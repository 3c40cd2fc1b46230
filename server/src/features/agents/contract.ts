// Owns the shapes of agents, conversations, messages and memories (docs/api/agents.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { AppRow } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { appFields, appList, presentApp } from '../../core/identity/app-shapes.ts';
import {
  answer,
  body,
  clearable,
  count,
  freeObject,
  httpsUrl,
  id,
  list,
  name,
  oneOf,
  optional,
  pageQuery,
  publicHttpsUrl,
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

export const ToolCall = answer('AgentToolCall', {
  id: z.string(),
  name: z.string(),
  arguments_string: z.string(),
  status: oneOf('running', 'success', 'error', 'stopped'),
  results: z.string().nullable(),
});

export const Message = answer('AgentMessage', {
  id,
  conversation_id: id,
  role: oneOf('user', 'assistant', 'system'),
  content: z.string(),
  file_urls: z.array(z.string()),
  tool_calls: z.array(ToolCall),
  usage: answer('AgentUsage', { prompt_tokens: count, completion_tokens: count }).nullable(),
  model: z.string().nullable(),
  hidden: z.boolean(),
  created_date: timestamp,
  updated_date: timestamp,
});
export type Message = z.input<typeof Message>;

export const NewMessage = body({ content: text(1, 100_000), file_urls: optional(list(publicHttpsUrl, 0, 10)) });
export type NewMessage = z.output<typeof NewMessage>;

export function presentMessage(row: MessageRow): Message {
  const { prompt_tokens, completion_tokens } = row;
  return {
    id: row.id,
    conversation_id: row.conversation_id,
    role: row.role,
    content: row.content,
    file_urls: row.file_urls,
    tool_calls: row.tool_calls as Message['tool_calls'],
    usage: prompt_tokens === null || completion_tokens === null ? null : { prompt_tokens, completion_tokens },
    model: row.model,
    hidden: row.hidden,
    created_date: row.created_date.toISOString(),
    updated_date: row.updated_date.toISOString(),
  };
}

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
