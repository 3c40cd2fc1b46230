// `plinth geo import FILE`, which replaces the locations with the ad platform's.
import { importPlatformLocations, LocationFileError } from '../app/advertising.ts';
import { ConfigError, readConfig } from '../config.ts';
import { systemClock } from '../kit/clock.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { changeLocations } from './locations.ts';
import { explainForOwner, migrateUrl } from './migrate.ts';
import { geoUsage } from './usages.ts';

export async function geo(args: string[]): Promise<void> {
  const { words } = parseArguments(args, { usage: geoUsage, maxWords: 2 });
  const [verb, file] = words;
  if (verb !== 'import' || file === undefined) throw new UsageError(geoUsage);
  const config = readConfig();
  try {
    const { locations, known, inactive } = await changeLocations(migrateUrl(config), (db) =>
      importPlatformLocations(db, file, systemClock.now()),
    );
    console.log(`imported ${locations} locations, ${known} of them with a known population`);
    if (inactive > 0) console.log(`left out ${inactive} that the platform plans to remove`);
  } catch (error) {
    if (error instanceof LocationFileError)
      throw new ConfigError(`The file was not imported, and the locations are unchanged: ${error.message}.`);
    if ((error as NodeJS.ErrnoException).path === file)
      throw new ConfigError(`The file can't be read: ${(error as Error).message}.`);
    throw explainForOwner(error, config);
  }
}
