// Tests that the agent's prompt stays within the limit, keeps the last snapshot and has a result for every call. Also
// tests which calls are refused.
import { describe, expect, it } from 'vitest';
import { instructions } from './instructions.ts';
import { runLimits } from './limits.ts';
import { buildMessages, countCharacters, describeTask, type Exchange } from './prompt.ts';
import { readCall, ToolError, tools } from './tools.ts';

const testUser = { email: 'a@b.example', password: 'secret-password' };
const input = { goal: 'x'.repeat(4_000), role: 'user', url: 'https://a.example/', testUser, recording: null };

const exchange = (number: number, snapshotLength: number): Exchange => ({
  content: 'c'.repeat(5_000),
  calls: [1, 2].map((index) => ({
    id: `call_${number}_${index}`,
    name: 'type',
    arguments_string: JSON.stringify({ ref: 'e1', text: 'y'.repeat(900) }),
    result: 'Done.',
    is_error: false,
  })),
  note: null,
  snapshot: `snapshot ${number} ${'s'.repeat(snapshotLength)}`,
});

describe('the prompt', () => {
  const longest = Array.from({ length: runLimits.modelCalls }, (_, index) => exchange(index, 16_000));
  const remainder = {
    replayed: 1,
    total: 80,
    failedAction: 'Click button "Add"',
    expectations: Array.from({ length: 79 }, (_, index) => ({ number: index + 1, expectation: 'z'.repeat(500) })),
  };
  const task = describeTask(input, remainder, 'PAGE-0');
  const messages = buildMessages(task, 's'.repeat(16_000), longest, runLimits.promptCharacters);

  it('stays within its limit, and ends with the last snapshot', () => {
    expect(countCharacters(messages) + instructions.length).toBeLessThanOrEqual(runLimits.promptCharacters);
    expect(messages.at(-1)?.content).toContain('snapshot 39 ss');
    expect(JSON.stringify(messages)).not.toContain('snapshot 38 ');
  });

  it('has a result for each call, and says that answers were left out', () => {
    const called = messages.flatMap((message) =>
      message.role === 'assistant' ? message.tool_calls.map(({ id }) => id) : [],
    );
    const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []));
    expect(called.length).toBeGreaterThan(2);
    expect(answered).toEqual(called);
    expect(messages[0]?.content).toMatch(/\(Your first \d+ answers are left out to save space\.\)/);
  });

  it('is sent whole while it is short', () => {
    const short = buildMessages('task', 'first page', [exchange(1, 100), exchange(2, 100)], runLimits.promptCharacters);
    expect(short.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'tool']);
    expect(short[0]?.content).toBe('task\n\nfirst page');
    expect(short[3]?.content).toContain('snapshot 1 ');
  });

  it('has neither the e-mail address nor the password of the user', () => {
    expect(task).not.toMatch(/a@b\.example|secret-password/);
  });

  it('has instructions that name the tools there are', () => {
    const named = tools.map(({ name }) => name).filter((name) => new RegExp(`\\b${name}\\b`).test(instructions));
    expect(named).toEqual(['open', 'click', 'type', 'select', 'resize', 'assert', 'finish']);
  });
});

describe('a call', () => {
  const tree = '- main [ref=e1]:\n  - button "Add" [ref=e2]\n  - textbox "Title" [ref=e3]';
  const read = (name: string, input: object | string) =>
    readCall({ id: 'x', name, arguments_string: typeof input === 'string' ? input : JSON.stringify(input) }, tree);

  it.each<[string, object, object]>([
    ['open', { path: '/x' }, { action: 'open', path: '/x' }],
    ['click', { ref: 'e2' }, { action: 'click', place: { ref: 'e2' } }],
    [
      'type',
      { ref: 'e3', text: '{{password}}' },
      { action: 'type', place: { ref: 'e3' }, text: '{{password}}', submit: false },
    ],
    ['select', { ref: 'e3', option: 'A' }, { action: 'select', place: { ref: 'e3' }, option: 'A' }],
    ['resize', { width: 390, height: 844 }, { action: 'resize', width: 390, height: 844 }],
    ['wait', { kind: 'fits' }, { action: 'wait', check: { kind: 'fits' } }],
  ])('of %s is an action', (name, input, action) => {
    expect(read(name, input)).toEqual({ command: 'act', action });
  });

  it.each<[string, object, object]>([
    ['a text anywhere', { kind: 'text', text: 'Milk' }, { kind: 'text', text: 'Milk', place: null }],
    ['a value', { kind: 'value', ref: 'e3', value: '' }, { kind: 'value', place: { ref: 'e3' }, value: '' }],
    ['a count', { kind: 'count', role: 'row', count: 0 }, { kind: 'count', role: 'row', name: null, count: 0 }],
    ['an address', { kind: 'url', contains: '/x' }, { kind: 'url', contains: '/x' }],
    [
      'an element that may not be there',
      { kind: 'visible', role: 'row', name: 'Milk' },
      {
        kind: 'visible',
        place: { target: expect.objectContaining({ role: 'row', name: 'Milk', is_destructive: true }) },
      },
    ],
  ])('of assert checks %s', (_name, input, check) => {
    expect(read('assert', input)).toEqual({ command: 'check', check });
  });

  it.each<[string, string, object | string, string]>([
    ['another tool', 'evaluate', {}, 'There is no tool with this name.'],
    ['a name that objects have', 'constructor', {}, 'There is no tool with this name.'],
    ['what is not JSON', 'click', '{"ref"', 'not valid JSON'],
    ['a missing argument', 'click', {}, 'The arguments are not valid'],
    ['a ref that is not in the snapshot', 'click', { ref: 'e9' }, 'no element with the ref e9'],
    ['a check of nothing', 'assert', {}, 'Say what to check'],
    ['a check of an empty text, which every page shows', 'assert', { kind: 'text', text: ' ' }, 'not empty'],
    [
      'a check of an element without a name that is gone',
      'assert',
      { kind: 'hidden', ref: 'e1' },
      'no_text in place of hidden',
    ],
    ['a password in an address', 'open', { path: '/?p={{password}}' }, 'only be typed into a field'],
    [
      'a password that the page would show',
      'assert',
      { kind: 'text', text: '{{password}}' },
      'only be typed into a field',
    ],
  ])('with %s is refused', (_name, tool, input, why) => {
    expect(() => read(tool, input)).toThrow(expect.objectContaining({ message: expect.stringContaining(why) }));
    expect(() => read(tool, input)).toThrow(ToolError);
  });
});
