// Turns the events of `followChat` into what the chat shows. Pure: any split or repeat of the stream leads to the same
// transcript.
import type { Data, EventOf } from '../../data/client.ts';

export type Message = Data<'getChat'>['items'][number];
export type ToolCall = Message['tool_calls'][number];

/** A part of the reply that is being written: text and tool calls in their order. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: ToolCall };

export interface Transcript {
  /** The messages that the stream told of, oldest first. */
  readonly messages: readonly Message[];
  /** The turn that is running, if the stream told of one. */
  readonly turn: { readonly id: string; readonly parts: readonly Part[] } | undefined;
  /** How the last turn ended. */
  readonly ended: Data<'getApp'>['status'] | undefined;
}

export const emptyTranscript: Transcript = { messages: [], turn: undefined, ended: undefined };

export function follow(transcript: Transcript, event: EventOf<'followChat'>): Transcript {
  const { messages, turn } = transcript;
  switch (event.event) {
    case 'turn.started':
      return turn?.id === event.data.turn_id
        ? transcript
        : { messages, turn: { id: event.data.turn_id, parts: [] }, ended: undefined };
    case 'message.created':
      return { ...transcript, messages: putMessage(messages, event.data) };
    case 'message.delta':
      return turn ? { ...transcript, turn: { ...turn, parts: addText(turn.parts, event.data.text) } } : transcript;
    case 'tool_call':
      return turn ? { ...transcript, turn: { ...turn, parts: putCall(turn.parts, event.data) } } : transcript;
    case 'message.reset':
      return turn ? { ...transcript, turn: { ...turn, parts: [] } } : transcript;
    case 'message.completed':
      return { ...transcript, messages: putMessage(messages, event.data), turn: turn && { ...turn, parts: [] } };
    case 'turn.completed':
      return {
        messages: event.data.conversation.messages.reduce(putMessage, messages),
        turn: undefined,
        ended: event.data.status,
      };
    default:
      return transcript;
  }
}

/** The whole conversation, oldest first: what was read, and what the stream told since. */
export const joinMessages = (read: readonly Message[], followed: readonly Message[]): readonly Message[] =>
  followed.reduce(putMessage, [...read].reverse());

function putMessage(messages: readonly Message[], message: Message): readonly Message[] {
  const at = messages.findIndex(({ id }) => id === message.id);
  return at === -1 ? [...messages, message] : messages.with(at, message);
}

function addText(parts: readonly Part[], text: string): readonly Part[] {
  const last = parts.at(-1);
  return last?.kind === 'text'
    ? parts.with(-1, { kind: 'text', text: last.text + text })
    : [...parts, { kind: 'text', text }];
}

function putCall(parts: readonly Part[], call: ToolCall): readonly Part[] {
  const at = parts.findIndex((part) => part.kind === 'call' && part.call.id === call.id);
  return at === -1 ? [...parts, { kind: 'call', call }] : parts.with(at, { kind: 'call', call });
}
