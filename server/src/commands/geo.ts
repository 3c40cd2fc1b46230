// Owns `plinth geo import FILE`: replaces the locations by those of the ad platform.
import { importPlatformLocations, LocationFileError } from '../app.ts';
import { ConfigError, readConfig } from '../config.ts';
import { systemClock } from '../kit/clock.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { changeLocations } from './locations.ts';
import { migrateUrl } from './migrate.ts';
import { geoUsage } from './usages.ts';

export async function geo(args: string[]): Promise<void> {
  const { words } = parseArguments(args, { usage: geoUsage, maxWords: 2 });
  const [verb, file] = words;
  if (verb !== 'import' || file === undefined) throw new UsageError(geoUsage);
  try {
    const { locations, known, inactive } = await changeLocations(migrateUrl(readConfig()), (db) =>
      importPlatformLocations(db, file, systemClock.now()),
    );
    console.log(`imported ${locations} locations, ${known} of them with a known population`);
    if (inactive > 0) console.log(`left out ${inactive} that the platform is going to remove`);
  } catch (error) {
    if (error instanceof LocationFileError)
      throw new ConfigError(`The file was not imported, and the locations are as before: ${error.message}.`);
    if ((error as NodeJS.ErrnoException).path === file)
      throw new ConfigError(`The file can't be read: ${(error as Error).message}.`);
    throw error;
  }
}
