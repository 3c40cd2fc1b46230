// Watches a turn while a worker runs it: whether it was stopped, and whether the person on whose behalf it runs
// still has access.
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { findAccessOnBehalf } from '../auth/on-behalf.ts';

export interface WatchDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
}

export interface TurnWatch {
  /** Aborted with the error that `findStop` returned or threw. */
  readonly signal: AbortSignal;
  close(): void;
}

const maxPollMs = 1_000;

/**
 * Calls `findStop` at every wake-up, and at least once a second. `findStop` returns the reason if the worker must stop.
 */
export function watchTurn(topic: string, { wake }: WatchDeps, findStop: () => Promise<Error | undefined>): TurnWatch {
  const stopped = new AbortController();
  const closed = new AbortController();
  const idle = new WakeableSleep();
  const unlisten = wake.listen(topic, idle.wake);
  const watch = async () => {
    while (!closed.signal.aborted) {
      await idle.sleep(Math.min(wake.pollMs(), maxPollMs), closed.signal);
      if (closed.signal.aborted) return;
      const stop = await findStop().catch(ignoreOutage);
      if (stop !== undefined) return stopped.abort(stop);
    }
  };
  watch().catch((error) => stopped.abort(error));
  return {
    signal: stopped.signal,
    close() {
      closed.abort();
      unlisten();
    },
  };
}

/** While the database is unavailable, the turn continues. */
function ignoreOutage(error: unknown): undefined {
  if (classifyFailure(error) === undefined) throw error;
}

const accessEveryMs = 10_000;

/**
 * Returns a function that checks whether the person may still change the app. It queries the database every ten
 * seconds, and returns true in between.
 */
export function createAccessCheck(
  db: Db,
  onBehalfOf: Parameters<typeof findAccessOnBehalf>[1],
  appId: string,
): () => Promise<boolean> {
  let seenAt = performance.now();
  return async () => {
    if (performance.now() - seenAt < accessEveryMs) return true;
    seenAt = performance.now();
    return (await findAccessOnBehalf(db, onBehalfOf, appId, 'editor')) !== undefined;
  };
}
