// Entry point of publishing: deployments of apps, serving them, and removing what is no longer used.
import { publishingJobs } from './background.ts';
import { publishingRoutes, type RouteDeps } from './routes.ts';
import { createAppServer, type ServeDeps } from './serve/serve.ts';

export { publishingArchiveTables } from './archive-rows.ts';
export { createPlatformFiles } from './platform/files.ts';
export { createPreview } from './preview.ts';

type Deps = RouteDeps & Omit<ServeDeps, 'onError'> & { readonly onServeError: ServeDeps['onError'] };

export const publishing = (deps: Deps) => ({
  routes: publishingRoutes(deps),
  jobs: publishingJobs(deps.objectStorage),
  server: createAppServer({ ...deps, onError: deps.onServeError }),
});
