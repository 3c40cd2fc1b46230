// The entry point of analytics: apps' events and user counts.
import type { Metrics } from '../../kit/metrics.ts';
import type { Db } from '../../tables.ts';
import { analyticsJobs } from './background.ts';
import { createIngestion } from './ingestion.ts';
import { type AnalyticsRouteDeps, analyticsRoutes } from './routes.ts';
import { findOldestPartitionAge } from './store/removal.ts';

interface AnalyticsDeps extends Omit<AnalyticsRouteDeps, 'ingest'> {
  /** Events from many requests are stored together, so they can't use a single request's connection. */
  readonly db: Db;
  readonly metrics: Metrics;
}

export function analytics({ db, metrics, ...deps }: AnalyticsDeps) {
  const onRetry = metrics.addCounter(
    'plinth_analytics_retried_total',
    'Analytics transactions that failed on a duplicate event id and were retried',
  );
  return {
    routes: analyticsRoutes({ ...deps, ingest: createIngestion({ db, onRetry }) }),
    jobs: analyticsJobs,
    gauges: [
      {
        name: 'plinth_analytics_oldest_partition_seconds',
        help: 'Age of the oldest analytics partition, from the start of its day',
        read: findOldestPartitionAge,
      },
    ],
  };
}
