// Owns watching a session from outside while a worker runs it: whether it was cancelled, whether the worker still has it, and whether the
// person who launched it may still do so.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { toSessionTopic } from './session.ts';
import { findWatched, type SessionRow } from './store/sessions.ts';
import { isEnded } from './transitions.ts';

export type StopReason = 'cancelled' | 'claim_lost' | 'access_lost';

/** Why the worker must not go on. */
export class SessionStopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the session was stopped: ${reason}`);
    this.reason = reason;
  }
}

export interface WatchDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
}

export interface SessionWatch {
  /** Aborted with SessionStopped. */
  readonly signal: AbortSignal;
  close(): void;
}

const maxPollMs = 1_000;
const accessEveryMs = 10_000;

export function watchSession(db: Db, session: SessionRow, { wake }: WatchDeps): SessionWatch {
  const stopped = new AbortController();
  const closed = new AbortController();
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toSessionTopic(session.id), idle.wake);
  let accessSeenAt = performance.now();

  const findReason = async (): Promise<StopReason | undefined> => {
    const seen = await findWatched(db, session);
    if (seen === undefined || isEnded(seen.state) || !seen.is_claimed || seen.claims !== session.claims)
      return 'claim_lost';
    if (seen.state === 'cancelling') return 'cancelled';
    if (performance.now() - accessSeenAt < accessEveryMs) return undefined;
    accessSeenAt = performance.now();
    return (await findAccessOnBehalf(db, session, session.app_id, 'editor')) ? undefined : 'access_lost';
  };
  const watch = async () => {
    while (!closed.signal.aborted) {
      await idle.sleep(Math.min(wake.pollMs(), maxPollMs), closed.signal);
      if (closed.signal.aborted) return;
      const reason = await findReason().catch((error: unknown) => {
        if (classifyFailure(error) === undefined) throw error;
        return undefined; // while the database is unavailable, the work goes on
      });
      if (reason !== undefined) return stopped.abort(new SessionStopped(reason));
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
