// Tests which large bodies are let in, and when.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLargeBodies, type LargeBodies, TooManyLargeBodies } from './large-bodies.ts';

let bodies: LargeBodies;
beforeEach(() => {
  vi.useFakeTimers();
  bodies = createLargeBodies();
});
afterEach(() => vi.useRealTimers());

/** Enters with a body of each owner. `inside` has the owners in the order in which they were let in. */
function enter(...owners: string[]) {
  const entered = { inside: [] as string[], leaves: [] as (() => void)[], refused: 0 };
  for (const owner of owners)
    void bodies.enter(owner).then(
      (leave) => {
        entered.inside.push(owner);
        entered.leaves.push(leave);
      },
      (error) => {
        expect(error).toBeInstanceOf(TooManyLargeBodies);
        entered.refused += 1;
      },
    );
  return entered;
}
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('large bodies', () => {
  it('are received one at a time of each owner, and four at a time in all', async () => {
    const entered = enter('w1', 'w1', 'w2', 'w3', 'w4', 'w5');
    await settle();
    expect(entered.inside).toEqual(['w1', 'w2', 'w3', 'w4']);
  });

  it('follow when one is answered, the owner first who has waited longest', async () => {
    const entered = enter('w1', 'w1', 'w1', 'w2', 'w2', 'w3', 'w4', 'w5');
    await settle();
    entered.leaves[1]?.();
    entered.leaves[1]?.();
    await settle();
    expect(entered.inside).toEqual(['w1', 'w2', 'w3', 'w4', 'w2']);
    entered.leaves[0]?.();
    entered.leaves[2]?.();
    await settle();
    expect(entered.inside.slice(5)).toEqual(['w1', 'w5']);
  });

  it('are refused after fifteen seconds, or if fifty of their owner wait', async () => {
    const entered = enter(...Array.from({ length: 53 }, () => 'w1'));
    await settle();
    expect([entered.inside.length, entered.refused]).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect([entered.inside.length, entered.refused]).toEqual([1, 52]);
    entered.leaves[0]?.();
    expect(enter('w1').refused).toBe(0);
  });
});
