// Owns repeating calls of the git host while it is unavailable, for a short time.
import { setTimeout as sleep } from 'node:timers/promises';

const pausesMs = [500, 1_000, 2_000, 4_000, 8_000];

/** Repeats a call that has changed nothing because the host was unavailable. The last answer is returned as it is. */
export async function repeatWhileUnavailable<Result extends { readonly outcome: string }>(
  signal: AbortSignal,
  call: () => Promise<Result>,
): Promise<Result> {
  for (const pauseMs of pausesMs) {
    const result = await call();
    signal.throwIfAborted();
    if (result.outcome !== 'unavailable') return result;
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  return call();
}
