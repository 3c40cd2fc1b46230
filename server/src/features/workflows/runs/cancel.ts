// Owns cancelling runs. One that waits ends at once. One that a worker is executing ends as soon as its step has ended, and that
// worker ends it.
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { type AppRef, lockRun, lockRunsOfApp, type RunKey, type RunRow, saveCancelling } from '../store/runs.ts';
import type { RunDeps } from './deps.ts';
import { cancelled, endRun } from './end.ts';
import { toCancelTopic } from './tasks/slow-call.ts';

export type CancelDeps = Pick<RunDeps, 'wake'>;

/** Returns the run's status before this call, `cancelling` if it is being cancelled by it; undefined if there is no such run. */
export function cancelRun(
  db: Db,
  run: RunKey,
  reason: 'cancelled_by_user' | null,
  deps: CancelDeps,
  now: Date,
): Promise<{ readonly status: RunRow['status']; readonly changed: boolean } | undefined> {
  return transaction(db, async (db) => {
    const locked = await lockRun(db, run);
    if (locked === undefined) return undefined;
    if (locked.status !== 'running') return { status: locked.status, changed: false };
    await cancelLocked(db, locked, reason, deps, now);
    return { status: 'cancelling', changed: true };
  });
}

const maxBatch = 200;

/** Cancels all runs of an app that is being deleted. Returns how many. Each batch is a transaction, unless one is open. */
export async function cancelRunsOfApp(db: Db, app: AppRef, deps: CancelDeps, now: Date): Promise<number> {
  for (let count = 0; ; ) {
    const batch = await transaction(db, async (db) => {
      const runs = await lockRunsOfApp(db, app, maxBatch);
      for (const run of runs) await cancelLocked(db, run, null, deps, now);
      return runs.length;
    });
    count += batch;
    if (batch < maxBatch) return count;
  }
}

async function cancelLocked(
  db: Db,
  run: RunRow,
  reason: 'cancelled_by_user' | null,
  deps: CancelDeps,
  now: Date,
): Promise<void> {
  if (run.claimed_slot === null) {
    await endRun(db, run, { ...cancelled, status_reason: reason }, deps, now);
    return;
  }
  await saveCancelling(db, run, reason);
  afterCommit(db, () => deps.wake.notify(toCancelTopic(run.id)));
}
