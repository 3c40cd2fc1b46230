// The connector jobs, which remove unfinished connection attempts.
import type { Job } from '../../kit/background/workers/schedule.ts';
import { removeOldAttempts } from './store/attempts.ts';
import { removeAbandonedConnections } from './store/connections.ts';

const dayMs = 24 * 60 * 60 * 1000;
const minuteMs = 60 * 1000;

export const connectorJobs: readonly Job[] = [
  {
    name: 'remove old attempts to connect',
    everyMs: 10 * minuteMs,
    // Kept for a day, so callers can read why an attempt failed.
    run: async (db, now) => {
      const before = new Date(now.getTime() - dayMs);
      return (await removeAbandonedConnections(db, before)) + (await removeOldAttempts(db, before));
    },
  },
];
