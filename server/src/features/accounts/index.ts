// Entry point for accounts: users, their sessions and passwords, personal tokens and keys, and workspace keys.
import { removeOldAddresses } from '../../core/identity/sign-in-addresses.ts';
import { removeExpiredCredentials } from '../../core/identity/workspaces.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { resetMailQueue, signInMailQueue } from './background.ts';
import { removeExpiredLogins } from './device/store.ts';
import { type AccountDeps, accountRoutes } from './routes.ts';
import { removeOldMails } from './store.ts';

export const accounts = (deps: AccountDeps) => ({
  routes: accountRoutes(deps),
  queues: [resetMailQueue(deps), signInMailQueue(deps)],
  jobs: [
    { name: 'remove expired credentials', everyMs: 10 * 60 * 1000, run: removeExpiredCredentials },
    { name: 'remove old sign-in addresses', everyMs: 60 * 60 * 1000, run: removeOldAddresses },
    { name: 'remove expired device logins', everyMs: 60 * 1000, run: removeExpiredLogins },
    { name: 'remove old mails', everyMs: 10 * 60 * 1000, run: removeOldMails },
  ] satisfies Job[],
});
