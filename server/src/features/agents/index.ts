// The entry point of agents, which are apps that hold conversations and keep memories.
import { createTurnQueue, turnJobs } from './background.ts';
import { type AgentDeps, agentRoutes } from './routes.ts';
import { createSingleReplies } from './single-reply.ts';

export { agentArchiveTables } from './archive-rows.ts';

export const agents = (deps: AgentDeps) => ({
  routes: agentRoutes(deps),
  queues: [createTurnQueue(deps)],
  jobs: turnJobs,
  /** Used by apps' workflows. */
  singleReplies: createSingleReplies(deps.model),
});
