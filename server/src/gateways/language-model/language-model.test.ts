// Tests the gateway against a sandbox that speaks the real protocol, with valid and invalid responses.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Behaviour, startModelSandbox } from '../../../../sandbox/src/model.ts';
import { openLanguageModel, type ReplyDelta, type ReplyRequest, type StepMessage, type StepRequest } from './index.ts';

const sandbox = await startModelSandbox();
afterAll(() => sandbox.close());
const model = openLanguageModel({ url: sandbox.url, apiKey: 'key', name: 'default-model' });
beforeEach(() => {
  sandbox.behave('well');
  sandbox.script(() => ({ text: 'One two three.', usage: { prompt_tokens: 7, completion_tokens: 3 } }));
});

const request = (fields: Partial<ReplyRequest> = {}): ReplyRequest => ({
  model: null,
  instructions: 'Be brief.',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [],
  signal: new AbortController().signal,
  ...fields,
});

describe('a reply', () => {
  it('is streamed, and completed with its content, tokens and model', async () => {
    const deltas: ReplyDelta[] = [];
    const got = await model.reply(request(), (delta) => deltas.push(delta));
    expect(got).toEqual({
      outcome: 'completed',
      content: 'One two three.',
      tool_calls: [],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
      model: 'default-model',
    });
    expect(deltas).toEqual([{ text: 'One' }, { text: ' two' }, { text: ' three.' }]);
    expect(sandbox.requests.at(-1)).toMatchObject({
      model: 'default-model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    });
  });

  it('calls tools with validated arguments and continues with their results', async () => {
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
    const deltas: ReplyDelta[] = [];
    const got = await model.reply(request({ tools: [add] }), (delta) => deltas.push(delta));
    expect(got).toMatchObject({
      outcome: 'completed',
      content: 'A moment.\n\nDone.',
      tool_calls: [
        { name: 'add', arguments_string: '{"a":2,"b":3}', status: 'success', results: '5' },
        { name: 'add', status: 'error' },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 3 },
    });
    const parts = deltas.map((delta) => ('text' in delta ? delta.text : delta.tool_call.status));
    expect(parts.join('|')).toContain('running');
    expect(parts.filter((text) => !/^(running|success|error)$/.test(text)).join('')).toBe('A moment.\n\nDone.');
  });

  it('has no usage if the server reports none', async () => {
    sandbox.script(() => ({ text: 'Hi', usage: null }));
    expect(await model.reply(request(), () => {})).toMatchObject({ outcome: 'completed', usage: null });
  });
});

describe("a model that can't answer returns a reason", () => {
  it.each<[Behaviour, string]>([
    [401, 'refused'],
    [400, 'rejected'],
    [413, 'rejected'],
    [429, 'refused'],
    [500, 'refused'],
    ['cut', 'cut'],
    ['malformed', 'malformed'],
  ])('%s: %s', async (how, reason) => {
    sandbox.behave(how);
    expect(await model.reply(request(), () => {})).toEqual({ outcome: 'unavailable', reason });
  });

  it('cancelled: stops reading', async () => {
    sandbox.behave('slow');
    const cancel = new AbortController();
    const replying = model.reply(request({ signal: cancel.signal }), () => cancel.abort());
    expect(await replying).toEqual({ outcome: 'unavailable', reason: 'cancelled' });
  });

  it('unreachable, or not configured', async () => {
    const nowhere = openLanguageModel({ url: 'http://127.0.0.1:1/v1', apiKey: undefined, name: 'x' });
    expect(await nowhere.reply(request(), () => {})).toEqual({ outcome: 'unavailable', reason: 'unreachable' });
    expect(await nowhere.check()).toBe(false);
    const none = openLanguageModel({ url: undefined, apiKey: undefined, name: 'x' });
    expect(await none.reply(request(), () => {})).toEqual({ outcome: 'unavailable', reason: 'off' });
    expect(await none.check()).toBe(false);
  });
});

it('check runs once for concurrent callers, and again when its cached result has expired', async () => {
  const fresh = openLanguageModel({ url: sandbox.url, apiKey: undefined, name: 'x' });
  sandbox.behave(500);
  expect(await Promise.all([fresh.check(), fresh.check()])).toEqual([false, false]);
  sandbox.behave('well');
  await expect.poll(() => fresh.check()).toBe(true);
});

describe('a step', () => {
  const readFile = { name: 'read_file', description: 'Reads', parameters: z.object({ path: z.string() }) };
  const stepRequest = (messages: StepMessage[]): StepRequest => ({ ...request(), messages, tools: [readFile] });
  const ask: StepMessage = { role: 'user', content: 'Read it' };

  it('is one call of the model: tools are not run, whatever they are given as', async () => {
    sandbox.script(() => ({ text: 'I read.', tool_calls: [{ name: 'read_file', arguments: { path: 'a' } }] }));
    const before = sandbox.requests.length;
    const runnable = { ...readFile, run: () => Promise.reject(new Error('must not run')) };
    const texts: string[] = [];
    const got = await model.step({ ...stepRequest([ask]), tools: [runnable] }, (text) => texts.push(text));
    expect(got).toMatchObject({
      outcome: 'completed',
      content: 'I read.',
      tool_calls: [{ name: 'read_file', arguments_string: '{"path":"a"}' }],
      is_cut: false,
    });
    expect(texts.join('')).toBe('I read.');
    expect(sandbox.requests.length).toBe(before + 1);
  });

  it('returns calls of unknown tools and malformed arguments as the model sent them', async () => {
    const calls = [
      { name: 'none', arguments: {} },
      { name: 'read_file', arguments: '{"path": "a' },
      { name: 'read_file', arguments: { file: 1 } },
    ];
    sandbox.script(() => ({ tool_calls: calls }));
    const before = sandbox.requests.length;
    const got = await model.step(stepRequest([ask]), () => {});
    expect(got).toMatchObject({
      tool_calls: [
        { name: 'none', arguments_string: '{}' },
        { name: 'read_file', arguments_string: '{"path": "a' },
        { name: 'read_file', arguments_string: '{"file":1}' },
      ],
    });
    expect(sandbox.requests.length).toBe(before + 1);
  });

  it('returns arguments that are nested too deeply as malformed', async () => {
    const deep = `{"path": ${'['.repeat(9_000)}${']'.repeat(9_000)}}`;
    sandbox.script(() => ({ tool_calls: [{ name: 'read_file', arguments: deep }] }));
    expect(await model.step(stepRequest([ask]), () => {})).toMatchObject({
      outcome: 'completed',
      tool_calls: [{ name: 'read_file', arguments_string: '(nested too deeply)' }],
    });
  });

  it('sends earlier calls with their results; malformed arguments become an object', async () => {
    const call = (id: string, arguments_string: string) => ({ id, name: 'read_file', arguments_string });
    const result = (tool_call_id: string, content: string): StepMessage => ({
      role: 'tool',
      tool_call_id,
      tool_name: 'read_file',
      content,
      is_error: false,
    });
    const tool_calls = [call('c1', '{"path":"a"}'), call('c2', '{"path')];
    await model.step(
      stepRequest([ask, { role: 'assistant', content: '', tool_calls }, result('c1', 'text'), result('c2', 'no')]),
      () => {},
    );
    expect(sandbox.requests.at(-1)?.messages.slice(2)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [
          { id: 'c1', function: { name: 'read_file', arguments: '{"path":"a"}' } },
          { id: 'c2', function: { name: 'read_file', arguments: '{"malformed":"{\\"path"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'text' },
      { role: 'tool', tool_call_id: 'c2', content: 'no' },
    ]);
  });

  it('says if the output was cut, and is unavailable as a reply is', async () => {
    sandbox.script(() => ({ text: 'too long', finish_reason: 'length' }));
    expect(await model.step(stepRequest([ask]), () => {})).toMatchObject({ is_cut: true });
    sandbox.behave('cut');
    expect(await model.step(stepRequest([ask]), () => {})).toEqual({ outcome: 'unavailable', reason: 'cut' });
    const off = openLanguageModel({ url: undefined, apiKey: undefined, name: 'x' });
    expect(await off.step(stepRequest([ask]), () => {})).toEqual({ outcome: 'unavailable', reason: 'off' });
  });
});
