// Watches a session while a worker runs it: whether the session was cancelled, whether the worker still holds the
// claim, and whether the user who launched the session still has access.
import { ClaimLost } from '../../../core/turns/claim.ts';
import { createAccessCheck, type TurnWatch, type WatchDeps, watchTurn } from '../../../core/turns/watch.ts';
import type { Db } from '../../../tables.ts';
import { toSessionTopic } from '../session/session.ts';
import { findWatched, type SessionRow } from '../store/sessions.ts';
import { isEnded } from '../transitions.ts';
import type { CancelReason } from './end.ts';

/** Carries the reason why the worker must stop the session. */
export class SessionStopped extends Error {
  readonly reason: CancelReason;

  constructor(reason: CancelReason) {
    super(`the session was stopped: ${reason}`);
    this.reason = reason;
  }
}

/** Aborts the returned signal with SessionStopped or ClaimLost. */
export function watchSession(db: Db, deps: WatchDeps, session: SessionRow): TurnWatch {
  const hasAccess = createAccessCheck(db, session, session.app_id);
  return watchTurn(toSessionTopic(session.id), deps, async () => {
    const seen = await findWatched(db, session);
    if (seen === undefined || isEnded(seen.state) || !seen.is_claimed || seen.claims !== session.claims)
      return new ClaimLost();
    if (seen.state === 'cancelling') return new SessionStopped('cancelled');
    return (await hasAccess()) ? undefined : new SessionStopped('access_lost');
  });
}
