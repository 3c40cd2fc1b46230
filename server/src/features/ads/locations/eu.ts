// Checks whether a campaign can be shown in the European Union, where political ads must be declared.
import type { Db } from '../../../tables.ts';
import { type LocationPath, listCountriesWithPaths } from '../store/locations.ts';

const euCountries = 'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE'.split(' ');
const isOfEu = new Set(euCountries);

/**
 * Whether any target lies in or contains an EU country and is not excluded, either directly or by an enclosing
 * location. If a country's regions are all excluded individually, the country still counts as reached.
 */
export async function canReachEu(
  db: Db,
  targets: readonly LocationPath[],
  excluded: readonly number[],
): Promise<boolean> {
  const isExcluded = ({ path }: LocationPath) => path.some((id) => excluded.includes(id));
  if (targets.some((target) => isOfEu.has(target.country_code) && !isExcluded(target))) return true;
  const unions = targets.filter(({ country_code }) => country_code === '');
  if (unions.length === 0) return false;
  const countries = await listCountriesWithPaths(db, euCountries);
  return unions.some(({ id }) => countries.some((country) => country.path.includes(id) && !isExcluded(country)));
}
