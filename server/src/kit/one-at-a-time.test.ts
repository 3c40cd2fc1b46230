// Tests that work runs one at a time, and that not too much of it waits.
import { describe, expect, it } from 'vitest';
import { oneAtATime } from './one-at-a-time.ts';

describe('oneAtATime', () => {
  it('runs work in the order of its arrival, and goes on after a failure', async () => {
    const run = oneAtATime(10, () => new Error('refused'));
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await Promise.resolve();
      log.push(`${name} ends`);
      if (name === 'a') throw new Error('failed');
      return name;
    };
    const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => run(work(name))));
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });

  it('refuses work beyond the number that may wait', async () => {
    const run = oneAtATime(2, () => new Error('refused'));
    const gate = Promise.withResolvers<void>();
    const accepted = [1, 2, 3].map(() => run(() => gate.promise));
    await expect(run(() => gate.promise)).rejects.toThrow('refused');
    gate.resolve();
    await Promise.all(accepted);
    await expect(run(async () => 'later')).resolves.toBe('later');
  });
});
