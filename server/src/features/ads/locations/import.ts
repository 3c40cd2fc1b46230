// `plinth geo import`, which replaces the catalogue with the ad platform's own locations. The platform's file has
// no populations or alternative names, so they are taken from the matching bundled places.
import { createHash } from 'node:crypto';
import type { Db } from '../../../tables.ts';
import { findCatalogue } from '../store/catalogue.ts';
import { type Place, readPlaces } from './bundled.ts';
import { replaceLocations } from './catalogue.ts';
import { fold } from './fold.ts';
import { LocationFileError, type PlatformLocation, readPlatformFile } from './platform-file.ts';

export interface ImportedLocations {
  readonly locations: number;
  /** The number of locations with a population and alternative names from a bundled place. */
  readonly known: number;
  /**
   * The number of locations that the platform is about to remove. They are not imported, because ads can no longer be
   * shown there.
   */
  readonly inactive: number;
}

export async function importLocations(
  db: Db,
  file: string,
  bundledFile: string,
  now: Date,
): Promise<ImportedLocations> {
  const findBundled = await indexBundled(bundledFile);
  const counts = { known: 0, inactive: 0 };
  const hash = createHash('sha256');
  async function* listPlaces(): AsyncGenerator<Place> {
    let count = 0;
    for await (const { isActive, ...location } of readPlatformFile(file, hash)) {
      if (!isActive) {
        counts.inactive += 1;
        continue;
      }
      const bundled = findBundled(location);
      count += 1;
      if (bundled !== undefined) counts.known += 1;
      yield completePlace(location, bundled);
    }
    if (count === 0) throw new LocationFileError('it contains no active locations');
  }
  const source = { source: 'imported', checksum: () => hash.digest('hex') } as const;
  const locations = await replaceLocations(db, listPlaces(), source, now);
  return { locations, ...counts };
}

/** Whether the catalogue has the platform's own ids. The platform does not know the bundled places' ids. */
export const hasImportedLocations = async (db: Db): Promise<boolean> =>
  (await findCatalogue(db))?.source === 'imported';

function completePlace(location: Omit<PlatformLocation, 'isActive'>, bundled: Place | undefined): Place {
  const codes = bundled?.codes ?? location.country_code.toLowerCase();
  const name = fold(location.name);
  const otherNames = [...(bundled?.otherNames ?? []), bundled?.name ?? ''].filter(
    (other) => !['', name].includes(fold(other)),
  );
  return { ...location, reach: bundled?.reach ?? 0, codes, otherNames };
}

type FindBundled = (
  location: Pick<Place, 'target_type' | 'country_code' | 'name' | 'canonical_name'>,
) => Place | undefined;

/**
 * Finds a place by its name in the same region (`Munich` in Bavaria), by an alternative name in that region
 * (`Frankfurt` in Hesse is Frankfurt am Main), or by a name that is unique in the country.
 */
async function indexBundled(file: string): Promise<FindBundled> {
  const inRegion = new Map<string, Place>();
  const otherInRegion = new Map<string, Place>();
  const inCountry = new Map<string, Place | undefined>();
  for await (const place of readPlaces(file)) {
    const { country, region, name } = keysOf(place);
    keepLarger(inRegion, region + name, place);
    for (const other of place.otherNames) keepLarger(otherInRegion, region + fold(other), place);
    inCountry.set(country + name, inCountry.has(country + name) ? undefined : place);
  }
  return (location) => {
    const { country, region, name } = keysOf(location);
    return inRegion.get(region + name) ?? otherInRegion.get(region + name) ?? inCountry.get(country + name);
  };
}

function keepLarger(places: Map<string, Place>, key: string, place: Place): void {
  if (place.reach >= (places.get(key)?.reach ?? 0)) places.set(key, place);
}

function keysOf({ target_type, country_code, name, canonical_name }: Parameters<FindBundled>[0]) {
  const kind = kinds[target_type] ?? 'region';
  const country = `${kind},${country_code},`;
  // Countries are matched by code, because the platform spells some names differently.
  if (kind === 'country') return { country, region: country, name: '' };
  const region = kind === 'region' ? '' : fold(canonical_name.split(',').at(-2) ?? '');
  return { country, region: `${country}${region},`, name: fold(name) };
}

// The platform has many words for regions, such as State, Province and Canton, so types that are not listed here count
// as regions. An airport has its own kind, because no one lives there, even if it shares a city's name.
const kinds: Readonly<Record<string, string>> = {
  Country: 'country',
  City: 'city',
  Municipality: 'city',
  Neighborhood: 'neighborhood',
  Airport: 'airport',
  University: 'university',
  'Postal Code': 'postal code',
  'Congressional District': 'district',
  'DMA Region': 'market',
  'TV Region': 'market',
  'National Park': 'park',
};
