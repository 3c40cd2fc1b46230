// The ticks that start the runs of scheduled automations (docs/api/automations.md#schedules).
import { auditService } from '../../core/audit/audit.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { findNextTick } from '../../kit/schedule/index.ts';
import type { Db } from '../../tables.ts';
import {
  type DueAutomation,
  insertRuns,
  lockDueAutomations,
  type NewRun,
  runQueue,
  saveTicks,
  type Ticked,
} from './store/runs.ts';

const batchSize = 200;
const trashMs = 60 * 60 * 1000;

/**
 * Starts a run for each automation that is due. If several ticks were missed because no worker was running, only one
 * run is started, for the earliest missed tick. Returns how many automations were handled.
 */
export const startDueRuns = (db: Db, wake: Pick<WakeUps, 'notify'>, now: Date): Promise<number> =>
  transaction(db, async (db) => {
    const due = await lockDueAutomations(db, batchSize, now);
    if (due.length === 0) return 0;
    const ticked = due.map((automation) => ({ automation, ...tick(automation, now) }));
    await saveTicks(
      db,
      ticked.map(({ after }) => after),
    );
    await insertRuns(
      db,
      ticked.filter(({ startsRun }) => startsRun).map(({ automation, after }) => toRun(automation, after, now)),
      now,
    );
    for (const { automation, after } of ticked) if (!after.is_active) await auditEnd(db, automation, now);
    afterCommit(db, () => wake.notify(runQueue));
    return due.length;
  });

/** The last tick turns the automation off, but its run is still started. */
function tick(automation: DueAutomation, now: Date): { readonly after: Ticked; readonly startsRun: boolean } {
  const { id, is_active, is_deleted, ticks, schedule, last_error } = automation;
  const previous = automation.next_tick_at ?? now;
  // The tick is postponed while the app or workspace is in the trash.
  if (is_deleted) {
    const next_tick_at = new Date(now.getTime() + trashMs);
    return { after: { id, is_active, ticks, last_error, next_tick_at }, startsRun: false };
  }
  try {
    const next_tick_at = schedule === null ? null : findNextTick(schedule, ticks + 1, now, previous);
    const after = { id, is_active: next_tick_at !== null, ticks: ticks + 1, last_error, next_tick_at };
    return { after, startsRun: true };
  } catch {
    // The schedule was valid when it was saved. If it no longer is, it must not stop other automations from running. No
    // run is started, because it is unknown whether this tick was wanted.
    return { after: { id, is_active: false, ticks, last_error: unreadable, next_tick_at: null }, startsRun: false };
  }
}

const unreadable = 'The stored schedule can no longer be read. Save it again, then turn the automation on.';

const toRun = (automation: DueAutomation, { is_active }: Ticked, now: Date): NewRun => ({
  id: newId(),
  workspace_id: automation.workspace_id,
  app_id: automation.app_id,
  automation_id: automation.id,
  tick_at: automation.next_tick_at ?? now,
  is_last: !is_active,
  depth: 0,
});

const auditEnd = (db: Db, { workspace_id, app_id, id }: DueAutomation, now: Date): Promise<void> =>
  auditService(
    db,
    workspace_id,
    { type: 'automation.disabled', target: { kind: 'automation', id }, app_id, after: { is_active: false } },
    now,
  );
