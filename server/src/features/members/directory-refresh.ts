// Owns the copy of what members spent and when they were seen: what was noted since is folded into the directory, for
// the members it concerns and nobody else; months past are cleared; tallies are summed up.
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import {
  clearColumn,
  dropStrays,
  fold,
  holdCopy,
  holdMembers,
  listNotedMembers,
  listNotedWorkspaces,
  listTalliedWorkspaces,
  sumTally,
} from './store.ts';

const atOnce = 500;

/** Months since year 0, in UTC: even and odd ones take turns in two columns. */
export const monthOf = (now: Date): number => now.getUTCFullYear() * 12 + now.getUTCMonth();

export const columnOf = (month: number): 'even' | 'odd' => (month % 2 === 0 ? 'even' : 'odd');

/** Folds what is noted of one workspace's members, some at a time; gives how many. Who is being changed waits a turn. */
export function refreshCopy(db: Db, workspace_id: string, now: Date): Promise<number> {
  return transaction(db, async (db) => {
    if (!(await holdCopy(db, workspace_id))) return 0; // another process is at it
    const strays = await dropStrays(db, workspace_id);
    const held = await holdMembers(db, workspace_id, await listNotedMembers(db, workspace_id, atOnce));
    if (held.length > 0) await fold(db, workspace_id, held, monthOf(now) - 1);
    return strays + held.length;
  });
}

export async function refreshCopies(db: Db, now: Date): Promise<number> {
  let done = 0;
  for (const workspace_id of await listNotedWorkspaces(db, atOnce)) done += await refreshCopy(db, workspace_id, now);
  return done;
}

/** Clears the column that the next month will use. Not on a first day, when clocks may not agree yet on the month. */
export async function clearPastMonths(db: Db, now: Date): Promise<number> {
  const month = monthOf(now);
  return now.getUTCDate() === 1 ? 0 : clearColumn(db, columnOf(month + 1), month, atOnce);
}

/** One row per workspace and place again, instead of one per change. */
export async function sumTallies(db: Db): Promise<number> {
  for (const workspace_id of await listTalliedWorkspaces(db, atOnce)) await sumTally(db, workspace_id);
  return 0;
}
