// Tests the order in which callers enter the gate.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFairGate, type FairGate, GateClosed } from './fair-gate.ts';

let gate: FairGate;
beforeEach(() => {
  vi.useFakeTimers();
  gate = createFairGate({ inAll: 4, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 15_000 });
});
afterEach(() => vi.useRealTimers());

/** Enters once per listed owner. `inside` lists the owners in the order in which they entered. */
function enter(...owners: string[]) {
  const entered = { inside: [] as string[], leaves: [] as (() => void)[], refused: 0 };
  for (const owner of owners)
    void Promise.try(() => gate.enter(owner)).then(
      (leave) => {
        entered.inside.push(owner);
        entered.leaves.push(leave);
      },
      (error) => {
        expect(error).toBeInstanceOf(GateClosed);
        entered.refused += 1;
      },
    );
  return entered;
}
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('a fair gate', () => {
  it('lets in so many of each owner, and so many in all', async () => {
    const entered = enter('w1', 'w1', 'w2', 'w3', 'w4', 'w5');
    await settle();
    expect(entered.inside).toEqual(['w1', 'w2', 'w3', 'w4']);
  });

  it('lets in the next when one leaves, the owner first who has waited longest', async () => {
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

  it('refuses who has waited for too long, and who finds too many of the same owner waiting', async () => {
    const entered = enter(...Array.from({ length: 53 }, () => 'w1'));
    await settle();
    expect([entered.inside.length, entered.refused]).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect([entered.inside.length, entered.refused]).toEqual([1, 52]);
    entered.leaves[0]?.();
    expect(enter('w1').refused).toBe(0);
  });
});
