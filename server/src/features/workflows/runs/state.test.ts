// Tests a run's state, using the example in state.ts.
import { describe, expect, it } from 'vitest';
import { parseStored } from '../definition/parse.ts';
import {
  attemptOf,
  currentTask,
  findExpired,
  findTask,
  hasNextTurn,
  listScopeVariables,
  move,
  nextTurn,
  pop,
  push,
  type RunState,
  rememberSecrets,
  retry,
  startState,
  topOf,
  withoutPending,
} from './state.ts';

const now = new Date('2026-01-01T00:00:00Z');
const at = now.getTime();
const definition = parseStored({
  document: { dsl: '1.0.0', namespace: 'app', name: 'example', version: '1.0.0' },
  do: [
    { load: { set: { id: 7, lines: [1, 2] } } },
    {
      each: {
        for: { each: 'line', in: '${ .lines }' },
        do: [
          {
            notify: {
              try: [{ post: { call: 'http', with: { method: 'post', endpoint: 'https://example.com/in' } } }],
              catch: { retry: { delay: { seconds: 1 } } },
            },
          },
        ],
      },
    },
    { close: { set: { done: true } } },
  ],
});
const nameOf = (state: RunState) => currentTask(definition, state)?.name;

describe('rememberSecrets', () => {
  const state = startState({}, new Date(0));
  const remember = (...claims: string[][]) =>
    claims.reduce((state, values) => rememberSecrets(state, values), state).secretValues;

  it('keeps every value, each once, the latest last', () => {
    expect(remember([])).toBeUndefined();
    expect(remember(['a', 'b'], ['a', 'c'], ['b'])).toEqual(['a', 'c', 'b']);
  });

  it('forgets the oldest values if all are too long', () => {
    const long = (name: string) => name.repeat(1024 * 1024);
    expect(remember([long('a')], [long('b')], ['c'], [])).toEqual([long('b'), 'c']);
  });
});

describe('the example at the top of state.ts', () => {
  const data = { id: 7, lines: [1, 2] };
  const loaded = { ...move(definition, startState({}, now)), data };
  const inLoop = push(
    loaded,
    { path: '/do/1/each', list: 'do', index: 0, input: null, startedAt: at, loop: { items: [1, 2], turn: 0 } },
    data,
  );
  const tried = push(
    inLoop,
    { path: '/do/1/each/do/0/notify', list: 'try', index: 0, input: data, startedAt: at, attempt: 1 },
    data,
  );
  const retried = withoutPending(retry(tried, at + 1_000));

  it('is at post for the second time', () => {
    expect(nameOf(retried)).toBe('post');
    expect(attemptOf(retried)).toBe(2);
    expect(retried.frames.map(({ path, list, index }) => [path, list, index])).toEqual([
      ['', 'do', 1],
      ['/do/1/each', 'do', 0],
      ['/do/1/each/do/0/notify', 'try', 0],
    ]);
    expect(retried.data).toEqual(data);
    expect(listScopeVariables(definition, retried)).toEqual({ line: 1, index: 0 });
  });

  it('takes the second turn after post, and then continues to close', () => {
    const posted = move(definition, retried);
    expect(nameOf(posted)).toBeUndefined();
    const notified = move(definition, pop(posted), findTask(definition, '/do/1/each/do/0/notify').then);
    expect(nameOf(notified)).toBeUndefined();
    const top = topOf(notified);
    expect(top && hasNextTurn(top)).toBe(true);
    const second = nextTurn(notified);
    expect(nameOf(second)).toBe('notify');
    expect(listScopeVariables(definition, second)).toEqual({ line: 2, index: 1 });
    const closing = move(definition, pop(move(definition, second)));
    expect(nameOf(closing)).toBe('close');
    expect(nameOf(move(definition, closing))).toBeUndefined();
  });

  it('is the same after it was stored', () => {
    expect(JSON.parse(JSON.stringify(retried))).toEqual(retried);
  });
});

describe('move', () => {
  const state = startState(null, now);

  it('goes to the task that then names, to the end of the list, or to the end of the run', () => {
    expect(nameOf(move(definition, state, { task: 'close' }))).toBe('close');
    expect(nameOf(move(definition, state, 'exit'))).toBeUndefined();
    expect(move(definition, state, 'exit').frames).toHaveLength(1);
    expect(move(definition, state, 'end').frames).toEqual([]);
  });
});

describe('findExpired', () => {
  it('finds the outermost task whose time is up', () => {
    const frame = { path: '/do/1/each', list: 'do', index: 0, input: null, startedAt: at } as const;
    const outer = push(startState(null, now), { ...frame, deadline: at + 10 }, null);
    const both = push(outer, { ...frame, deadline: at + 5 }, null);
    expect(findExpired(both, at)).toBeUndefined();
    expect(findExpired(both, at + 5)).toBe(2);
    expect(findExpired(both, at + 10)).toBe(1);
  });
});
