// The background verification of tracking: after an app is published, and regularly while one of its campaigns is
// waiting for verified tracking.
import { auditService } from '../../../core/audit/audit.ts';
import { findAccessAsService } from '../../../core/auth/proofs-without-guard.ts';
import { listenAfterCommit } from '../../../events.ts';
import type { Job } from '../../../kit/background/workers/schedule.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { RecordAudit } from '../campaigns/reading.ts';
import { claimUnverified, markPublished } from '../store/accounts.ts';
import type { ReadyAccount } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import { type EnableDeps, enableWaiting } from './enable.ts';
import { type VerifyDeps, verify } from './verify.ts';

export type TrackingJobDeps = VerifyDeps & EnableDeps & { readonly times: AdsTimes };

export const trackingListeners = [
  listenAfterCommit('app.published', async (db, events) => {
    for (const { payload } of events) await markPublished(db, payload);
  }),
];

/** Limited, because each verification opens a page in the browser. */
const maxPerRun = 3;

export const trackingJobs = (deps: TrackingJobDeps): Job[] => [
  {
    name: 'verify the tracking of published apps',
    everyMs: deps.times.reconcileMs,
    async run(db, now) {
      const accounts = await claimUnverified(db, deps.times, maxPerRun, now);
      await Promise.all(accounts.map((account) => verifyDue(db, deps, account, now)));
      return accounts.length;
    },
  },
];

async function verifyDue(db: Db, deps: TrackingJobDeps, account: ReadyAccount, now: Date): Promise<void> {
  const access = await findAccessAsService(db, account);
  if (access === undefined) return;
  const record: RecordAudit = (db, change) => auditService(db, account.workspace_id, change, now);
  try {
    const { verified, isKept } = await verify(db, deps, access, { account, record }, now);
    if (verified && isKept) await enableWaiting(db, deps, access.app, record, now);
  } catch (error) {
    // If the platform or the storage did not respond, the next attempt is in 15 minutes.
    if (!(error instanceof Problem)) throw error;
  }
}
