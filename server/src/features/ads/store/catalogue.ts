// The queries that replace the location catalogue, and the record of its source.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';

export type LocationRow = Selectable<Tables['locations']>;
export type NameRow = Selectable<Tables['location_names']>;

export const findCatalogue = (db: Db) => db.selectFrom('location_catalogue').selectAll().executeTakeFirst();

export async function removeLocations(db: Db): Promise<void> {
  await db.deleteFrom('location_names').execute();
  await db.deleteFrom('locations').execute();
}

/** Sends one array per column, because a statement has at most 65,535 parameters. */
export async function insertLocations(
  db: Db,
  locations: readonly LocationRow[],
  names: readonly NameRow[],
): Promise<void> {
  const all = <Row, Column extends keyof Row>(rows: readonly Row[], column: Column) => rows.map((row) => row[column]);
  await sql`insert into locations (id, parent_id, country_code, target_type, name, canonical_name, reach, folded_name,
      folded_path, codes)
    select * from unnest(${all(locations, 'id')}::bigint[], ${all(locations, 'parent_id')}::bigint[],
      ${all(locations, 'country_code')}::text[], ${all(locations, 'target_type')}::text[],
      ${all(locations, 'name')}::text[], ${all(locations, 'canonical_name')}::text[],
      ${all(locations, 'reach')}::bigint[], ${all(locations, 'folded_name')}::text[],
      ${all(locations, 'folded_path')}::text[], ${all(locations, 'codes')}::text[])`.execute(db);
  await sql`insert into location_names (location_id, folded_name, country_code, reach)
    select * from unnest(${all(names, 'location_id')}::bigint[], ${all(names, 'folded_name')}::text[],
      ${all(names, 'country_code')}::text[], ${all(names, 'reach')}::bigint[])`.execute(db);
}

/**
 * Drops the tables' indexes, runs `load`, and recreates the indexes. Loading then takes a third of the time, but
 * searches are blocked, so this is meant for the first load.
 */
export async function loadWithoutIndexes<Result>(db: Db, load: () => Promise<Result>): Promise<Result> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes
    where schemaname = current_schema() and tablename in ('locations', 'location_names')
      and indexname <> 'locations_pkey'`.execute(db);
  for (const { name } of rows) await sql`drop index ${sql.id(name)}`.execute(db);
  const result = await load();
  for (const { definition } of rows) await sql.raw(definition).execute(db);
  return result;
}

export const saveCatalogue = (db: Db, row: Insertable<Tables['location_catalogue']>) =>
  db
    .insertInto('location_catalogue')
    .values(row)
    .onConflict((conflict) => conflict.column('is_only_row').doUpdateSet(row))
    .execute();

/**
 * Prefix searches can use index-only scans only after a vacuum, which PostgreSQL does not allow inside a transaction.
 * Errors are ignored, because the load itself succeeded and autovacuum will catch up.
 */
export async function tidyLocations(db: Db): Promise<void> {
  await sql`vacuum analyze locations, location_names`.execute(db).catch(() => undefined);
}
