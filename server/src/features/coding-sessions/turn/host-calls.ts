// Retries calls to the git host for a short time while it is unavailable.
import { setTimeout as sleep } from 'node:timers/promises';

const pausesMs = [500, 1_000, 2_000, 4_000, 8_000];

/**
 * Retries the call while the host is unavailable and the call has had no effect. Returns the last result, even if it is
 * `unavailable`.
 */
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
