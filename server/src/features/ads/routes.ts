// The HTTP routes for advertising.
import type { Route } from '../../core/auth/route.ts';
import { accountRoutes } from './accounts/routes.ts';
import { budgetRoutes } from './budgets/routes.ts';
import { campaignReadRoutes } from './campaigns/routes.ts';
import type { SyncDeps } from './campaigns/sync.ts';
import { ceilingRoutes } from './ceilings/routes.ts';
import { campaignChangeRoutes } from './changes/routes.ts';
import type { ChangeDeps } from './changes/status.ts';
import { type CreativeDeps, creativeRoutes } from './creative/routes.ts';
import type { LaunchDeps } from './launch/launch.ts';
import { launchRoutes } from './launch/routes.ts';
import { locationRoutes } from './locations/routes.ts';
import type { ReadinessDeps } from './readiness/readiness.ts';
import { readinessRoutes } from './readiness/routes.ts';
import type { ReportDeps } from './search-terms/report.ts';
import { searchTermRoutes } from './search-terms/routes.ts';
import type { AdsTimes } from './times.ts';
import { type TrackingDeps, trackingRoutes } from './tracking/routes.ts';

export type AdsDeps = ReadinessDeps &
  TrackingDeps &
  CreativeDeps &
  ChangeDeps &
  LaunchDeps &
  ReportDeps &
  SyncDeps & { readonly times: AdsTimes };

export const adsRoutes = (deps: AdsDeps): Route[] => [
  ...accountRoutes(deps),
  ...readinessRoutes(deps),
  ...budgetRoutes(),
  ...trackingRoutes(deps),
  ...creativeRoutes(deps),
  ...campaignChangeRoutes(deps),
  ...locationRoutes(),
  ...campaignReadRoutes(deps),
  ...searchTermRoutes(deps),
  ...launchRoutes(deps),
  ...ceilingRoutes(deps),
];
