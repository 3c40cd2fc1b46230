// Streams of events: which one is the last, what is resumed, and what their errors say.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answering, event, events, listOf } from './answering.ts';

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
