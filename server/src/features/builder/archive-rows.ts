// Defines how the builder chat's messages are stored in an archive.
import { z } from 'zod';
import { ToolCall } from '../../core/turns/messages.ts';
import { type ArchiveTable, counter, owner, refersTo, time, unsharedRowId } from '../../kit/archive/columns.ts';
import { list, oneOf, publicHttpsUrl, text } from '../../kit/http/shapes.ts';

export const builderArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  chat_messages: {
    columns: {
      workspace_id: owner,
      app_id: refersTo('apps'),
      position: counter,
      id: unsharedRowId,
      role: oneOf('user', 'assistant', 'system'),
      content: text(0, 1_000_000),
      file_urls: list(publicHttpsUrl, 0, 10),
      tool_calls: list(ToolCall, 0, 1_000),
      prompt_tokens: z.int32().min(0).nullable(),
      completion_tokens: z.int32().min(0).nullable(),
      model: text(0, 1_000).nullable(),
      created_date: time,
    },
  },
};
