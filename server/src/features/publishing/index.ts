// Entry point for publishing: deploying apps, serving them, and removing blobs that are no longer used.
import type { Job } from '../../kit/background/workers/schedule.ts';
import { publishingJobs } from './background.ts';
import { createHosts } from './hosts.ts';
import { readPreviewScript } from './platform/files.ts';
import type { PreviewDeps } from './previews/preview.ts';
import { previewRoutes } from './previews/routes.ts';
import { createPreviews, type PreviewServeDeps } from './previews/serve.ts';
import { removeExpiredPreviews } from './previews/store.ts';
import { publishingRoutes, type RouteDeps } from './routes.ts';
import { createContents } from './serve/contents.ts';
import { countUnknown } from './serve/live-apps.ts';
import { createAppServer, type ServeDeps } from './serve/serve.ts';
import { getSecuritySettings } from './settings.ts';
import { createSites } from './site.ts';
import { saveLost } from './store.ts';

export { publishingArchiveTables } from './archive-rows.ts';
export type { HostAnswer } from './hosts.ts';
export { createPlatformFiles } from './platform/files.ts';
export { createPreviewOpener } from './preview.ts';
export { endPreviews } from './previews/preview.ts';
export { createRestoredHeaders } from './settings.ts';

type Deps = RouteDeps &
  PreviewDeps &
  Omit<ServeDeps, 'onError' | 'published' | 'consoleOrigin' | 'findPreview' | 'onFound'> &
  Omit<PreviewServeDeps, 'published' | 'consoleOrigin' | 'pageScript' | 'findRefusal' | 'onUnknown'> & {
    readonly baseUrl: string;
    readonly onServeError: ServeDeps['onError'];
    readonly onHostsUnreadable: (error: unknown) => void;
  };

export function publishing(deps: Deps) {
  const published = createContents(deps.objectStorage, (appId, blobId) => saveLost(deps.db, appId, blobId));
  const shown = { ...deps, published, consoleOrigin: new URL(deps.baseUrl).origin };
  const hosts = createHosts(deps);
  const findPreview = createPreviews({
    ...shown,
    ...countUnknown(deps.failedLookups),
    pageScript: readPreviewScript(),
  });
  return {
    routes: [...publishingRoutes(deps), ...previewRoutes(deps)],
    jobs: [
      ...publishingJobs(deps.objectStorage),
      { name: 'remove expired previews', everyMs: 10 * 60 * 1000, run: removeExpiredPreviews },
    ] satisfies Job[],
    server: createAppServer({ ...shown, findPreview, onFound: hosts.noteFound, onError: deps.onServeError }),
    checkHost: hosts.check,
    openSite: createSites({ ...deps, published }),
    /** Used by security scans. */
    readSecuritySettings: getSecuritySettings,
  };
}
