// The door of agents: apps that answer, the conversations people have with them, and what they remember.
import { turnJobs, turns } from './background.ts';
import { type AgentDeps, agentRoutes } from './routes.ts';

export const agents = (deps: AgentDeps) => ({
  routes: agentRoutes(deps),
  queues: [turns(deps)],
  jobs: turnJobs,
});
