// Waiting for what other processes are about to do, for commands that are started together with them.
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from './arguments.ts';

const retryMs = 500;

/** Repeats the work until it succeeds, it fails for another reason, or the time is over. */
export async function untilPossible<Result>(
  waitMs: number,
  passes: (error: unknown) => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || performance.now() > until) throw error;
      await sleep(retryMs);
    }
  }
}

/** Reads the value of `--wait`, in milliseconds. */
export function toWaitMs(seconds: string, usage: string): number {
  if (!/^\d{1,4}$/.test(seconds)) throw new UsageError(usage);
  return Number(seconds) * 1_000;
}
