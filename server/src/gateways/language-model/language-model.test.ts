// The gateway against a server that speaks the real protocol, well and badly.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Behaviour, startModelSandbox } from '../../../../sandbox/src/model.ts';
import { openLanguageModel, type ReplyDelta, type ReplyRequest } from './index.ts';

const sandbox = await startModelSandbox();
afterAll(() => sandbox.close());
const model = openLanguageModel({ url: sandbox.url, apiKey: 'key', name: 'default-model' });
beforeEach(() => {
  sandbox.behave('well');
  sandbox.script(() => ({ text: 'One two three.', usage: { prompt_tokens: 7, completion_tokens: 3 } }));
});

const asked = (more: Partial<ReplyRequest> = {}): ReplyRequest => ({
  model: null,
  instructions: 'Be brief.',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [],
  signal: new AbortController().signal,
  ...more,
});

describe('a reply', () => {
  it('streams, adds up to its content, and tells its tokens and model', async () => {
    const pieces: ReplyDelta[] = [];
    const got = await model.reply(asked(), (piece) => pieces.push(piece));
    expect(got).toEqual({
      outcome: 'completed',
      content: 'One two three.',
      tool_calls: [],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
      model: 'default-model',
    });
    expect(pieces).toEqual([{ text: 'One' }, { text: ' two' }, { text: ' three.' }]);
    expect(sandbox.requests.at(-1)).toMatchObject({
      model: 'default-model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    });
  });

  it('calls tools with checked arguments, hears their results and goes on', async () => {
    sandbox.script(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'Done.', usage: { prompt_tokens: 5, completion_tokens: 1 } }
        : {
            text: 'A moment.',
            tool_calls: [
              { name: 'add', arguments: { a: 2, b: 3 } },
              { name: 'add', arguments: { a: 'two' } },
            ],
            usage: { prompt_tokens: 4, completion_tokens: 2 },
          },
    );
    const add = {
      name: 'add',
      description: 'Adds',
      parameters: z.object({ a: z.number(), b: z.number() }),
      run: async ({ a, b }: { a: number; b: number }) => String(a + b),
    };
    const pieces: ReplyDelta[] = [];
    const got = await model.reply(asked({ tools: [add] }), (piece) => pieces.push(piece));
    expect(got).toMatchObject({
      outcome: 'completed',
      content: 'A moment.\n\nDone.',
      tool_calls: [
        { name: 'add', arguments_string: '{"a":2,"b":3}', status: 'success', results: '5' },
        { name: 'add', status: 'error' },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 3 },
    });
    const told = pieces.map((piece) => ('text' in piece ? piece.text : piece.tool_call.status));
    expect(told.join('|')).toContain('running');
    expect(told.filter((text) => !/^(running|success|error)$/.test(text)).join('')).toBe('A moment.\n\nDone.');
  });

  it('has no usage where the server tells none', async () => {
    sandbox.script(() => ({ text: 'Hi', usage: null }));
    expect(await model.reply(asked(), () => {})).toMatchObject({ outcome: 'completed', usage: null });
  });
});

describe('a model that cannot answer is a value', () => {
  it.each<[Behaviour, string]>([
    [401, 'refused'],
    [429, 'refused'],
    [500, 'refused'],
    ['cut', 'cut'],
    ['malformed', 'malformed'],
  ])('%s: %s', async (how, reason) => {
    sandbox.behave(how);
    expect(await model.reply(asked(), () => {})).toEqual({ outcome: 'unavailable', reason });
  });

  it('cancelled: nothing more is read', async () => {
    sandbox.behave('slow');
    const cancel = new AbortController();
    const replying = model.reply(asked({ signal: cancel.signal }), () => cancel.abort());
    expect(await replying).toEqual({ outcome: 'unavailable', reason: 'cancelled' });
  });

  it('unreachable, and not set up at all', async () => {
    const nowhere = openLanguageModel({ url: 'http://127.0.0.1:1/v1', apiKey: undefined, name: 'x' });
    expect(await nowhere.reply(asked(), () => {})).toEqual({ outcome: 'unavailable', reason: 'unreachable' });
    expect(await nowhere.check()).toBe(false);
    const none = openLanguageModel({ url: undefined, apiKey: undefined, name: 'x' });
    expect(await none.reply(asked(), () => {})).toEqual({ outcome: 'unavailable', reason: 'off' });
    expect(await none.check()).toBe(false);
  });
});

it('knows whether it would be answered: asks once for many, and again after a moment', async () => {
  const fresh = openLanguageModel({ url: sandbox.url, apiKey: undefined, name: 'x' });
  sandbox.behave(500);
  expect(await Promise.all([fresh.check(), fresh.check()])).toEqual([false, false]);
  sandbox.behave('well');
  await expect.poll(() => fresh.check()).toBe(true);
});
