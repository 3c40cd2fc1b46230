// The entry point of agents: apps that hold conversations, with their messages and memories.
import { createTurnQueue, turnJobs } from './background.ts';
import { type AgentDeps, agentRoutes } from './routes.ts';
import { createSingleReplies } from './single-reply.ts';

export { agentArchiveTables } from './archive-rows.ts';

export const agents = (deps: AgentDeps) => ({
  routes: agentRoutes(deps),
  queues: [createTurnQueue(deps)],
  jobs: turnJobs,
  /** For the workflows of apps. */
  singleReplies: createSingleReplies(deps.model),
});
