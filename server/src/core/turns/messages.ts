// The shape of a message in a conversation with a model, and which messages the model is sent (docs/api/agents.md,
// docs/api/builder-chat.md).
import { z } from 'zod';
import type { StreamedEvents } from '../../kit/http/operation.ts';
import {
  answer,
  body,
  count,
  createdDate,
  described,
  id,
  list,
  oneOf,
  optional,
  publicHttpsUrl,
  text,
  updatedDate,
} from '../../kit/http/shapes.ts';

export const ToolCall = answer('AgentToolCall', {
  id: described(z.string(), 'The id of the tool call within the reply.', 'call_1'),
  name: described(z.string(), 'The name of the tool that the model called.', 'remember'),
  arguments_string: described(
    z.string(),
    'The arguments that the model passed to the tool, as JSON text.',
    '{"content":"Grace prefers rye bread","for_everyone":false}',
  ),
  status: described(
    oneOf('running', 'success', 'error', 'stopped'),
    'Whether the tool call is running, or how it ended.',
  ),
  results: described(
    z.string().nullable(),
    'The text that the tool returned; null if there is none yet.',
    'Remembered.',
  ),
});

export const messageFields = {
  id: described(id, 'The id of the message.', '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6'),
  conversation_id: described(
    id,
    'The id of the conversation that the message belongs to.',
    '0198c1fb-6e90-7c25-9f48-1a7be5d3094c',
  ),
  role: described(oneOf('user', 'assistant', 'system'), 'Who wrote the message: a person, the agent, or the system.'),
  content: described(z.string(), 'The text of the message.', 'The bakery closes at six.'),
  file_urls: described(
    z.array(z.string()),
    'The URLs that were sent with the message; the model receives them as text, and they are not fetched.',
    ['https://files.example.com/menu.pdf'],
  ),
  tool_calls: described(z.array(ToolCall), 'The tools that the model called while it wrote the message.'),
  usage: described(
    answer('AgentUsage', {
      prompt_tokens: described(count, 'The number of input tokens, as reported by the model.', 212),
      completion_tokens: described(count, 'The number of tokens in the reply, as reported by the model.', 9),
    }).nullable(),
    'The tokens that the message used; null if the model did not report them.',
  ),
  model: described(
    z.string().nullable(),
    'The model that wrote the message; null for a message from a person.',
    'house-model',
  ),
  hidden: described(z.boolean(), 'Whether the message is not sent to the model.'),
  created_date: createdDate,
  updated_date: updatedDate,
};

const TextDelta = answer('TextDelta', {
  text: described(z.string(), 'The text to append to the message.', 'The bakery '),
});

/** The events of a turn, from the message that begins it to the messages that it adds. */
export const turnEvents = (message: z.ZodType): StreamedEvents => ({
  'message.created': { data: message },
  'message.delta': { data: TextDelta },
  tool_call: { data: ToolCall },
  'message.reset': { data: answer('NoData', {}) },
  'message.completed': { data: message },
});

const messageFieldsObject = z.object(messageFields);
type MessageFields = z.input<typeof messageFieldsObject>;

export const NewMessage = body({
  content: described(text(1, 100_000), 'The text of the message to the agent.', 'When does the bakery close?'),
  file_urls: described(
    optional(list(publicHttpsUrl, 0, 10)),
    'Up to 10 public https URLs, which the model receives as text; they are not fetched.',
    ['https://files.example.com/menu.pdf'],
  ),
});
export type NewMessage = z.output<typeof NewMessage>;

/** A stored message's columns, in any of the tables. */
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
 * Returns the newest messages that fit into the limit, oldest first. The message to reply to is always included,
 * whatever its length. The model receives file URLs as text, and no file is fetched.
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

/** Estimates four characters per token. */
export const toTokens = (characters: number): number => Math.ceil(characters / 4);

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const maxTokens = 2 ** 31 - 1;

/** Returns null for implausible token counts. */
export const toValidUsage = <Given extends Usage>(usage: Given | null): Given | null =>
  usage && [usage.prompt_tokens, usage.completion_tokens].every(isTokenCount) ? usage : null;

const isTokenCount = (tokens: number): boolean => Number.isInteger(tokens) && tokens >= 0 && tokens <= maxTokens;
