// Waiting: until a rate limit has room again, and between two looks at something that changes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Notes } from '../../sdk/src/index.ts';

/** Waits if the next request would be refused because of its rate. */
export async function waitForLimit({ rateLimit }: Notes, signal: AbortSignal): Promise<void> {
  if (rateLimit?.remaining === 0) await sleep(rateLimit.resetSeconds * 1000, undefined, { signal });
}

/** Calls `look` every two seconds. It ends by throwing, or when `look` returns false. */
export async function poll(look: () => Promise<boolean>, signal: AbortSignal, everyMs = 2000): Promise<void> {
  while (await look()) await sleep(everyMs, undefined, { signal });
}
