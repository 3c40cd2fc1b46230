// Cancels runs. A waiting run ends immediately. If a worker is executing the run, the worker ends it after the
// current step.
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { type AppRef, lockRun, lockRunsOfApp, type RunKey, type RunRow, saveCancelling } from '../store/runs.ts';
import type { RunDeps } from './deps.ts';
import { cancelled, endRun } from './end.ts';
import { toCancelTopic } from './tasks/slow-call.ts';

export type CancelDeps = Pick<RunDeps, 'wake'>;

/**
 * Returns the run's status: `cancelling` if this call cancels the run, otherwise its unchanged status. Returns
 * undefined if the run does not exist.
 */
export function cancelRun(
  db: Db,
  deps: CancelDeps,
  run: RunKey,
  reason: 'cancelled_by_user' | null,
  now: Date,
): Promise<{ readonly status: RunRow['status']; readonly changed: boolean } | undefined> {
  return transaction(db, async (db) => {
    const locked = await lockRun(db, run);
    if (locked === undefined) return undefined;
    if (locked.status !== 'running') return { status: locked.status, changed: false };
    await cancelLocked(db, deps, locked, reason, now);
    return { status: 'cancelling', changed: true };
  });
}

const maxBatch = 200;

/**
 * Cancels all runs of an app that is being deleted, and returns how many there were. Each batch has its own
 * transaction, unless the caller has opened one.
 */
export async function cancelRunsOfApp(db: Db, deps: CancelDeps, app: AppRef, now: Date): Promise<number> {
  for (let count = 0; ; ) {
    const batch = await transaction(db, async (db) => {
      const runs = await lockRunsOfApp(db, app, maxBatch);
      for (const run of runs) await cancelLocked(db, deps, run, null, now);
      return runs.length;
    });
    count += batch;
    if (batch < maxBatch) return count;
  }
}

async function cancelLocked(
  db: Db,
  deps: CancelDeps,
  run: RunRow,
  reason: 'cancelled_by_user' | null,
  now: Date,
): Promise<void> {
  if (run.claimed_slot === null) {
    await endRun(db, deps, run, { end: { ...cancelled, status_reason: reason } }, now);
    return;
  }
  await saveCancelling(db, run, reason);
  afterCommit(db, () => deps.wake.notify(toCancelTopic(run.id)));
}
