// Tests the delays between attempts.
import { describe, expect, it } from 'vitest';
import { computeDelay } from './catching.ts';

describe('computeDelay', () => {
  const delays = (backoff: 'constant' | 'linear' | 'exponential', jitterMs?: { from: number; to: number }) =>
    [1, 2, 3].map((attempt) => computeDelay({ delayMs: 5_000, backoff, maxAttempts: 20, jitterMs }, attempt, 0.5));

  it('grows as the policy says', () => {
    expect(delays('constant')).toEqual([5_000, 5_000, 5_000]);
    expect(delays('linear')).toEqual([5_000, 10_000, 15_000]);
    expect(delays('exponential')).toEqual([5_000, 10_000, 20_000]);
    expect(delays('constant', { from: 100, to: 300 })).toEqual([5_200, 5_200, 5_200]);
  });

  it('is never longer than a run', () => {
    const policy = { delayMs: 24 * 60 * 60 * 1000, backoff: 'exponential', maxAttempts: 20 } as const;
    expect(computeDelay(policy, 20, 0)).toBe(30 * 24 * 60 * 60 * 1000);
  });
});
