// The daily reconciliation, which compares each pool with its ledger's total. A mismatch is reported in the server
// log and the workspace's audit log. It is never repaired automatically, because a person must decide which value is
// right.
import { auditService } from '../../core/audit/audit.ts';
import { startOfMonth } from '../../core/credits/pool.ts';
import { listMismatches, type Mismatch } from '../../core/credits/reconciliation.ts';
import type { Db } from '../../tables.ts';
import { claimPoolCheck, listPoolsToCheck } from './store.ts';

const intervalMs = 24 * 60 * 60 * 1000;
const batchSize = 50;

/**
 * Checks a batch of this month's and last month's pools that have not been checked for a day. Returns the number of due
 * pools.
 */
export async function reconcilePools(db: Db, reportMismatch: (mismatch: Mismatch) => void, now: Date): Promise<number> {
  const since = new Date(now.getTime() - intervalMs);
  const due = await listPoolsToCheck(db, startOfMonth(now, -1), since, batchSize);
  for (const pool of due) {
    // Claimed before the check, so if one check throws, the other pools are still checked.
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
