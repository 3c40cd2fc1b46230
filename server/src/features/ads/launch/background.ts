// Owns the queue of launches. A launch is never given up once something may have been created: it is run again until it has ended.
import type { Queue } from '../../../kit/background/queues/queue.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { keepLaunchDue, type LaunchRow } from '../store/launches.ts';
import { launchQueue } from './launch.ts';
import { createRecorder } from './record.ts';
import { runLaunch, type SagaDeps } from './saga.ts';

/**
 * How many launches hold their images in memory at a time: at most 40 MiB each. One of each workspace, whose servers of images may be
 * slow.
 */
const gateLimits = { inAll: 4, perOwner: 1, maxWaitingOfOwner: 64, maxWaitMs: 120_000 };

/** Nothing was sent for the campaign yet. */
const harmless: readonly LaunchRow['state'][] = ['recorded', 'account_sent', 'account_ready'];
const maxFailures = 5;

export function createLaunchQueue(deps: Omit<SagaDeps, 'imageGate'>): Queue<LaunchRow> {
  const sagaDeps = { ...deps, imageGate: createFairGate(gateLimits) };
  const { reconcileMs, resendMs } = deps.times;
  return {
    name: launchQueue,
    owner: 'workspace_id',
    // A run mostly waits for the platform.
    concurrency: 32,
    perOwner: 4,
    timeoutMs: 5 * 60_000,
    // Workers that are replaced one after the other must not delay a launch that may be spending.
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
