// Entry point for browser tests: an app's flows, which an agent runs in a real browser, and their runs and reports.
import type { Metrics } from '../../kit/metrics.ts';
import { createRunQueue, type QueueDeps, testGauges, testJobs } from './background.ts';
import { createEvidenceAddress } from './evidence.ts';
import { browserTestRoutes, type RouteDeps } from './routes.ts';
import { type TestTimes, usualTimes } from './times.ts';

export { browserTestArchiveTables } from './archive-rows.ts';
export type { TestTimes } from './times.ts';

type Deps = Omit<RouteDeps & QueueDeps, 'addressOf' | 'apiOrigin' | 'onRun' | 'times'> & {
  readonly baseUrl: string;
  readonly metrics: Metrics;
  /** Overrides the default times. */
  readonly times: Partial<TestTimes> | undefined;
};

export function browserTests({ times: otherTimes, metrics, ...given }: Deps) {
  const times = { ...usualTimes, ...otherTimes };
  const { origin: apiOrigin } = new URL(given.baseUrl);
  const addressOf = createEvidenceAddress(given.signingKey, given.baseUrl);
  const onRun = metrics.addOutcomes('plinth_test_run', 'Test runs, by outcome', [5, 10, 30, 60, 120, 300, 600, 900]);
  const deps = { ...given, times, apiOrigin, addressOf, onRun };
  return {
    routes: browserTestRoutes(deps),
    queues: [createRunQueue(deps)],
    jobs: testJobs(deps),
    gauges: testGauges,
  };
}
