// Tests when a result counts as no worse than another checkout's result.
import { describe, expect, it } from 'vitest';
import { compare } from './against.ts';

describe('a comparison with another checkout', () => {
  const before = [100, 200, 400];
  const times = (factor: number) => before.map((figure) => figure * factor);

  it('allows 3 % if the two runs of the other checkout hardly differ', () => {
    expect(compare(times(0.98), before, times(1.01))).toEqual({ ratio: 0.98, noise: 0.01, isNoWorse: true });
    expect(compare(times(0.96), before, times(1.01))).toEqual({ ratio: 0.96, noise: 0.01, isNoWorse: false });
  });

  it('allows as much as these two runs differ, in either direction', () => {
    expect(compare(times(0.92), before, times(1.1))).toMatchObject({ noise: 0.1, isNoWorse: true });
    expect(compare(times(0.92), before, times(0.9))).toMatchObject({ noise: 0.1, isNoWorse: true });
    expect(compare(times(0.88), before, times(0.9))).toMatchObject({ isNoWorse: false });
  });

  it('shows nothing if these two runs differ by more than 10 %', () => {
    expect(compare(before, before, times(1.2))).toMatchObject({ ratio: 1, noise: 0.2, isNoWorse: false });
  });

  it('is about more time if smaller figures are better', () => {
    expect(compare(times(1.05), before, before, true)).toMatchObject({ ratio: 1.05, isNoWorse: false });
    expect(compare(times(0.5), before, before, true)).toMatchObject({ ratio: 0.5, isNoWorse: true });
    expect(compare(times(2), before, before)).toMatchObject({ isNoWorse: true });
  });

  it('compares figures of the same block', () => {
    expect(compare([100, 200, 4_000], before, before)).toMatchObject({ ratio: 1, isNoWorse: true });
    expect(compare([50, 100, 4_000], before, before)).toMatchObject({ ratio: 0.5, isNoWorse: false });
  });
});
