// The launch queue. A launch that may have created something is never given up, and is rerun until it ends.
import type { Queue } from '../../../kit/background/queues/queue.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { keepLaunchDue, type LaunchRow } from '../store/launches.ts';
import { launchQueue } from './launch.ts';
import { createRecorder } from './record.ts';
import { runLaunch, type SagaDeps } from './saga.ts';

/**
 * Limits the number of launches that hold images in memory, at most 40 MiB each. A workspace gets one slot, because the
 * image servers that it chooses may be slow.
 */
const gateLimits = { inAll: 4, perOwner: 1, maxWaitingOfOwner: 64, maxWaitMs: 120_000 };

/** The states in which no campaign request has been sent yet. */
const harmless: readonly LaunchRow['state'][] = ['recorded', 'account_sent', 'account_ready'];
const maxFailures = 5;

export function createLaunchQueue(deps: Omit<SagaDeps, 'imageGate'>): Queue<LaunchRow> {
  const sagaDeps = { ...deps, imageGate: createFairGate(gateLimits) };
  const { reconcileMs, resendMs } = deps.times;
  return {
    name: launchQueue,
    owner: 'workspace_id',
    byHand: {
      retry: 'A launch is repeated until it ends, so none fails for good.',
      cancel: 'A launch may have created a campaign already. Wait until it has ended, then delete the campaign.',
    },
    // A run spends most of its time waiting for the platform.
    concurrency: 32,
    perOwner: 4,
    timeoutMs: 5 * 60_000,
    // Higher than the default, because a rolling worker restart must not delay a launch that may be spending.
    quarantineAfter: 5,
    retryMs: (failures) => resendMs[failures - 1] ?? reconcileMs,
    async run(launch, { db, signal }) {
      if (launch.failures >= maxFailures && harmless.includes(launch.state)) {
        await createRecorder(db, deps, launch).refuse({ code: 'ad_platform_unavailable' });
        return {};
      }
      return runLaunch(db, sagaDeps, launch, signal);
    },
    onDeadLetter: (db, launch) => keepLaunchDue(db, launch, reconcileMs),
  };
}
