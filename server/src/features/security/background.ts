// The scan queue, and the periodic jobs for ignored findings and advisories.
import { auditService } from '../../core/audit/audit.ts';
import type { Queue } from '../../kit/background/queues/queue.ts';
import { retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Clock } from '../../kit/clock.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { type PerformDeps, recordScan, scanApp } from './perform.ts';
import { scanQueue } from './scan.ts';
import { countScans, removeAbsentIgnores, type ScanRow, saveScanState } from './store.ts';

export interface QueueDeps extends PerformDeps {
  readonly clock: Clock;
  readonly onScan: (outcome: 'finished' | 'failed', seconds: number) => void;
}

const maxCrashes = 2;
const maxScanMs = 10 * 60_000;

export const createScanQueue = (deps: QueueDeps): Queue<ScanRow> => ({
  name: scanQueue,
  owner: 'workspace_id',
  byHand: { retry: 'Scan the app again with runSecurityScan.', cancel: true },
  // Limited, because each scan starts a separate process that reads code.
  concurrency: 2,
  perOwner: 1,
  timeoutMs: 15 * 60_000,
  // Retries let scans survive a brief database outage.
  retryMs: retries(5_000),
  async run(scan, { db, signal }) {
    if (scan.crash_count >= maxCrashes) return { error: causes.crashed };
    const startedAt = performance.now();
    await saveScanState(db, scan, 'scanning');
    const tooLate = AbortSignal.timeout(maxScanMs);
    const findings = await scanApp(db, deps, scan, deps.clock.now(), AbortSignal.any([signal, tooLate])).catch(
      (error) => {
        if (!tooLate.aborted) throw error;
        return causes.timedOut; // not retried, because it would time out again while other scans wait
      },
    );
    signal.throwIfAborted(); // another worker takes over
    if (findings === undefined) return { error: causes.deleted };
    if (typeof findings === 'string') return { error: findings };
    return {
      async record(db) {
        await recordScan(db, scan, findings, deps.clock.now());
        deps.onScan('finished', (performance.now() - startedAt) / 1000);
      },
    };
  },
  async onDeadLetter(db, scan, error) {
    const now = deps.clock.now();
    await saveScanState(db, scan, 'failed');
    const target = { kind: 'app', id: scan.app_id };
    const after = { outcome: 'failed', cause: describeCause(error) };
    await auditService(db, scan.workspace_id, { type: 'scan.finished', target, app_id: scan.app_id, after }, now);
    deps.onScan('failed', Math.max(0, now.getTime() - scan.requested_at.getTime()) / 1000);
  },
});

const causes = {
  crashed:
    "The worker crashed twice while scanning the app. Scan it again; if the scan fails again, check the worker's log.",
  deleted: 'The app was deleted while it was being scanned.',
  timedOut: 'The scan took longer than 10 minutes. Remove large generated files from the app, then scan it again.',
  other:
    'The scan failed because of an internal error. Scan the app again; if the scan fails again, check the queue `security_scans`.',
} as const;

/** Other error messages are visible only to the operator, in the queue. */
function describeCause(error: string): string {
  if (error === causes.crashed || error === causes.deleted || error === causes.timedOut) return error;
  if (error.startsWith('the worker crashed')) return causes.crashed;
  return error.startsWith('took longer than') ? causes.timedOut : causes.other;
}

const dayMs = 24 * 60 * 60 * 1000;
const absentDays = 180;
const removedPerRun = 1_000;

export const ignoreJobs: readonly Job[] = [
  { name: 'remove ignores of absent findings', everyMs: 60 * 60_000, run: removeAbsent },
];

async function removeAbsent(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - absentDays * dayMs);
  return transaction(db, async (db) => {
    const removed = await removeAbsentIgnores(db, before, removedPerRun);
    for (const { workspace_id, app_id, removed: count } of removed) {
      const after = { count, absent_days: absentDays };
      const target = { kind: 'app', id: app_id };
      await auditService(db, workspace_id, { type: 'scan.finding_restored', target, app_id, after }, now);
    }
    return removed.length;
  });
}

export const scanGauges = [
  {
    name: 'plinth_security_scan_states',
    help: 'Apps by the state of their last security scan',
    label: 'state',
    read: countScans,
  },
];
