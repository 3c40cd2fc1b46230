// The door of accounts: people, their sessions and passwords, and every credential they hand out.
import { purgeCredentials } from '../../access/workspaces.ts';
import type { Job } from '../../kit/later/schedule.ts';
import { type AccountParts, accountRoutes } from './routes.ts';

export const accounts = (parts: AccountParts) => ({
  routes: accountRoutes(parts),
  jobs: [{ name: 'purge credentials', everyMs: 10 * 60 * 1000, run: purgeCredentials }] satisfies Job[],
});
