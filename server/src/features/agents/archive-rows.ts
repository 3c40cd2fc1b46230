// Defines how agents, their conversations and their memories are stored in an archive.
import { z } from 'zod';
import { ToolCall } from '../../core/turns/messages.ts';
import {
  type ArchiveTable,
  counter,
  mayReferTo,
  newRowId,
  owner,
  refersTo,
  time,
  unsharedRowId,
} from '../../kit/archive/columns.ts';
import { freeObject, list, oneOf, publicHttpsUrl, text } from '../../kit/http/shapes.ts';

export const agentArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  agents: {
    columns: {
      workspace_id: owner,
      app_id: refersTo('apps'),
      instructions: text(0, 20_000),
      model: text(1, 200).nullable(),
    },
  },
  agent_conversations: {
    columns: {
      workspace_id: owner,
      id: newRowId,
      app_id: refersTo('apps'),
      user_id: refersTo('people'),
      metadata: freeObject(8 * 1024),
      last_position: counter,
      created_date: time,
      updated_date: time,
    },
  },
  agent_messages: {
    columns: {
      workspace_id: owner,
      conversation_id: refersTo('agent_conversations'),
      position: counter,
      id: unsharedRowId,
      role: oneOf('user', 'assistant', 'system'),
      content: text(0, 1_000_000),
      file_urls: list(publicHttpsUrl, 0, 10),
      tool_calls: list(ToolCall, 0, 1_000),
      prompt_tokens: z.int32().min(0).nullable(),
      completion_tokens: z.int32().min(0).nullable(),
      model: text(0, 1_000).nullable(),
      hidden: z.boolean(),
      created_date: time,
      updated_date: time,
    },
  },
  agent_memories: {
    columns: {
      workspace_id: owner,
      id: unsharedRowId,
      app_id: refersTo('apps'),
      user_id: mayReferTo('people'),
      content: text(1, 500),
      created_date: time,
    },
  },
};
