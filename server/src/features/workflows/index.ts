// The entry point of workflows: definitions that apps run when something happens, at certain times, or when a person says so.
import type { Db } from '../../tables.ts';
import { type WorkflowJobDeps, workflowJobs } from './background.ts';
import { parseStored } from './definition/parse.ts';
import { type WorkflowRouteDeps, workflowRoutes } from './routes.ts';
import type { RunDeps } from './runs/deps.ts';
import { createRunJobs, createRunQueue } from './runs/queue.ts';
import { type AppKey, findWorkflowOf, listNamedEntities } from './store/workflows.ts';
import { createEventQueue, listenForEvents } from './triggers/events.ts';
import { type RequestedRun, startRequested } from './triggers/start.ts';
import { stopWorkflows } from './turn-off.ts';

export { workflowArchiveTables } from './archive-rows.ts';

/** What other features need of workflows, without what workflows need of them. */
export const appWorkflows = {
  /** Those of these entities that a workflow of the app names: their schemas can't be deleted. */
  listNamedEntities,
  /** Whether the app has this workflow, and it is not archived. */
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
  queues: [createRunQueue({ ...deps, parseStored }), createEventQueue(deps)],
  jobs: [...workflowJobs(deps), ...createRunJobs(deps)],
  /** Starts a run for an automation. */
  startRun: (db: Db, run: RequestedRun, now: Date) => startRequested(db, run, deps, now),
});
