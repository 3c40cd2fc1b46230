// Tests that a failure ends the work on all objects before it is reported.
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forEach } from './objects.ts';

const items = Array.from({ length: 100 }, (_, n) => n);
const never = new AbortController().signal;

it('after a failure no other item is begun, and those that were begun have ended', async () => {
  const [begun, ended]: [number[], number[]] = [[], []];
  const running = forEach(items, never, async (item, signal) => {
    begun.push(item);
    if (item === 2) throw new Error('the third failed');
    while (!signal.aborted) await setImmediate();
    for (let turn = 0; turn < 20; turn += 1) await setImmediate(); // such as closing a file
    ended.push(item);
    signal.throwIfAborted();
  });
  await expect(running).rejects.toThrow('the third failed');
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(ended.toSorted()).toEqual([0, 1, 3, 4, 5, 6, 7]);
});

it('an interruption ends the work in the same way', async () => {
  const stop = new AbortController();
  let running = 0;
  const work = forEach(items, stop.signal, async (item, signal) => {
    running += 1;
    if (item === 5) stop.abort(new Error('interrupted'));
    while (!signal.aborted) await setImmediate();
    running -= 1;
  });
  await expect(work).rejects.toThrow('interrupted');
  expect(running).toBe(0);
});
