// The door of agents: apps that answer, the conversations people have with them, and what they remember.
import type { Queue } from '../../kit/later/queue.ts';
import { turnJobs, turns } from './later.ts';
import { type AgentParts, agentRoutes } from './routes.ts';

export const agents = (parts: AgentParts) => ({
  routes: agentRoutes(parts),
  queues: [turns(parts) as Queue],
  jobs: turnJobs,
});
