// The jobs that keep `member_directory` current. They apply recent activity (credits spent, last active, last
// seen) to members' rows, clear old months' credits, and compact the counts per place.
//
// Example: Ann spends 1.5 credits in November 2026 (month 2026 * 12 + 10 = 24322, even) and calls the API.
//
//   member_activity before   (ann, month 24322, credits 1.5, active_at 09:00)   (ann, seen_at 09:01)
//   member_directory before  even_month 24320  even_credits 8   odd_month 24321  odd_credits 3   last_seen 08:00
//   member_directory after   even_month 24322  even_credits 1.5 odd_month 24321  odd_credits 3   last_seen 09:01
//   member_activity after    no rows for Ann
//
// Months alternate between two pairs of columns, so sorting by credits is correct from the first second of a month.
// `clearOldMonths` sets the next month's pair to 0 long before that month starts.
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import {
  applyActivity,
  clearCreditsBefore,
  compactTally,
  listMembersWithActivity,
  listWorkspacesToCompact,
  listWorkspacesWithActivity,
  lockUnlockedMembers,
  removeOrphanActivity,
  tryLockDirectory,
} from './store.ts';

const batchSize = 500;

/** Months since year 0, in UTC. */
export const monthNumberOf = (now: Date): number => now.getUTCFullYear() * 12 + now.getUTCMonth();

/** Which pair of columns contains this month's credits. */
export const monthParityOf = (month: number): 'even' | 'odd' => (month % 2 === 0 ? 'even' : 'odd');

/**
 * Applies a batch of a workspace's activity and returns how many rows and members were handled. Members whose rows are
 * locked by another transaction are left for the next run.
 */
export function refreshDirectory(db: Db, workspace_id: string, now: Date): Promise<number> {
  return transaction(db, async (db) => {
    if (!(await tryLockDirectory(db, workspace_id))) return 0; // another process is refreshing it
    const orphans = await removeOrphanActivity(db, workspace_id);
    const user_ids = await listMembersWithActivity(db, workspace_id, batchSize);
    const locked = await lockUnlockedMembers(db, workspace_id, user_ids);
    if (locked.length > 0) await applyActivity(db, workspace_id, locked, monthNumberOf(now) - 1);
    return orphans + locked.length;
  });
}

export async function refreshDirectories(db: Db, now: Date): Promise<number> {
  let handled = 0;
  for (const workspace_id of await listWorkspacesWithActivity(db, batchSize))
    handled += await refreshDirectory(db, workspace_id, now);
  return handled;
}

/** Clears the next month's columns. Skipped on the first of a month, when clocks may not yet agree on the month. */
export async function clearOldMonths(db: Db, now: Date): Promise<number> {
  const month = monthNumberOf(now);
  return now.getUTCDate() === 1 ? 0 : clearCreditsBefore(db, monthParityOf(month + 1), month, batchSize);
}

/** `member_tallies` gets one row per change. This compacts them to one row per workspace and place. */
export async function compactTallies(db: Db): Promise<number> {
  for (const workspace_id of await listWorkspacesToCompact(db, batchSize)) await compactTally(db, workspace_id);
  return 0;
}
