// The drill's plan: which fault occurs in which run, and when. The plan is drawn from the seed in advance, so
// every kind of fault occurs.
import type { Random } from '../../harness/random.ts';

/**
 * `delete at once` deletes the test before its run has a browser or as soon as it has one. `delete` deletes the test
 * while its browser is in use. `browser` and `worker` kill the run's browser or the worker that owns it.
 */
export type Fault = 'delete at once' | 'delete' | 'browser' | 'worker';

export interface PlannedRun {
  readonly number: number;
  readonly fault: Fault | undefined;
  /** The delay after the run was started or its browser was opened. A run takes longer than this. */
  readonly afterMs: number;
}

export type Counts = Readonly<Record<Fault | 'none', number>>;

const withinMs: Readonly<Record<Fault, number>> = {
  'delete at once': 300,
  delete: 2_000,
  browser: 2_000,
  worker: 2_000,
};

export function planRuns(random: Random, counts: Counts): PlannedRun[] {
  const faults = Object.entries(counts).flatMap(([name, count]) =>
    Array.from({ length: count }, () => (name === 'none' ? undefined : (name as Fault))),
  );
  return shuffle(random, faults).map((fault, number) => {
    const afterMs = Math.round(random() * (fault === undefined ? 0 : withinMs[fault]));
    return { number, fault, afterMs };
  });
}

function shuffle<Item>(random: Random, items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, key: random() }));
  return drawn.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

export const isDeletion = (fault: Fault | undefined): boolean => fault === 'delete' || fault === 'delete at once';
