// The location search, which turns a caller's text into search terms.
import { withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { findCatalogue } from '../store/catalogue.ts';
import {
  type FoundLocation,
  type LocationSearch,
  listLargestLocations,
  listLargestLocationsOf,
  searchLocations,
} from '../store/locations.ts';
import { type LocationQuery, presentLocation } from './contract.ts';
import { fold } from './fold.ts';

// Few names are longer. Longer queries are cut, so they do not cost more.
const maxFoldedLength = 100;
const maxSimilarLength = 48;
const maxWords = 8;
/** Queries this short occur in too many names, so they match only prefixes. */
const maxPrefixLength = 2;

export async function findGeoTargets(db: Db, { query, country_code, limit }: LocationQuery) {
  const found = await findLocations(db, query, country_code.toUpperCase(), limit);
  const locations = found.map((location) => presentLocation(location, query));
  // An empty result is partial if the catalogue has never been loaded.
  const isLoaded = found.length > 0 || (await findCatalogue(db)) !== undefined;
  return isLoaded ? locations : withNotes(locations, { partial: ['locations'] });
}

async function findLocations(db: Db, query: string, country: string, limit: number): Promise<FoundLocation[]> {
  if (query.trim() === '')
    return country === '' ? listLargestLocations(db, limit) : listLargestLocationsOf(db, country, limit);
  const search = describeSearch(query, country, limit);
  return search.query === '' ? [] : searchLocations(db, search);
}

export function describeSearch(query: string, country: string, limit: number): LocationSearch {
  const folded = cut(fold(query), maxFoldedLength);
  return { ...describeWords(folded), query: folded, country, limit };
}

/** For `austin tx`, finds places that begin with `austin` and contain words that begin with `austin` and `tx`. */
function describeWords(folded: string): Pick<LocationSearch, 'firstWord' | 'wordPatterns' | 'similarTo'> {
  const words = [...new Set(folded.split(' '))];
  const isSearchable = words.length > 1 && words.length <= maxWords;
  return {
    firstWord: isSearchable ? (words[0] ?? null) : null,
    wordPatterns: isSearchable ? words.map((word) => `% ${word}%`) : null,
    similarTo: [...folded].length <= maxPrefixLength ? null : cut(folded, maxSimilarLength),
  };
}

const cut = (text: string, length: number): string => [...text].slice(0, length).join('').trimEnd();
