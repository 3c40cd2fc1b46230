// Owns whether a campaign can be shown in the European Union, where the law asks whether an ad is political.
import type { Db } from '../../../tables.ts';
import { type LocationPath, listCountriesWithPaths } from '../store/locations.ts';

const euCountries = 'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE'.split(' ');
const isOfEu = new Set(euCountries);

/**
 * A target lies in a country of the EU, or contains one, and neither it nor what it lies in is excluded. A country whose regions are
 * all excluded one by one counts as reached.
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
