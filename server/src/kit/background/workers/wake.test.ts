// Tests that a wake-up hint ends a sleep early.
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { WakeableSleep } from './wake.ts';

const longMs = 60_000;
const idle = new WakeableSleep();
const running = new AbortController().signal;

it('ends a sleep by a hint, and leaves nothing at the signal', async () => {
  const sleep = idle.sleep(longMs, running);
  expect(getEventListeners(running, 'abort')).toHaveLength(1);
  idle.wake();
  await sleep;
  expect(getEventListeners(running, 'abort')).toEqual([]);
});

it('ends the next sleep by a hint that arrives between two, and only that one', async () => {
  idle.wake();
  await idle.sleep(longMs, running);
  const startedAt = performance.now();
  await idle.sleep(50, running);
  expect(performance.now() - startedAt).toBeGreaterThan(45);
});

it('ends a sleep by the signal, and does not begin one after it', async () => {
  const stopping = new AbortController();
  const sleep = idle.sleep(longMs, stopping.signal);
  stopping.abort();
  await sleep;
  await idle.sleep(longMs, stopping.signal);
});
