// The entry point of the security feature: scans of apps, their findings, and fixes for open row rules.
import type { Metrics } from '../../kit/metrics.ts';
import { advisoryJobs } from './advisories.ts';
import { createScanQueue, ignoreJobs, type QueueDeps, scanGauges } from './background.ts';
import type { FixDeps } from './fix-rls.ts';
import type { InputDeps } from './input.ts';
import { securityRoutes } from './routes.ts';
import type { ScanDeps } from './scan.ts';
import { createEvaluation, createScanners, type ScannerDeps } from './scanners.ts';

export { securityArchiveTables } from './archive-rows.ts';

type Deps = ScanDeps &
  ScannerDeps &
  Omit<QueueDeps, 'onScan' | 'scanners'> & {
    readonly schemas: InputDeps['schemas'] & FixDeps['schemas'];
    readonly metrics: Metrics;
  };

export function security({ metrics, ...deps }: Deps) {
  const scanners = createScanners(deps);
  const onScan = metrics.addOutcomes(
    'plinth_security_scan',
    'Security scans, by outcome',
    [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
  );
  return {
    routes: securityRoutes({ ...deps, fix: { schemas: deps.schemas, scanRowRules: scanners.scanRowRules } }),
    queues: [createScanQueue({ ...deps, scanners, onScan })],
    jobs: [...ignoreJobs, ...advisoryJobs(createEvaluation(deps))],
    gauges: scanGauges,
    close: scanners.close,
  };
}
