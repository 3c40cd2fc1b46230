// Background work for workflows, except executing runs: starting runs for events and schedules, and maintenance
// jobs.
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type CancelDeps, cancelRunsOfApp } from './runs/cancel.ts';
import { handledEventsDueInMs, removeHandledEvents } from './store/events.ts';
import { listDeletedAppsWithRuns, runsOfDeletedAppsDueInMs, tickDueInMs } from './store/workflows.ts';
import { rewrapHooks } from './triggers/hook-token.ts';
import { startDueRuns } from './triggers/schedule.ts';
import type { TriggerDeps } from './triggers/start.ts';

export type WorkflowJobDeps = TriggerDeps & CancelDeps & { readonly secrets: Secrets; readonly masterKeyId: string };

export const workflowJobs = (deps: WorkflowJobDeps): Job[] => [
  {
    name: 'start scheduled workflows',
    everyMs: 1_000,
    dueInMs: tickDueInMs,
    run: (db, now) => startDueRuns(db, deps, now),
  },
  {
    name: 'cancel runs of deleted apps',
    everyMs: 5_000,
    dueInMs: runsOfDeletedAppsDueInMs,
    run: (db, now) => cancelRunsOfDeletedApps(db, deps, now),
  },
  {
    name: 'remove handled workflow events',
    everyMs: 10_000,
    dueInMs: handledEventsDueInMs,
    run: removeHandledEvents,
  },
  { name: 'rewrap hook tokens', everyMs: 60_000, run: (db) => rewrapHooks(db, deps.secrets, deps.masterKeyId) },
];

const maxAppsAtOnce = 20;

/**
 * Deleting an app makes its workflows inactive immediately. This job then ends the app's runs, of which there may be
 * many.
 */
async function cancelRunsOfDeletedApps(db: Db, deps: CancelDeps, now: Date): Promise<number> {
  let count = 0;
  for (const app of await listDeletedAppsWithRuns(db, maxAppsAtOnce))
    count += await cancelRunsOfApp(db, deps, app, now);
  return count;
}
