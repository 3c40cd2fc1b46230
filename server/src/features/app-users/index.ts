// Entry point of app users: the people who use a built app, and their tokens.
import type { Job } from '../../kit/background/workers/schedule.ts';
import { type AppUserDeps, appUserRoutes } from './routes.ts';
import { removeExpiredTokens } from './store.ts';

export { appUserArchiveTables } from './archive-rows.ts';

export const appUsers = (deps: AppUserDeps) => ({
  routes: appUserRoutes(deps),
  jobs: [{ name: 'remove expired app user tokens', everyMs: 60_000, run: removeExpiredTokens }] satisfies Job[],
});
