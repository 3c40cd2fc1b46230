// Tests process time, with clocks that only the tests move.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProcessTime, hold, mapInSlices, NoTurn, type ProcessTime } from './process-time.ts';

let time: ProcessTime;
let heldInAllMs = 0;
beforeEach(() => {
  vi.useFakeTimers();
  heldInAllMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + heldInAllMs);
  vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({ user: heldInAllMs * 1000, system: 0 }));
  time = createProcessTime();
});
afterEach(() => vi.restoreAllMocks());
afterEach(() => vi.useRealTimers());

/** Uses processor time without running any timers. */
function useProcessorFor(ms: number): void {
  heldInAllMs += ms;
}

/** Runs a request that holds the process for this long. */
async function request(owner: string, heldMs: number): Promise<void> {
  await time.waitForTurn(owner);
  time.run(owner, () => useProcessorFor(heldMs));
}

const isDelayed = (owner: string) => time.waitForTurn(owner) !== undefined;

describe('a process', () => {
  it('never delays an owner whose requests are short while nobody else is there', async () => {
    await request('w2', 5);
    await vi.advanceTimersByTimeAsync(1_100);
    for (let n = 0; n < 1_000; n += 1) await request('w1', 9.5);
    expect(isDelayed('w1')).toBe(false);
  });

  it('gives short holds of one owner two fifths of its time while others are there', async () => {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1000;
    let heldMs = 0;
    const working = (async () => {
      for (; seconds() < 20; heldMs += 5) await request('w1', 5);
    })();
    while (seconds() < 25) {
      await request('w2', 1);
      await vi.advanceTimersByTimeAsync(100);
    }
    await working;
    expect(heldMs / 20_000).toBeGreaterThan(0.3);
    expect(heldMs / 20_000).toBeLessThan(0.44);
    expect(isDelayed('w2')).toBe(false);
  });

  it('delays an owner who held it for long, and nobody else', async () => {
    await request('w1', 250);
    expect([isDelayed('w1'), isDelayed('w2')]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(isDelayed('w1')).toBe(true);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(isDelayed('w1')).toBe(false);
  });

  it.each([
    [10, 0.09],
    [50, 0.06],
    [250, 0.04],
  ])('gives holds of %i ms at most %f of its time', async (heldMs, share) => {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1000;
    const working = (async () => {
      while (seconds() < 100) await request('w1', heldMs);
    })();
    while (seconds() < 120) await vi.advanceTimersByTimeAsync(1_000);
    await working;
    expect(heldInAllMs / 1000 / 100).toBeLessThan(share);
  });

  it('lets requests that arrived together start one by one, each after the last was counted', async () => {
    const starts: number[] = [];
    const startedAt = performance.now();
    await request('w1', 100);
    for (let n = 0; n < 3; n += 1)
      void Promise.resolve(time.waitForTurn('w1')).then(() => {
        starts.push(Math.floor((performance.now() - startedAt) / 1000));
        time.run('w1', () => useProcessorFor(100));
      });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(starts).toEqual([2, 5, 8]);
  });

  it('counts what runs after an await, if it is run by hold', async () => {
    await time.run('w1', async () => {
      await Promise.resolve();
      hold(() => useProcessorFor(250));
    });
    expect(isDelayed('w1')).toBe(true);
  });

  it('refuses a request that waited for 15 seconds, and one that finds 200 waiting', async () => {
    const refused: unknown[] = [];
    const enter = () =>
      void Promise.try(() => time.waitForTurn('w1')).then(
        () => time.run('w1', () => useProcessorFor(500)),
        (error) => refused.push(error),
      );
    await request('w1', 500);
    for (let n = 0; n < 203; n += 1) enter();
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(refused).toHaveLength(202);
    expect(refused.every((error) => error instanceof NoTurn)).toBe(true);
  });

  it('lets a request that asks for it wait longer, even if 200 are waiting', async () => {
    let refused = 0;
    const enter = (waitMs?: number) =>
      void Promise.try(() => time.waitForTurn('w1', waitMs)).then(
        () => time.run('w1', () => useProcessorFor(500)),
        () => (refused += 1),
      );
    await request('w1', 500);
    for (let n = 0; n < 200; n += 1) enter();
    for (let n = 0; n < 800; n += 1) enter(60_000);
    enter(60_000);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toBe(1);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(refused).toBe(200);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(refused).toBeGreaterThan(900);
  });
});

describe('a long list', () => {
  it('is mapped in slices, and others run in between', async () => {
    vi.useRealTimers();
    const order: (number | string)[] = [];
    setImmediate(() => order.push('other'));
    const results = await mapInSlices([1, 2, 3, 4, 5, 6], (n) => {
      useProcessorFor(2);
      order.push(n);
      return n * 10;
    });
    expect(results).toEqual([10, 20, 30, 40, 50, 60]);
    expect(order).toEqual([1, 2, 3, 'other', 4, 5, 6]); // the 5 ms slice ends after item 3
  });

  it('counts for the owner of the request, slice by slice', async () => {
    vi.useRealTimers();
    await time.run('w1', () => mapInSlices([1, 2, 3], () => useProcessorFor(250)));
    expect(isDelayed('w1')).toBe(true);
  });
});
