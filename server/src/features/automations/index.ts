// The entry point of automations, which perform one action when an app's records change, or at scheduled times.
import { listenAfterCommit } from '../../events.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit } from '../../kit/db/database.ts';
import { automationJobs, createRunQueue, type RunDeps } from './background.ts';
import { startRuns } from './fan-out.ts';
import { type AutomationRouteDeps, automationRoutes } from './routes.ts';
import { eventNeededIf, runQueue, selectListening } from './store/runs.ts';

export { automationArchiveTables } from './archive-rows.ts';
/** Called when an app is moved to the trash. */
export { turnOffAutomations } from './automation.ts';
/** Used by the entities feature, because a schema can't be deleted while an automation names it. */
export { listEntitiesInUse } from './store/automations.ts';

type AutomationDeps = AutomationRouteDeps & RunDeps & { readonly wake: Pick<WakeUps, 'notify'> };

export const automations = (deps: AutomationDeps) => ({
  routes: automationRoutes(deps),
  listeners: [
    listenAfterCommit(['entity.created', 'entity.updated', 'entity.deleted'], {
      read: (events) => selectListening([...new Set(events.map(({ payload }) => payload.app_id))]),
      async handle(db, events, { rows, now }) {
        if ((await startRuns(db, events, rows, now)) > 0) afterCommit(db, () => deps.wake.notify(runQueue));
      },
    }),
  ],
  queues: [createRunQueue(deps)],
  eventNeededIf: [eventNeededIf],
  jobs: automationJobs(deps),
});
