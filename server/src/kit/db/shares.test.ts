// Tests how pool connections are divided between owners and their parts. With a pool of 16, the shares are 2, 4 and 12.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createShares, NoShare, type Release, type Shares, type WorkKind } from './shares.ts';

let shares: Shares;
beforeEach(() => {
  vi.useFakeTimers();
  shares = createShares(16);
});
afterEach(() => vi.useRealTimers());

/** Requests `times` shares. Adds each share to `started` when it is granted. */
function take(times: number, kind: WorkKind, owner: string, part: string | null = null, waitMs?: number) {
  const taken = { started: [] as Release[], refused: 0 };
  for (let i = 0; i < times; i += 1) {
    void Promise.try(() => shares.take(kind, { owner, part }, { waitMs })).then(
      (release) => taken.started.push(release),
      (error) => {
        expect(error).toBeInstanceOf(NoShare);
        taken.refused += 1;
      },
    );
  }
  return taken;
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe('shares of the pool', () => {
  it('let one part do slow work in an eighth of it', async () => {
    const work = take(10, 'slow', 'w1', 'a1');
    await settle();
    expect(work.started).toHaveLength(2);
  });

  it('let one owner do slow work in a quarter of it, with however many parts', async () => {
    const work = ['a1', 'a2', 'a3'].map((part) => take(10, 'slow', 'w1', part));
    const workspaceWide = take(10, 'slow', 'w1');
    await settle();
    expect([...work, workspaceWide].map(({ started }) => started.length)).toEqual([2, 2, 0, 0]);
  });

  it('let all owners together do slow work in three quarters of it, and short work beside it', async () => {
    const work = ['w1', 'w2', 'w3', 'w4'].map((owner) => take(10, 'slow', owner));
    const short = take(2, 'short', 'w4');
    await settle();
    expect(work.map(({ started }) => started.length)).toEqual([4, 4, 4, 0]);
    expect(short.started).toHaveLength(2);
  });

  it('let one owner do any work in three quarters of it', async () => {
    const slow = take(10, 'slow', 'w1');
    const short = take(10, 'short', 'w1');
    const other = take(10, 'short', 'w2');
    await settle();
    expect([slow, short, other].map(({ started }) => started.length)).toEqual([4, 8, 10]);
  });

  it('let a part start no more slow work while some of it takes long, and an owner no more than two', async () => {
    const work = ['a1', 'a2', 'a3'].map((part) => take(1, 'slow', 'w1', part));
    await vi.advanceTimersByTimeAsync(101);
    const more = ['a1', 'a2', 'a3', 'a4'].map((part) => take(1, 'slow', 'w1', part));
    const other = take(3, 'slow', 'w2');
    await settle();
    expect(more.map(({ started }) => started.length)).toEqual([0, 0, 0, 0]);
    expect(other.started).toHaveLength(3);
    for (const { started } of work.slice(0, 2)) started[0]?.(); // only a3 is still running
    await settle();
    expect(more.map(({ started }) => started.length)).toEqual([1, 1, 0, 1]);
  });

  it('are at least 1, however small the pool is', async () => {
    shares = createShares(1);
    const slow = take(2, 'slow', 'w1', 'a1');
    await settle();
    expect(slow.started).toHaveLength(1);
  });
});

describe('a share that is given back', () => {
  it('goes to the owner with the fewest, although others have waited longer', async () => {
    const [first, ...others] = ['w1', 'w2', 'w3'].map((owner) => take(100, 'slow', owner));
    const late = take(1, 'slow', 'w4');
    await settle();
    expect([first, ...others, late].map((work) => work?.started.length)).toEqual([4, 4, 4, 0]);
    first?.started[0]?.();
    await settle();
    expect([first, ...others, late].map((work) => work?.started.length)).toEqual([4, 4, 4, 1]);
  });

  it('goes to the one that has waited longest, of the same owner', async () => {
    const order: string[] = [];
    const running = take(2, 'slow', 'w1', 'a1');
    for (const name of ['first', 'second'])
      void Promise.resolve(shares.take('slow', { owner: 'w1', part: 'a1' })).then(() => order.push(name));
    await settle();
    running.started[0]?.();
    await settle();
    expect(order).toEqual(['first']);
  });

  it('is given back once, even if it is released twice', async () => {
    const work = take(4, 'slow', 'w1', 'a1');
    await settle();
    work.started[0]?.();
    work.started[0]?.();
    await settle();
    expect(work.started).toHaveLength(3);
  });
});

describe('work that waits for a share', () => {
  it('is refused after five seconds', async () => {
    const slow = take(3, 'slow', 'w1', 'a1');
    const short = take(20, 'short', 'w2');
    await vi.advanceTimersByTimeAsync(4_999);
    expect([slow.refused, short.refused]).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([slow.refused, short.refused]).toEqual([1, 8]);
  });

  it('is refused at once if too many wait already, without an effect on other parts and owners', async () => {
    const part = take(2 + 100 + 3, 'slow', 'w1', 'a1');
    const other = take(3, 'slow', 'w1', 'a2');
    const owner = take(12 + 1_000 + 3, 'short', 'w2', 'a3');
    await settle();
    expect([part.refused, other.refused, owner.refused]).toEqual([3, 0, 3]);
    expect([part, other, owner].map(({ started }) => started.length)).toEqual([2, 2, 12]);
  });

  it('waits as long as is asked for, behind any number of others of its part', async () => {
    const part = take(2 + 100, 'slow', 'w1', 'a1');
    const long = take(3, 'slow', 'w1', 'a1', 60_000);
    await vi.advanceTimersByTimeAsync(59_999);
    expect([part.refused, long.refused]).toEqual([100, 0]);
    for (const release of part.started) release();
    await vi.advanceTimersByTimeAsync(1);
    expect([long.started.length, long.refused]).toEqual([2, 1]);
  });

  it('waits as long as it takes if it is patient', async () => {
    const running = take(2, 'slow', 'w1', 'a1');
    let isStarted = false;
    const patient = shares.take('slow', { owner: 'w1', part: 'a1' }, { patient: true });
    void Promise.resolve(patient).then(() => {
      isStarted = true;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isStarted).toBe(false);
    for (const release of running.started) release();
    await settle();
    expect(isStarted).toBe(true);
  });

  it('is always started or refused, and never beyond a share, in a random sequence', async () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const running = new Map<Release, string>();
    const countOf = (...words: string[]) =>
      [...running.values()].filter((text) => words.every((word) => text.includes(word))).length;
    let [asked, ended] = [0, 0];
    for (let step = 0; step < 3_000; step += 1) {
      const [owner, part, kind] = [
        `w${random(3)}`,
        `a${random(3)}`,
        random(3) ? ('slow' as const) : ('short' as const),
      ];
      asked += 1;
      void Promise.try(() => shares.take(kind, { owner, part })).then(
        (release) => {
          running.set(release, `${kind} ${owner} ${owner}${part}`);
          expect(countOf('slow')).toBeLessThanOrEqual(12);
          expect(countOf(owner)).toBeLessThanOrEqual(12);
          expect(countOf('slow', owner)).toBeLessThanOrEqual(4);
          expect(countOf('slow', owner + part)).toBeLessThanOrEqual(2);
        },
        () => (ended += 1),
      );
      await vi.advanceTimersByTimeAsync(random(40));
      for (const release of [...running.keys()].slice(0, random(4))) {
        running.delete(release);
        ended += 1;
        release();
      }
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(running.size).toBeGreaterThan(0);
    expect(running.size + ended).toBe(asked);
  });
});
