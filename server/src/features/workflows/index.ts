// The entry point of workflows, which apps run when an event occurs, at scheduled times, or when a user starts them.
import type { Db } from '../../tables.ts';
import { type WorkflowJobDeps, workflowJobs } from './background.ts';
import { parseStored } from './definition/parse.ts';
import { type WorkflowRouteDeps, workflowRoutes } from './routes.ts';
import type { RunDeps } from './runs/deps.ts';
import { createRunJobs, createRunQueue } from './runs/queue.ts';
import { eventNeededIf } from './store/events.ts';
import { type AppKey, findWorkflowOf, listNamedEntities } from './store/workflows.ts';
import { createEventQueue, listenForEvents } from './triggers/events.ts';
import { type RequestedRun, startRequested } from './triggers/start.ts';
import { stopWorkflows } from './turn-off.ts';

export { workflowArchiveTables } from './archive-rows.ts';

/** Functions for other features. They need no dependencies. */
export const appWorkflows = {
  /** Returns the given entities that the app's workflows name. Their schemas can't be deleted. */
  listNamedEntities,
  /** Whether the app has this workflow and it is not archived. */
  has: async (db: Db, app: AppKey, id: string): Promise<boolean> => {
    const workflow = await findWorkflowOf(db, app, id);
    return workflow !== undefined && workflow.status !== 'archived';
  },
  stop: stopWorkflows,
};

export type WorkflowDeps = WorkflowRouteDeps & Omit<RunDeps, 'parseStored'> & WorkflowJobDeps;

export const workflows = (deps: WorkflowDeps) => ({
  routes: workflowRoutes(deps),
  listeners: [listenForEvents(deps.wake)],
  eventNeededIf: [eventNeededIf],
  queues: [createRunQueue({ ...deps, parseStored }), createEventQueue(deps)],
  jobs: [...workflowJobs(deps), ...createRunJobs(deps)],
  /** Starts a run for an automation. */
  startRun: (db: Db, run: RequestedRun, now: Date) => startRequested(db, deps, run, now),
});
