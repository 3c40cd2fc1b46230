// The fault schedule. Faults are injected at random times, drawn from a seed so that a run can be reproduced.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';

export interface FaultTime<Fault extends string> {
  readonly fault: Fault;
  /** The time in seconds after the start. */
  readonly at: number;
}

/** Draws a time within these seconds for each injection. */
export function drawTimes<Fault extends string>(
  counts: Readonly<Record<Fault, number>>,
  seconds: number,
  random: Random,
): FaultTime<Fault>[] {
  const faults = Object.entries<number>(counts) as [Fault, number][];
  return faults
    .flatMap(([fault, count]) => Array.from({ length: count }, () => ({ fault, at: random() * seconds })))
    .sort((a, b) => a.at - b.at);
}

/**
 * Injects each fault at its scheduled time. `inject` returns false if there was nothing to break. Returns how often
 * each fault was injected.
 */
export async function injectAt<Fault extends string>(
  times: readonly FaultTime<Fault>[],
  inject: (fault: Fault) => Promise<boolean>,
  progress: (line: string) => void,
): Promise<Record<Fault, number>> {
  const injected = Object.fromEntries(times.map(({ fault }) => [fault, 0])) as Record<Fault, number>;
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  for (const { fault, at } of times) {
    await sleep(Math.max(0, startedAt + at * 1000 - performance.now()));
    progress(`${at.toFixed(1)} s: ${fault}`);
    pending.push(
      inject(fault).then((did) => {
        if (did) injected[fault] += 1;
      }),
    );
  }
  await Promise.all(pending);
  return injected;
}
