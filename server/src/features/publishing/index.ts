// Entry point for publishing: deploying apps, serving them, and removing blobs that are no longer used.
import { publishingJobs } from './background.ts';
import { publishingRoutes, type RouteDeps } from './routes.ts';
import { createContents } from './serve/contents.ts';
import { createAppServer, type ServeDeps } from './serve/serve.ts';
import { getSecuritySettings } from './settings.ts';
import { createSites } from './site.ts';
import { saveLost } from './store.ts';

export { publishingArchiveTables } from './archive-rows.ts';
export { createPlatformFiles } from './platform/files.ts';
export { createPreview } from './preview.ts';

type Deps = RouteDeps & Omit<ServeDeps, 'onError' | 'published'> & { readonly onServeError: ServeDeps['onError'] };

export function publishing(deps: Deps) {
  const published = createContents(deps.objectStorage, (appId, blobId) => saveLost(deps.db, appId, blobId));
  return {
    routes: publishingRoutes(deps),
    jobs: publishingJobs(deps.objectStorage),
    server: createAppServer({ ...deps, published, onError: deps.onServeError }),
    openSite: createSites({ ...deps, published }),
    /** Used by security scans. */
    readSecuritySettings: getSecuritySettings,
  };
}
