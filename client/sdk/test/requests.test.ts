// How arguments and options become requests.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Plinth } from '../src/index.ts';
import { answering, fail, json, lost, refusalOf, url } from './answering.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const headersOf = (sent: ReturnType<typeof answering>['sent']) => new Headers(sent[0]?.init.headers);

describe('an argument of the path', () => {
  it.each(['.', '..'])('can’t lead to another operation: %s', (argument) => {
    const { plinth, sent } = answering([]);
    const app = plinth.app('a');
    expect(() => app.entity(argument).get('secrets')).toThrow('entity_name');
    expect(() => app.entity('Task').get(argument)).toThrow('entity_id');
    expect(() => plinth.restoreWorkflow({ app_id: 'a', workflow_id: argument })).toThrow('workflow_id');
    expect(sent).toEqual([]);
  });

  it('is sent as it is otherwise', async () => {
    const { plinth, sent } = answering([() => json({})]);
    const names = ['../b', '%2e%2e', '.gitignore', '...'];
    for (const entity_name of names) await plinth.getEntitySchema({ app_id: 'a', entity_name });
    const last = sent.map(({ url }) => new URL(url).pathname.split('/').at(-1) ?? '');
    expect(last.map(decodeURIComponent)).toEqual(names);
  });
});

describe('on pages of the installation', () => {
  const cutOff = fail(lost('ECONNRESET', 'read'));

  it('a change that strangers may make is not repeated, because nobody may be signed in', async () => {
    const { plinth, sent } = answering([cutOff], { session: true });
    const error = await refusalOf(plinth.createRecord({ app_id: 'a', entity_name: 'Task', body: {} }));
    expect(error).toMatchObject({ outcomeUnknown: true });
    expect(sent.length).toBe(1);
    expect(headersOf(sent).has('idempotency-key')).toBe(true); // counts if somebody is signed in
  });

  it('with a token, it is repeated', async () => {
    const { plinth, sent } = answering([cutOff, () => json({ id: 'r' })]);
    await plinth.createRecord({ app_id: 'a', entity_name: 'Task', body: {} });
    expect(sent.length).toBe(2);
  });

  it('works without https, where browsers have no randomUUID', async () => {
    const { getRandomValues, subtle } = globalThis.crypto;
    vi.stubGlobal('crypto', { subtle, getRandomValues: getRandomValues.bind(globalThis.crypto) });
    const { plinth, sent } = answering([() => json({})], { url: 'http://192.168.1.5', session: true });
    await plinth.createApp({ name: 'Shop' });
    expect(headersOf(sent).get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
    expect(headersOf(sent).get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('the options of a call', () => {
  it('replace headers, however their names are written', async () => {
    const { plinth, sent } = answering([() => json({})], { headers: { 'X-Note': 'client' } });
    const headers = { 'Idempotency-Key': 'order-1', Authorization: 'Bearer other', 'x-NOTE': 'call' };
    await plinth.createApp({ name: 'Shop' }, { headers });
    expect(headersOf(sent).get('idempotency-key')).toBe('order-1');
    expect(headersOf(sent).get('authorization')).toBe('Bearer other');
    expect(headersOf(sent).get('x-note')).toBe('call');
  });

  const timers = async (call: (plinth: Plinth) => PromiseLike<unknown>, options = {}) => {
    const set = vi.spyOn(globalThis, 'setTimeout');
    await call(answering([() => json({})], options).plinth);
    return set.mock.calls.map(([, ms]) => ms);
  };

  it('may allow an attempt any time', async () => {
    expect(await timers((plinth) => plinth.getMe(), { timeoutMs: Number.POSITIVE_INFINITY })).toEqual([2 ** 31 - 1]);
  });

  it('are not needed for operations that may take longer, and the time of a stream is not that of a plain answer', async () => {
    expect(await timers((plinth) => plinth.publishApp({ app_id: 'a' }))).toEqual([130_000]);
    vi.restoreAllMocks();
    expect(await timers((plinth) => plinth.getRun({ app_id: 'a', workflow_id: 'w', run_id: 'r' }))).toEqual([30_000]);
  });
});

describe('a method', () => {
  it('can be replaced in tests', async () => {
    const plinth = new Plinth({ url, token: 'plp_00' });
    vi.spyOn(plinth, 'listPrices').mockReturnValue('replaced' as never);
    plinth.getMe = () => 'mine' as never;
    expect([plinth.listPrices(), plinth.getMe()]).toEqual(['replaced', 'mine']);
  });
});
