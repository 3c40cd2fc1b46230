// Entry point of security: scans of apps, their findings, and the rules that close what is open.
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
  Omit<QueueDeps, 'scanners'> & { readonly schemas: InputDeps['schemas'] & FixDeps['schemas'] };

export function security(deps: Deps) {
  const scanners = createScanners(deps);
  return {
    routes: securityRoutes({ ...deps, fix: { schemas: deps.schemas, scanRowRules: scanners.scanRowRules } }),
    queues: [createScanQueue({ ...deps, scanners })],
    jobs: [...ignoreJobs, ...advisoryJobs(createEvaluation(deps))],
    gauges: scanGauges,
    close: scanners.close,
  };
}
