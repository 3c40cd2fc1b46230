// Entry point for the installation's own operations: health checks, metrics, the OpenAPI document, the reference page,
// and queues.
import { type QueueRouteDeps, queueRoutes } from './queue-routes.ts';
import { type InstallationDeps, installationRoutes } from './routes.ts';

export const installation = (deps: InstallationDeps & QueueRouteDeps) => ({
  routes: [...installationRoutes(deps), ...queueRoutes(deps)],
});
