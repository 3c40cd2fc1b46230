// Owns the ticks of scheduled automations: the runs of those that are due
// (docs/api/automations.md#schedules).
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
 * Starts a run of each automation that is due. Ticks that were missed, because no worker was running, make one run together:
 * that of the tick that was due first. Returns how many automations were handled.
 */
export const startDueRuns = (db: Db, wake: Pick<WakeUps, 'notify'>, now: Date): Promise<number> =>
  transaction(db, async (db) => {
    const due = await lockDueAutomations(db, now, batchSize);
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

/** After the last tick the automation is off. The run of that tick takes place nevertheless. */
function tick(automation: DueAutomation, now: Date): { readonly after: Ticked; readonly startsRun: boolean } {
  const { id, is_active, is_deleted, ticks, schedule, last_error } = automation;
  const previous = automation.next_tick_at ?? now;
  // Until the app or workspace is restored or purged.
  if (is_deleted) {
    const next_tick_at = new Date(now.getTime() + trashMs);
    return { after: { id, is_active, ticks, last_error, next_tick_at }, startsRun: false };
  }
  try {
    const next_tick_at = schedule === null ? null : findNextTick(schedule, ticks + 1, now, previous);
    const after = { id, is_active: next_tick_at !== null, ticks: ticks + 1, last_error, next_tick_at };
    return { after, startsRun: true };
  } catch {
    // It was valid when it was saved. One that is not must not keep the others from running. Nobody knows whether this tick was
    // wanted, so there is no run of it.
    return { after: { id, is_active: false, ticks, last_error: unreadable, next_tick_at: null }, startsRun: false };
  }
}

const unreadable = "The schedule can't be read any more. Save it again and turn the automation on.";

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
