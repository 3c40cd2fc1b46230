// The limits on a model's input. If a turn is too long, long texts in its tool calls' arguments and results are
// omitted, oldest first. Pure.

export interface SentCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
}

/** A message in a turn, as sent to the model. */
export type SentMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls: readonly SentCall[] }
  | {
      readonly role: 'tool';
      readonly tool_call_id: string;
      readonly tool_name: string;
      readonly content: string;
      readonly is_error: boolean;
    };

const maxMessageCharacters = 400_000;
const leftOut = '(left out to save space; call the tool again if you need this)';
const maxLeftInArgument = 200;

/** `otherCharacters` is the size of everything else in the prompt. */
export function shortenOldest(messages: readonly SentMessage[], otherCharacters: number): SentMessage[] {
  let excess = otherCharacters + countCharacters(messages) - maxMessageCharacters;
  return messages.map((message) => {
    if (excess <= 0) return message;
    const shortened = shortenMessage(message);
    excess -= countCharacters([message]) - countCharacters([shortened]);
    return shortened;
  });
}

function shortenMessage(message: SentMessage): SentMessage {
  if (message.role === 'tool')
    return message.content.length > leftOut.length ? { ...message, content: leftOut } : message;
  if (message.role === 'user') return message;
  const tool_calls = message.tool_calls.map(({ arguments_string, ...call }) => ({
    ...call,
    arguments_string: shortenArguments(arguments_string, maxLeftInArgument),
  }));
  return { ...message, tool_calls };
}

/**
 * The ids of the calls whose results the prompt still contains. For all other calls, the model is told to repeat them
 * if necessary.
 */
export const listKnownCalls = (messages: readonly SentMessage[]): Set<string> =>
  new Set(
    messages.flatMap((message) =>
      message.role === 'tool' && message.content !== leftOut ? [message.tool_call_id] : [],
    ),
  );

export const countCharacters = (messages: readonly SentMessage[]): number =>
  messages.reduce((sum, message) => sum + message.content.length + countArguments(message), 0);

const countArguments = (message: SentMessage): number =>
  message.role === 'assistant' ? message.tool_calls.reduce((sum, call) => sum + call.arguments_string.length, 0) : 0;

/**
 * Shortens the strings within the arguments. If the result is still too long, its beginning becomes the only member.
 * Both are valid JSON, which models require of earlier calls. Arguments that a model wrote with a fault are cut as text.
 */
export function shortenArguments(text: string, max: number): string {
  if (text.length <= max) return text;
  try {
    const shortened = JSON.stringify(JSON.parse(text), (_key, value) =>
      typeof value === 'string' ? shorten(value, max) : value,
    );
    return shortened.length <= 4 * max ? shortened : JSON.stringify({ shortened: shorten(shortened, max) });
  } catch {
    return shorten(text, max);
  }
}

export const shorten = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`;
