// Owns keeping what a model is sent within bounds: once a turn becomes too long, long texts in the arguments and results of its tool
// calls are left out, the oldest first. Pure.

interface SentCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
}

/** A message of a turn, as the model gets it. */
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

/** `otherCharacters`: what is sent beside these messages. */
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

/** The ids of the calls whose results the model still gets. The others it is told to make again if it needs them. */
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

/** Shortens the texts in the arguments, so that they remain JSON. */
export function shortenArguments(text: string, max: number): string {
  if (text.length <= max) return text;
  try {
    const shortened = JSON.stringify(JSON.parse(text), (_key, value) =>
      typeof value === 'string' ? shorten(value, max) : value,
    );
    return shortened.length <= 4 * max ? shortened : shorten(shortened, max);
  } catch {
    return shorten(text, max);
  }
}

export const shorten = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`;
