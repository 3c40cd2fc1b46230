// The door of accounts: people, their sessions and passwords, and every credential they hand out.
import { purgeCredentials } from '../../access/workspaces.ts';
import type { Queue } from '../../kit/later/queue.ts';
import type { Job } from '../../kit/later/schedule.ts';
import { resetMails } from './later.ts';
import { type AccountParts, accountRoutes } from './routes.ts';
import { forgetResetMails } from './store.ts';

export const accounts = (parts: AccountParts) => ({
  routes: accountRoutes(parts),
  queues: [resetMails(parts) as Queue],
  jobs: [
    { name: 'purge credentials', everyMs: 10 * 60 * 1000, run: purgeCredentials },
    { name: 'forget reset mails', everyMs: 10 * 60 * 1000, run: forgetResetMails },
  ] satisfies Job[],
});
