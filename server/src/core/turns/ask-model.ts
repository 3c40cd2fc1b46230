// Retries calls to the model while it is unavailable.
import { setTimeout as sleep } from 'node:timers/promises';

type Unavailable<Said> = Extract<Said, { readonly outcome: 'unavailable' }>;

/**
 * Calls `ask` until the model replies. `findPauseMs` returns how long to wait after a failure, or undefined after the
 * last attempt. Throws once the signal is aborted.
 */
export async function askModel<Said extends { readonly outcome: 'completed' | 'unavailable' }>(
  ask: () => Promise<Said>,
  findPauseMs: (failure: Unavailable<Said>, attempt: number) => number | undefined | Promise<number | undefined>,
  signal: AbortSignal,
): Promise<Said> {
  for (let attempt = 0; ; attempt += 1) {
    const said = await ask();
    signal.throwIfAborted();
    if (said.outcome === 'completed') return said;
    const pauseMs = await findPauseMs(said as Unavailable<Said>, attempt);
    if (pauseMs === undefined) return said;
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
