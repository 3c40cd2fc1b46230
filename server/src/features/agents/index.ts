// The door of agents: apps that answer, the conversations people have with them, and what they remember.
import type { Queue } from '../../kit/background/queues/queue.ts';
import { turnJobs, turns } from './background.ts';
import { type AgentParts, agentRoutes } from './routes.ts';

export const agents = (parts: AgentParts) => ({
  routes: agentRoutes(parts),
  queues: [turns(parts) as Queue],
  jobs: turnJobs,
});
