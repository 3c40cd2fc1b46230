// The entry point of advertising: accounts on the ad platform, readiness checks, conversion tracking, ad texts and
// images, and the locations where ads can be shown.

import type { Db } from '../../tables.ts';
import { settleAccounts } from './accounts/account.ts';
import { campaignGauges, campaignJobs } from './campaigns/jobs.ts';
import { changeJobs, createChangeQueue } from './changes/background.ts';
import { pauseOfDeletedApps } from './changes/leaving.ts';
import { type AssetQueueDeps, assetJobs, createSessionQueue } from './creative/background.ts';
import { createRenderer } from './creative/render/renderer.ts';
import { createLaunchQueue } from './launch/background.ts';
import type { SagaDeps } from './launch/saga.ts';
import { type AdsDeps, adsRoutes } from './routes.ts';
import { type AdsTimes, defaultTimes } from './times.ts';
import { trackingJobs, trackingListeners } from './tracking/background.ts';

export { compareWithPlatform } from './campaigns/report.ts';
export { createCampaignStops } from './changes/leaving.ts';
export { loadBundledLocations } from './locations/catalogue.ts';
export { importLocations } from './locations/import.ts';
export { LocationFileError } from './locations/platform-file.ts';
/**
 * Entities use the first function to block the deletion of a schema that a conversion mapping uses. Publishing uses the
 * second, because a new policy may block the tag.
 */
export { listMappedEntities, removeCheck as removeTrackingCheck } from './store/tracking.ts';
export type { AdsTimes } from './times.ts';

type FeatureDeps = Omit<AdsDeps, 'imageAddress' | 'times'> &
  Omit<AssetQueueDeps, 'renderer'> &
  Pick<SagaDeps, 'platform'> & {
    readonly baseUrl: string;
    /** Overrides the default times. */
    readonly times: Partial<AdsTimes> | undefined;
  };

export function ads(deps: FeatureDeps) {
  const renderer = createRenderer();
  const imageAddress = (fileName: string) => `${deps.baseUrl}/api/ads-platform/images/${fileName}`;
  const times = { ...defaultTimes, ...deps.times };
  return {
    routes: adsRoutes({ ...deps, imageAddress, times }),
    queues: [
      createSessionQueue({ ...deps, renderer }),
      createLaunchQueue({ ...deps, times, renderer }),
      createChangeQueue({ ...deps, times }),
    ],
    jobs: [
      {
        name: 'settle advertising accounts',
        everyMs: times.reconcileMs,
        run: (db: Db, now: Date) => settleAccounts(db, { ...deps, times }, now),
      },
      ...assetJobs,
      ...changeJobs,
      ...campaignJobs({ ...deps, times }),
      {
        name: 'pause campaigns of deleted apps',
        everyMs: 60_000,
        run: (db: Db, now: Date) => pauseOfDeletedApps(db, deps, now),
      },
      ...trackingJobs({ ...deps, times }),
    ],
    listeners: trackingListeners,
    gauges: campaignGauges,
    close: renderer.close,
  };
}
