// Looks up a stream's caller again and again, so a stream ends soon after its caller may no longer read it.
import type { Clock } from '../../kit/clock.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';

export interface AccessWatch {
  /** Aborted with the refusal once the caller may no longer read. */
  readonly refused: AbortSignal;
  /** Whether the caller may receive more now. `unknown` while the database is unavailable. */
  check(): Promise<'allowed' | 'refused' | 'unknown'> | 'allowed';
  close(): void;
}

export function watchAccess(held: HeldRequest, clock: Clock, everyMs: number): AccessWatch {
  const refused = new AbortController();
  let checkedAt = performance.now();
  let checking: Promise<'allowed' | 'refused' | 'unknown'> | undefined;
  const isRecent = () => performance.now() - checkedAt < everyMs;

  async function lookUp() {
    try {
      await held.recheck(clock.now());
      checkedAt = performance.now();
      return 'allowed';
    } catch (error) {
      if (classifyFailure(error) !== undefined) return 'unknown';
      refused.abort(error);
      return 'refused';
    } finally {
      checking = undefined;
    }
  }
  const lookUpOnce = () => {
    checking ??= lookUp();
    return checking;
  };
  const timer = setInterval(() => void lookUpOnce(), everyMs);
  return {
    refused: refused.signal,
    // A paused follower continues without waiting for the timer, so the time is checked here, too.
    check: () => (isRecent() && !refused.signal.aborted ? 'allowed' : lookUpOnce()),
    close: () => clearInterval(timer),
  };
}
