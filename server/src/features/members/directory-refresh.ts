// Owns the copy of what members spent and when they were seen: what was noted since is folded into the directory, for
// the members it concerns and nobody else; months past are cleared; tallies are summed up.
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

/** Months since year 0, in UTC: even and odd ones take turns in two columns. */
export const monthNumberOf = (now: Date): number => now.getUTCFullYear() * 12 + now.getUTCMonth();

export const monthParityOf = (month: number): 'even' | 'odd' => (month % 2 === 0 ? 'even' : 'odd');

/** Folds what is noted of one workspace's members, some at a time; gives how many. Who is being changed waits a turn. */
export function refreshDirectory(db: Db, workspace_id: string, now: Date): Promise<number> {
  return transaction(db, async (db) => {
    if (!(await tryLockDirectory(db, workspace_id))) return 0; // another process is at it
    const strays = await removeOrphanActivity(db, workspace_id);
    const held = await lockUnlockedMembers(
      db,
      workspace_id,
      await listMembersWithActivity(db, workspace_id, batchSize),
    );
    if (held.length > 0) await applyActivity(db, workspace_id, held, monthNumberOf(now) - 1);
    return strays + held.length;
  });
}

export async function refreshDirectories(db: Db, now: Date): Promise<number> {
  let done = 0;
  for (const workspace_id of await listWorkspacesWithActivity(db, batchSize))
    done += await refreshDirectory(db, workspace_id, now);
  return done;
}

/** Clears the column that the next month will use. Not on a first day, when clocks may not agree yet on the month. */
export async function clearOldMonths(db: Db, now: Date): Promise<number> {
  const month = monthNumberOf(now);
  return now.getUTCDate() === 1 ? 0 : clearCreditsBefore(db, monthParityOf(month + 1), month, batchSize);
}

/** One row per workspace and place again, instead of one per change. */
export async function compactTallies(db: Db): Promise<number> {
  for (const workspace_id of await listWorkspacesToCompact(db, batchSize)) await compactTally(db, workspace_id);
  return 0;
}
