// Entry point for app users: the people who use an app, their tokens, and their sign-in.
import type { Job } from '../../kit/background/workers/schedule.ts';
import { linkMailQueue } from './background.ts';
import type { LinkDeps } from './links.ts';
import { type AppUserDeps, appUserRoutes } from './routes.ts';
import { signInRoutes } from './sign-in-routes.ts';
import { removeOldLinks } from './store/links.ts';
import { removeOldAddresses } from './store/sign-ins.ts';
import { removeExpiredTokens } from './store/users.ts';
import { createTemporaryUser, removeTemporaryUser } from './temporary-users.ts';

export { signInToPreview } from './app-user.ts';
export { appUserArchiveTables } from './archive-rows.ts';
export { createSignUpChoice, readSignInOffer } from './auth-settings.ts';

/** Temporary users of an app, for features that test it. */
export const temporaryUsers = { create: createTemporaryUser, remove: removeTemporaryUser };

export const appUsers = (deps: AppUserDeps & LinkDeps) => ({
  routes: [...appUserRoutes(deps), ...signInRoutes(deps)],
  queues: [linkMailQueue(deps)],
  jobs: [
    { name: 'remove expired app user tokens', everyMs: 60_000, run: removeExpiredTokens },
    { name: 'remove old app user links', everyMs: 10 * 60 * 1000, run: removeOldLinks },
    { name: 'remove old app user addresses', everyMs: 60 * 60 * 1000, run: removeOldAddresses },
  ] satisfies Job[],
});
