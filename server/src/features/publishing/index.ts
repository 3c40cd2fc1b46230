// Entry point of publishing: deployments of apps, and serving them.
import { publishingRoutes, type RouteDeps } from './routes.ts';
import { createAppServer, type ServeDeps } from './serve/serve.ts';

export { publishingArchiveTables } from './archive-rows.ts';
export type { PlatformFiles } from './serve/serve.ts';

type Deps = RouteDeps & Omit<ServeDeps, 'onError'> & { readonly onServeError: ServeDeps['onError'] };

export const publishing = (deps: Deps) => ({
  routes: publishingRoutes(deps),
  server: createAppServer({ ...deps, onError: deps.onServeError }),
});
