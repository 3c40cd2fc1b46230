// Replaces the whole location catalogue, with either the bundled places or the ad platform's. The replacement
// runs in one transaction, during which searches see the old catalogue.
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import {
  findCatalogue,
  insertLocations,
  type LocationRow,
  loadWithoutIndexes,
  type NameRow,
  removeLocations,
  saveCatalogue,
  tidyLocations,
} from '../store/catalogue.ts';
import { computeChecksum, type Place, readPlaces } from './bundled.ts';
import { fold } from './fold.ts';

/** The number of rows inserted per statement. */
const batchSize = 5_000;

/**
 * Loads the bundled places, unless they are already loaded or an operator has imported locations. Returns the number of
 * places, or undefined if nothing changed.
 */
export async function loadBundledLocations(db: Db, file: string, now: Date): Promise<number | undefined> {
  const checksum = await computeChecksum(file);
  const current = await findCatalogue(db);
  if (current?.source === 'imported' || current?.checksum === checksum) return undefined;
  return replaceLocations(db, readPlaces(file), { source: 'bundled', checksum: () => checksum }, now);
}

export interface Source {
  readonly source: 'bundled' | 'imported';
  /** Called after all places have been read. */
  checksum(): string;
}

/** Returns the new number of locations. If `places` throws, the catalogue is unchanged. */
export async function replaceLocations(
  db: Db,
  places: AsyncIterable<Place>,
  { source, checksum }: Source,
  now: Date,
): Promise<number> {
  const count = await transaction(db, async (db) => {
    const isFirst = (await findCatalogue(db)) === undefined;
    await removeLocations(db);
    const load = () => insertAll(db, places);
    const location_count = isFirst ? await loadWithoutIndexes(db, load) : await load();
    await saveCatalogue(db, { source, checksum: checksum(), location_count, loaded_at: now });
    return location_count;
  });
  await tidyLocations(db);
  return count;
}

async function insertAll(db: Db, places: AsyncIterable<Place>): Promise<number> {
  let count = 0;
  let locations: LocationRow[] = [];
  let names: NameRow[] = [];
  for await (const place of places) {
    locations.push(presentRow(place));
    names.push(...listNames(place));
    count += 1;
    if (locations.length < batchSize) continue;
    await insertLocations(db, locations, names);
    [locations, names] = [[], []];
  }
  await insertLocations(db, locations, names);
  return count;
}

function presentRow({ otherNames, ...place }: Place): LocationRow {
  const [name, path] = [fold(place.name), fold(place.canonical_name)];
  // A prefix search reads only the paths, so each path must begin with the name. A few of the platform's canonical
  // names do not.
  return { ...place, folded_name: name, folded_path: path.startsWith(name) ? path : `${name} ${path}` };
}

const listNames = ({ id, country_code, reach, otherNames }: Place): NameRow[] =>
  otherNames.map((name) => ({ location_id: id, folded_name: fold(name), country_code, reach }));
