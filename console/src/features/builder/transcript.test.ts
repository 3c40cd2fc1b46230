// Tests the transcript of a chat: repeats and resets of the stream do not change what is shown.
import { describe, expect, it } from 'vitest';
import { emptyTranscript, follow, joinMessages, type Message, type ToolCall } from './transcript.ts';

type Event = Parameters<typeof follow>[1];

const message = (id: string, role: Message['role'], content: string): Message =>
  ({
    id,
    role,
    content,
    reasoning: null,
    custom_context: [],
    file_urls: [],
    tool_calls: [],
    usage: null,
    created_date: '2026-11-19T08:00:00Z',
    updated_date: '2026-11-19T08:00:00Z',
    metadata: {},
  }) as unknown as Message;
const call = (status: ToolCall['status']): ToolCall =>
  ({ id: 'c1', name: 'edit_file', arguments_string: '{}', status }) as ToolCall;
const event = (name: Event['event'], data: unknown): Event => ({ event: name, data }) as Event;

const turn: readonly Event[] = [
  event('turn.started', { turn_id: 't1' }),
  event('message.created', message('m1', 'user', 'Add a due date')),
  event('message.delta', { text: 'I add ' }),
  event('message.delta', { text: 'a field.' }),
  event('tool_call', call('running')),
  event('tool_call', call('success')),
];
const read = (events: readonly Event[]) => events.reduce(follow, emptyTranscript);

describe('the transcript', () => {
  it('joins the text between tool calls, and shows each call once with its last status', () => {
    expect(read(turn).turn?.parts).toEqual([
      { kind: 'text', text: 'I add a field.' },
      { kind: 'call', call: call('success') },
    ]);
  });

  it('shows a message once, however often the stream tells it', () => {
    const created = event('message.created', message('m1', 'user', 'Add a due date'));
    expect(read([...turn, created, created]).messages).toHaveLength(1);
  });

  it('does not begin again when the stream repeats the start of the turn', () => {
    expect(read([...turn, event('turn.started', { turn_id: 't1' })])).toEqual(read(turn));
  });

  it('drops what was written of a step that is done again', () => {
    expect(read([...turn, event('message.reset', {})]).turn?.parts).toEqual([]);
  });

  it('ends with the messages of the turn', () => {
    const reply = message('m2', 'assistant', 'Done.');
    const ended = event('turn.completed', { conversation: { messages: [reply] }, status: { state: 'ready' } });
    expect(read([...turn, ended])).toMatchObject({
      turn: undefined,
      ended: { state: 'ready' },
      messages: [{ id: 'm1' }, { id: 'm2', content: 'Done.' }],
    });
  });

  it('puts what was read, newest first, before what was followed since', () => {
    const older = [message('m1', 'user', 'b'), message('m0', 'user', 'a')];
    const newer = [message('m1', 'user', 'B'), message('m2', 'user', 'c')];
    expect(joinMessages(older, newer).map(({ content }) => content)).toEqual(['a', 'B', 'c']);
  });
});
