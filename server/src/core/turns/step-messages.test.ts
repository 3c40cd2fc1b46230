// Tests how messages are shortened for the model.
import { describe, expect, it } from 'vitest';
import { listKnownCalls, type SentMessage, shortenArguments, shortenOldest } from './step-messages.ts';

const call = (id: string, arguments_string: string): SentMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ id, name: 'write_file', arguments_string }],
});
const result = (tool_call_id: string, content: string): SentMessage => ({
  role: 'tool',
  tool_call_id,
  tool_name: 'write_file',
  content,
  is_error: false,
});

describe('the arguments of a call', () => {
  it('are unchanged if they are short enough', () => {
    expect(shortenArguments('{"path":"a.js"}', 200)).toBe('{"path":"a.js"}');
  });

  it('keep their shape when a long string is shortened', () => {
    const got = JSON.parse(shortenArguments(JSON.stringify({ path: 'a.js', content: 'x'.repeat(1_000) }), 200));
    expect(got.path).toBe('a.js');
    expect(got.content).toBe(`${'x'.repeat(200)}… (800 more characters)`);
  });

  it('are still valid JSON if they have too many members', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field_${index}`, '"quoted"']));
    const got = shortenArguments(JSON.stringify(many), 200);
    expect(got.length).toBeLessThan(500);
    expect(JSON.parse(got).shortened).toContain('field_0');
  });

  it('are cut as text if the model wrote no valid JSON', () => {
    expect(shortenArguments(`{"path": ${'y'.repeat(300)}`, 200)).toMatch(/^\{"path": y+… \(\d+ more characters\)$/);
  });
});

describe('messages that are too long for the model', () => {
  const long = 'z'.repeat(300_000);

  it('are unchanged while they fit', () => {
    const messages = [call('1', '{}'), result('1', long)];
    expect(shortenOldest(messages, 0)).toEqual(messages);
  });

  it('lose their oldest results first, and keep what people wrote', () => {
    const messages: SentMessage[] = [
      { role: 'user', content: 'Add a page' },
      call('1', '{}'),
      result('1', long),
      call('2', '{}'),
      result('2', long),
    ];
    const got = shortenOldest(messages, 0);
    expect(got[0]).toEqual(messages[0]);
    expect(got[4]).toEqual(messages[4]);
    expect([...listKnownCalls(got)]).toEqual(['2']);
  });
});
