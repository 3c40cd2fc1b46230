// Owns the nightly check: what is kept of each pool is compared with what its ledger adds up to. It tells, in the log
// and in the workspace's audit log, and never repairs: which of the two is right, a person must say.
import { auditService } from '../../core/audit/audit.ts';
import { startOfMonth } from '../../core/credits/pool.ts';
import { listMismatches, type Mismatch } from '../../core/credits/reconciliation.ts';
import type { Db } from '../../tables.ts';
import { claimPoolCheck, listPoolsToCheck } from './store.ts';

const intervalMs = 24 * 60 * 60 * 1000;
const batchSize = 50;

/** Checks some pools of this month and the last that were not checked for a day; gives how many. */
export async function reconcilePools(db: Db, alarm: (mismatch: Mismatch) => void, now: Date): Promise<number> {
  const since = new Date(now.getTime() - intervalMs);
  const due = await listPoolsToCheck(db, startOfMonth(now, -1), since, batchSize);
  for (const pool of due) {
    // Claimed before it is looked at: a pool whose check fails must not keep the others from theirs.
    if (!(await claimPoolCheck(db, pool, since, now))) continue;
    for (const mismatch of await listMismatches(db, pool)) {
      alarm(mismatch);
      await auditMismatch(db, mismatch, now);
    }
  }
  return due.length;
}

function auditMismatch(db: Db, { workspace_id, period_start, ...found }: Mismatch, now: Date): Promise<void> {
  const target = { kind: 'credit_pool', id: period_start.toISOString() };
  return auditService(db, workspace_id, { type: 'credits.mismatch', target, after: found }, now);
}
