// The entry point of analytics: the events of apps, and how many users they have.
import type { Db } from '../../tables.ts';
import { analyticsJobs } from './background.ts';
import { createIngestion } from './ingestion.ts';
import { type AnalyticsRouteDeps, analyticsRoutes } from './routes.ts';
import { findOldestPartitionAge } from './store/removal.ts';

interface AnalyticsDeps extends Omit<AnalyticsRouteDeps, 'ingest'> {
  /** Events of many requests are stored together, so not with the connection of one. */
  readonly db: Db;
}

export const analytics = ({ db, ...deps }: AnalyticsDeps) => ({
  routes: analyticsRoutes({ ...deps, ingest: createIngestion(db) }),
  jobs: analyticsJobs,
  gauges: [
    {
      name: 'plinth_analytics_oldest_partition_seconds',
      help: 'How long ago the day of the oldest partition of analytics events began',
      read: findOldestPartitionAge,
    },
  ],
});
