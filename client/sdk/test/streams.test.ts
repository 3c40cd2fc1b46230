// Streams of events: which one is the last, what is resumed, and what their errors say.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Plinth } from '../src/index.ts';
import { answering, event, events, fail, json, listOf, lost, problem, refusalOf } from './answering.ts';

const session = { app_id: 'a', session_id: 's' };
const state = (state: string, id: string) => event('state', { state }, id);

// The pauses between connections take no time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => vi.useRealTimers());

describe('the stream of a session', () => {
  const read = async (answers: Parameters<typeof answering>[0]) => {
    const { plinth, sent } = answering(answers);
    const read = await listOf(plinth.streamSession(session).stream());
    return { ids: read.map(({ id }) => id), sent };
  };

  it('continues after a turn that is followed by another', async () => {
    const turns = [state('completed', '3'), state('queued', '4'), state('running', '5'), state('failed', '6')];
    const { ids, sent } = await read([() => events(turns)]);
    expect(ids).toEqual(['3', '4', '5', '6']);
    expect(sent.length).toBe(1);
  });

  it('is resumed after a state that may be the last, if the connection was lost', async () => {
    const { ids, sent } = await read([
      () => events([state('completed', '3')], 'breaks'),
      () => events([state('queued', '4'), state('cancelled', '5')]),
    ]);
    expect(ids).toEqual(['3', '4', '5']);
    expect(new Headers(sent[1]?.init.headers).get('last-event-id')).toBe('3');
  });

  it('ends if nothing follows a last state on the next connection', async () => {
    const { ids, sent } = await read([() => events([state('completed', '3')], 'breaks'), () => events([])]);
    expect(ids).toEqual(['3']);
    expect(sent.length).toBe(2);
  });
});

describe('a stream of a change', () => {
  const send = (answers: Parameters<typeof answering>[0], options = {}) => {
    const { plinth, sent } = answering(answers, options);
    return { call: plinth.sendChatMessage({ app_id: 'a', content: 'Hello' }), sent };
  };
  const refused = fail(lost('ECONNREFUSED', 'connect'));
  const restarting = { status: 503, code: 'service_unavailable', detail: 'x', request_id: 'r', retry_safe: true };
  const begun = () =>
    events([event('message.created', { id: 'm' }, 't:0:0'), event('message.delta', { text: 'a' }, 't:1:1')]);

  it('has taken effect when it was opened, whatever comes after it', async () => {
    const { call, sent } = send([
      () => events([event('message.created', { id: 'm' }, 't:0:0'), event('error', restarting)]),
      refused,
    ]);
    expect(await refusalOf(call)).toMatchObject({ code: 'unreachable', outcomeUnknown: true });
    expect(sent.length).toBe(7);
  });

  it('has taken effect even if its first event is an error', async () => {
    const { call } = send([() => events([event('error', { ...restarting, status: 409, retry_safe: false })])]);
    expect(await refusalOf(call)).toMatchObject({ status: 409, outcomeUnknown: true });
  });

  it('that is answered with JSON says so, and that it may have taken effect', async () => {
    const { call, sent } = send([() => json({ status: 'ready' })], { maxRetries: 1 });
    expect(await refusalOf(call)).toMatchObject({
      code: 'unexpected_answer',
      message: 'sendChatMessage: The answer is not a stream of events: status 200, type application/json.',
      outcomeUnknown: true,
    });
    expect(sent.length).toBe(2);
  });

  it('had no effect if it was never opened', async () => {
    const { call } = send([refused]);
    expect(await refusalOf(call)).toMatchObject({ code: 'unreachable', outcomeUnknown: false });
  });

  it.each([
    [0, 1],
    [2, 3],
    [9, 6],
  ])(
    'is repeated like any request until its first event: with maxRetries %d, it is sent %d times',
    async (maxRetries, times) => {
      const causes: unknown[] = [];
      const { call, sent } = send([refused], {
        maxRetries,
        onRetry: ({ cause }: { cause: unknown }) => causes.push(cause),
      });
      expect(await refusalOf(call)).toMatchObject({ code: 'unreachable' });
      expect(sent.length).toBe(times);
      expect(causes.length).toBe(times - 1);
    },
  );

  it('waits at most 60 seconds for its first event', async () => {
    const busy = () => problem(503, 'busy', { retry_safe: true }, { 'retry-after': '31' });
    const { call, sent } = send([busy], { maxRetries: 5 });
    expect(await refusalOf(call)).toMatchObject({ code: 'busy' });
    expect(sent.length).toBe(2);
  });

  it('is resumed after its first event, also with maxRetries 0', async () => {
    const last = event('turn.completed', { status: { state: 'ready' } }, 't:2:2');
    const { call, sent } = send([begun, refused, () => events([last])], { maxRetries: 0 });
    expect(await call).toEqual({ status: { state: 'ready' } });
    expect(new Headers(sent[2]?.init.headers).get('last-event-id')).toBe('t:1:1');
  });

  it('has the notes of the answer that opened it, not of the first attempt', async () => {
    const last = () => events([event('turn.completed', {}, 't:2:2')]);
    const { call } = send([
      refused,
      () => new Response(last().body, { headers: { 'content-type': 'text/event-stream', 'x-changed': 'false' } }),
    ]);
    expect((await call.answer()).notes.changed).toBe(false);
  });

  it('that breaks has the id of its request in the error', async () => {
    const { plinth } = answering([() => events([], 'breaks')], { maxRetries: 0 });
    const error = await refusalOf(plinth.sendChatMessage({ app_id: 'a', content: 'Hello' }, { requestId: 'mine' }));
    expect(error).toMatchObject({ code: 'unreachable', requestId: 'mine' });
  });
});

describe('an error of onNotes', () => {
  it.each([
    ['a stream', (plinth: Plinth) => listOf(plinth.streamSession(session).stream())],
    ['lines', (plinth: Plinth) => plinth.exportAuditLog()],
  ])('closes the connection of %s', async (_, call) => {
    let isClosed = false;
    const body = new ReadableStream({
      cancel() {
        isClosed = true;
      },
    });
    const open = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const { plinth } = answering([open], { onNotes: fail(new Error('mine')) });
    await expect(call(plinth)).rejects.toThrow('mine');
    expect(isClosed).toBe(true);
  });
});
