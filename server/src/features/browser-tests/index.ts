// Entry point of browser tests: flows of apps, which an agent runs in a real browser, their runs and reports.
import { createRunQueue, type QueueDeps, testGauges, testJobs } from './background.ts';
import { createEvidenceAddress } from './evidence.ts';
import { browserTestRoutes, type RouteDeps } from './routes.ts';
import { type TestTimes, usualTimes } from './times.ts';

export { browserTestArchiveTables } from './archive-rows.ts';
export type { TestTimes } from './times.ts';

type Deps = Omit<RouteDeps & QueueDeps, 'addressOf' | 'apiOrigin' | 'times'> & {
  readonly baseUrl: string;
  /** Where it differs from the usual. */
  readonly times: Partial<TestTimes> | undefined;
};

export function browserTests({ times: otherTimes, ...given }: Deps) {
  const times = { ...usualTimes, ...otherTimes };
  const { origin: apiOrigin } = new URL(given.baseUrl);
  const addressOf = createEvidenceAddress(given.signingKey, given.baseUrl);
  const deps = { ...given, times, apiOrigin, addressOf };
  return {
    routes: browserTestRoutes(deps),
    queues: [createRunQueue(deps)],
    jobs: testJobs(deps),
    gauges: testGauges,
  };
}
