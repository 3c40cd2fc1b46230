// Entry point of apps: apps from creation to purge, their shares, files and secrets.
import { purgeApps } from '../../core/identity/workspaces.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { type AppDeps, appRoutes } from './routes.ts';
import { rewrapSecrets } from './secrets.ts';
import { listFilesIn, listSecretNames, readFiles } from './store.ts';

export { appArchiveTables } from './archive-rows.ts';

export const apps = (deps: AppDeps & { masterKeyId: string }) => ({
  routes: appRoutes(deps),
  /** What other features read of an app. */
  contents: { listFilesIn, readFiles, listSecretNames },
  jobs: [
    { name: 'purge apps', everyMs: 60 * 60 * 1000, run: purgeApps },
    {
      name: 'rewrap app secrets',
      everyMs: 60_000,
      run: (db) => rewrapSecrets(db, deps.secrets, deps.masterKeyId),
    },
  ] satisfies Job[],
});
