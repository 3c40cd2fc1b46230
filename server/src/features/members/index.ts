// The door of members: who belongs to a workspace, listed at any size.
import type { Job } from '../../kit/later/schedule.ts';
import { clearPastMonths, refreshCopies, sumTallies } from './copy.ts';
import type { MembersParts } from './list.ts';
import { memberRoutes } from './routes.ts';

export const members = (parts: MembersParts) => ({
  routes: memberRoutes(parts),
  jobs: [
    { name: 'refresh members’ copies', everyMs: 15_000, run: refreshCopies },
    { name: 'clear members’ past months', everyMs: 60 * 60 * 1000, run: clearPastMonths },
    { name: 'sum members’ tallies', everyMs: 30_000, run: sumTallies },
  ] satisfies Job[],
});
