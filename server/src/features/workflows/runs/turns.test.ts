// Tests that runs take turns in memory when they need the same heavily used row.
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it('lets one run at a time work for an id, and a few for all ids together', async () => {
  const takeTurn = createTurns();
  const running: string[] = [];
  const most = { ofOne: 0, inAll: 0 };
  const work = (id: string) =>
    takeTurn(id, async () => {
      running.push(id);
      most.ofOne = Math.max(most.ofOne, running.filter((each) => each === id).length);
      most.inAll = Math.max(most.inAll, running.length);
      await setImmediate();
      running.splice(running.indexOf(id), 1);
      return id;
    });
  const ids = Array.from({ length: 100 }, (_, n) => `id ${n % 20}`);
  expect(await Promise.all(ids.map(work))).toEqual(ids);
  expect(most).toEqual({ ofOne: 1, inAll: 8 });
});

it('passes the turn on if the work fails', async () => {
  const takeTurn = createTurns();
  const failing = takeTurn('id', async () => {
    await setImmediate();
    throw new Error('no');
  });
  const next = takeTurn('id', async () => 'next');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});
