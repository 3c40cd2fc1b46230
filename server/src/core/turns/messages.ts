// Owns the shape of a message in a conversation with a model, and what of a conversation the model is sent
// (docs/api/agents.md, docs/api/builder-chat.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  id,
  list,
  oneOf,
  optional,
  publicHttpsUrl,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

export const ToolCall = answer('AgentToolCall', {
  id: z.string(),
  name: z.string(),
  arguments_string: z.string(),
  status: oneOf('running', 'success', 'error', 'stopped'),
  results: z.string().nullable(),
});

export const messageFields = {
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
};

const messageFieldsObject = z.object(messageFields);
type MessageFields = z.input<typeof messageFieldsObject>;

export const NewMessage = body({ content: text(1, 100_000), file_urls: optional(list(publicHttpsUrl, 0, 10)) });
export type NewMessage = z.output<typeof NewMessage>;

/** The columns of a stored message, in whichever table. */
interface MessageColumns {
  readonly id: string;
  readonly role: MessageFields['role'];
  readonly content: string;
  readonly file_urls: string[];
  readonly tool_calls: unknown;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly model: string | null;
  readonly hidden: boolean;
  readonly created_date: Date;
  readonly updated_date: Date;
}

export function presentMessageOf(conversation_id: string, row: MessageColumns): MessageFields {
  const { prompt_tokens, completion_tokens } = row;
  return {
    id: row.id,
    conversation_id,
    role: row.role,
    content: row.content,
    file_urls: row.file_urls,
    tool_calls: row.tool_calls as MessageFields['tool_calls'],
    usage: prompt_tokens === null || completion_tokens === null ? null : { prompt_tokens, completion_tokens },
    model: row.model,
    hidden: row.hidden,
    created_date: row.created_date.toISOString(),
    updated_date: row.updated_date.toISOString(),
  };
}

/** How much of a conversation is sent to the model with each message. */
export const historyLimits = { messages: 40, characters: 60_000 };

/**
 * The newest messages that fit into the limit, oldest first, with the one to answer, however long that is. The model gets the
 * URLs of files as text; nobody fetches them.
 */
export function buildHistory<Role extends string>(
  recentMessages: readonly { role: Role; content: string; file_urls: readonly string[] }[],
): { role: Role; content: string }[] {
  const history = recentMessages.map(({ role, content, file_urls }) => ({
    role,
    content: [content, ...file_urls.map((url) => `Attached: ${url}`)].join('\n'),
  }));
  const kept = history.splice(-1);
  let remaining = historyLimits.characters;
  for (const message of history.reverse()) {
    remaining -= message.content.length;
    if (remaining < 0) break;
    if (message.content !== '') kept.unshift(message);
  }
  return kept;
}

/** An estimate: four characters per token. */
export const toTokens = (characters: number): number => Math.ceil(characters / 4);

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const maxTokens = 2 ** 31 - 1;

/** Returns null for token counts that can't be true. */
export const toValidUsage = <Given extends Usage>(usage: Given | null): Given | null =>
  usage && [usage.prompt_tokens, usage.completion_tokens].every(isTokenCount) ? usage : null;

const isTokenCount = (tokens: number): boolean => Number.isInteger(tokens) && tokens >= 0 && tokens <= maxTokens;
