// The queries that search the location catalogue.
import type { Selectable } from 'kysely';
import { prepared } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';

export type FoundLocation = Pick<
  Selectable<Tables['locations']>,
  'id' | 'name' | 'canonical_name' | 'country_code' | 'target_type' | 'reach'
>;

const columns = 'l.id, l.name, l.canonical_name, l.country_code, l.target_type, l.reach';

export const listLargestLocations = prepared<FoundLocation, [limit: number]>(
  'list largest locations',
  `select ${columns} from locations l order by l.reach desc, l.id limit $1`,
);

export const listLargestLocationsOf = prepared<FoundLocation, [country: string, limit: number]>(
  'list largest locations of country',
  `select ${columns} from locations l where l.country_code = $1 order by l.reach desc, l.id limit $2`,
);

export interface LocationSearch {
  /** The folded query, which is not empty. */
  readonly query: string;
  /** Empty for all countries. */
  readonly country: string;
  readonly limit: number;
  /** For a query with several words, its first word and a pattern for each word. Null for a single word. */
  readonly firstWord: string | null;
  readonly wordPatterns: readonly string[] | null;
  /** The text for trigram comparison. Null if only prefixes should match. */
  readonly similarTo: string | null;
}

export const searchLocations = (db: Db, search: LocationSearch): Promise<FoundLocation[]> =>
  runSearch(db, ...listSearchValues(search));

export const listSearchValues = (search: LocationSearch) =>
  [search.query, search.country, search.limit, search.firstWord, search.wordPatterns, search.similarTo] as const;

/*
 * Ranks, best first:
 *   1  the name or the canonical name equals the query
 *   2  an alternative name equals the query
 *   3  the canonical name begins with the query
 *   4  the canonical name begins with the query's first word and contains its other words, as in `austin tx`
 *   5  an alternative name begins with the query
 *   6  an alternative name begins with the query's first word, as in 4
 *   7  the name has similar trigrams
 *   8  a part of the canonical name has similar trigrams, read only if nothing else was found
 *
 * Each rank costs more than the previous one, so it is read only if the earlier ranks have too few rows. PostgreSQL
 * evaluates a condition without columns once, and reads nothing if it is false. The only character below `!` in folded
 * text is the space, so the range from `paris` to `paris!` contains `paris` and everything that begins with `paris `.
 * Each limit leaves room for rows that earlier ranks may also have found. The plan does not depend on the parameters,
 * because a prepared statement is planned without them.
 */
const isInCountry = (column: string): string => `($2 = '' or ${column} = $2)`;
export const searchStatement = `with own_exact as materialized (
    select id, 1 as rank, 1::real as likeness, reach from locations
    where folded_path >= $1 and folded_path < $1 || '!' and (folded_name = $1 or folded_path = $1)
      and ${isInCountry('country_code')}
    order by reach desc, id limit $3
  ), other_exact as materialized (
    select location_id as id, 2 as rank, 1::real as likeness, reach from location_names
    where folded_name = $1 and ${isInCountry('country_code')}
    order by reach desc, location_id limit $3
  ), exact as materialized (select * from own_exact union all select * from other_exact
  ), own_prefix as materialized (
    select id, 3 as rank, 1::real as likeness, reach from locations
    where folded_path >= $1 and folded_path < $1 || chr(1114111) and ${isInCountry('country_code')}
      and (select count(distinct id) from exact) < $3
    order by reach desc, id limit 3 * $3
  ), own_words as materialized (
    select id, 4 as rank, 1::real as likeness, reach from locations
    where folded_path >= $4 and folded_path < $4 || '!' and ' ' || folded_path || ' ' || codes like all ($5)
      and ${isInCountry('country_code')} and (select count(distinct id) from exact) < $3
    order by reach desc, id limit 4 * $3
  ), own as materialized (select * from exact union all select * from own_prefix union all select * from own_words
  ), other_prefix as materialized (
    select location_id as id, 5 as rank, 1::real as likeness, reach from location_names
    where folded_name >= $1 and folded_name < $1 || chr(1114111) and ${isInCountry('country_code')}
      and (select count(distinct id) from own) < $3
    group by location_id, reach order by reach desc, location_id limit 5 * $3
  ), other_words as materialized (
    select l.id, 6 as rank, 1::real as likeness, l.reach
    from location_names n join locations l on l.id = n.location_id
    where n.folded_name >= $4 and n.folded_name < $4 || '!'
      and ' ' || n.folded_name || ' ' || l.folded_path || ' ' || l.codes like all ($5)
      and ${isInCountry('n.country_code')} and (select count(distinct id) from own) < $3
    group by l.id order by l.reach desc, l.id limit 6 * $3
  ), named as materialized (select * from own union all select * from other_prefix union all select * from other_words
  ), similar_name as materialized (
    select id, 7 as rank, greatest(similarity(folded_name, $6), word_similarity($6, folded_path)) as likeness, reach
    from locations
    where folded_name % $6 and ${isInCountry('country_code')} and (select count(distinct id) from named) < $3
    order by likeness desc, reach desc, id limit 7 * $3
  ), similar_path as materialized (
    select id, 8 as rank, word_similarity($6, folded_path) as likeness, reach from locations
    where $6 <% folded_path and ${isInCountry('country_code')}
      and not exists (select from named) and not exists (select from similar_name)
    order by likeness desc, reach desc, id limit $3
  ), best as (
    select distinct on (id) id, rank, likeness
    from (select * from named union all select * from similar_name union all select * from similar_path) found
    order by id, rank
  )
  select ${columns} from best join locations l using (id)
  order by best.rank, best.likeness desc, l.reach desc, l.id limit $3`;

const runSearch = prepared<FoundLocation, ReturnType<typeof listSearchValues>>('search locations', searchStatement);

/** A location with the ids of its ancestors, starting with its own id. */
export interface LocationPath {
  readonly id: number;
  readonly country_code: string;
  readonly path: readonly number[];
}

/** A chain is as long as the place's hierarchy is deep. The limit stops cyclic chains. */
const selectPaths = (condition: string): string => `with recursive up as (
    select id, country_code, array[id] as path, parent_id from locations where ${condition}
    union all
    select up.id, up.country_code, up.path || l.id, l.parent_id from up join locations l on l.id = up.parent_id
    where cardinality(up.path) < 12
  )
  select distinct on (id) id, country_code, path::float8[] from up order by id, cardinality(path) desc`;

/** Returns the locations in the catalogue that have these ids. */
export const listLocationsWithPaths = prepared<LocationPath, [ids: readonly number[]]>(
  'list locations with paths',
  selectPaths('id = any($1::bigint[])'),
);

export const listCountriesWithPaths = prepared<LocationPath, [codes: readonly string[]]>(
  'list countries with paths',
  selectPaths("country_code = any($1::text[]) and target_type = 'Country'"),
);
