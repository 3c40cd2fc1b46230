// The door of agents: apps that answer, the conversations people have with them, and what they remember.
import type { Queue } from '../../kit/background/queues/queue.ts';
import { turnJobs, turns } from './background.ts';
import { type AgentDeps, agentRoutes } from './routes.ts';

export const agents = (deps: AgentDeps) => ({
  routes: agentRoutes(deps),
  queues: [turns(deps) as Queue],
  jobs: turnJobs,
});
