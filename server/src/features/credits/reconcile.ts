// Owns the daily reconciliation: each pool is compared with the sum of its ledger. A mismatch is reported to the server log
// and the workspace's audit log, and never repaired: a person must decide which of the two is right.
import { auditService } from '../../core/audit/audit.ts';
import { startOfMonth } from '../../core/credits/pool.ts';
import { listMismatches, type Mismatch } from '../../core/credits/reconciliation.ts';
import type { Db } from '../../tables.ts';
import { claimPoolCheck, listPoolsToCheck } from './store.ts';

const intervalMs = 24 * 60 * 60 * 1000;
const batchSize = 50;

/** Checks a batch of pools of this and last month that were not checked for a day. Returns how many were due. */
export async function reconcilePools(db: Db, reportMismatch: (mismatch: Mismatch) => void, now: Date): Promise<number> {
  const since = new Date(now.getTime() - intervalMs);
  const due = await listPoolsToCheck(db, startOfMonth(now, -1), since, batchSize);
  for (const pool of due) {
    // Claimed before it is checked, so that a pool whose check throws does not block the others.
    if (!(await claimPoolCheck(db, pool, since, now))) continue;
    for (const mismatch of await listMismatches(db, pool)) {
      reportMismatch(mismatch);
      await auditMismatch(db, mismatch, now);
    }
  }
  return due.length;
}

function auditMismatch(db: Db, { workspace_id, period_start, ...values }: Mismatch, now: Date): Promise<void> {
  const target = { kind: 'credit_pool', id: period_start.toISOString() };
  return auditService(db, workspace_id, { type: 'credits.mismatch', target, after: values }, now);
}
