// The advertising functions that commands use: loading the location catalogue, and comparing campaigns with the ad
// platform.
import type { Config } from '../config.ts';
import { compareWithPlatform, importLocations, loadBundledLocations } from '../features/ads/index.ts';
import { openAdPlatform } from '../gateways/ad-platform/index.ts';
import { systemClock } from '../kit/clock.ts';
import { placesFile } from '../release.ts';
import type { Db } from '../tables.ts';
import { toAdPlatformSettings } from './settings.ts';

export { LocationFileError } from '../features/ads/index.ts';

export const loadBundledPlaces = (db: Db, now: Date) => loadBundledLocations(db, placesFile, now);

export const importPlatformLocations = (db: Db, file: string, now: Date) => importLocations(db, file, placesFile, now);

/** Used by `plinth ads report`. */
export async function compareCampaigns(db: Db, config: Config) {
  const platform = openAdPlatform({ ...toAdPlatformSettings(config), clock: systemClock });
  try {
    return await compareWithPlatform(db, { platform });
  } finally {
    await platform.close();
  }
}
