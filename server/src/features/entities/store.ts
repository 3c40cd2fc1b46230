// The queries for the background jobs that build and remove keys and purge records.
import { sql } from 'kysely';
import type { Db } from '../../tables.ts';
import type { DataRecord } from './rules/rule.ts';
import type { KeyRow } from './schemas/keys.ts';
import { type RecordColumns, toDataRecord } from './schemas/store.ts';

/** An entity whose keys have to be built. */
export interface KeyBuild {
  readonly app_id: string;
  readonly entity_name: string;
}

/** SQL that tells the job runner when the next build is due. A build begins `drainMs` after its schema change. */
export const keyBuildDueInMs = (drainMs: number): string =>
  `select extract(epoch from building_since - $1) * 1000 + ${drainMs} from entity_key_states
   where building_since is not null order by building_since limit 1`;

/**
 * Lists the entities, in all apps, whose keys have to be built. Builds that have not started come first, followed by
 * those that have waited longest.
 */
export async function listDueKeyBuilds(db: Db, since: Date, limit: number): Promise<KeyBuild[]> {
  const { rows } = await sql<KeyBuild>`/* service */ select app_id, entity_name from entity_key_states
    where building_since <= ${since} order by built_up_to is not null, building_since limit ${limit}`.execute(db);
  return rows;
}

/** Locks a build. Returns undefined if another process holds the lock or if there is nothing left to build. */
export async function lockKeyBuild(db: Db, { app_id, entity_name }: KeyBuild, since: Date) {
  const { rows } = await sql<{ document: unknown; keys: string[]; ready: string[]; built_up_to: string | null }>`
    select s.document, s.keys, k.ready, k.built_up_to from entity_key_states k
    join entity_schemas s on s.app_id = k.app_id and s.name = k.entity_name
    where k.app_id = ${app_id} and k.entity_name = ${entity_name} and k.building_since <= ${since}
    for update of k skip locked`.execute(db);
  return rows[0];
}

/** Removes up to `limit` rows for keys that the schema no longer has. Returns the number of rows removed. */
export async function removeStaleKeys(
  db: Db,
  { app_id, entity_name }: KeyBuild,
  keys: readonly string[],
  limit: number,
) {
  // Uses the index to skip from one key name to the next. There are few names, but each may have as many rows as there
  // are records.
  const { rows: names } = await sql<{ key: string }>`with recursive names as (
      select min(key) as key from entity_keys where app_id = ${app_id} and entity_name = ${entity_name}
      union all
      select (select min(k.key) from entity_keys k
        where k.app_id = ${app_id} and k.entity_name = ${entity_name} and k.key > n.key)
      from names n where n.key is not null)
    select key from names where key <> all(${[...keys]}::text[])`.execute(db);
  const stale = names.map(({ key }) => key);
  if (stale.length === 0) return 0;
  const { numAffectedRows } =
    await sql`delete from entity_keys where app_id = ${app_id} and entity_name = ${entity_name}
    and (key, value, created_date, record_id) in (
      select key, value, created_date, record_id from entity_keys
      where app_id = ${app_id} and entity_name = ${entity_name} and key = any(${stale}::text[])
      limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** The id of the next batch's last record, or null if there is no next batch. */
export async function findKeyBatchEnd(
  db: Db,
  { app_id, entity_name }: KeyBuild,
  after: string,
  maxRecords: number,
  maxBytes: number,
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`select id from (
      select id, size_bytes, sum(size_bytes) over (order by id rows unbounded preceding) as bytes from entity_records
      where app_id = ${app_id} and entity_name = ${entity_name} and deleted_date is null and id > ${after}
      order by id limit ${maxRecords}) next
    where bytes - size_bytes <= ${maxBytes} order by id desc limit 1`.execute(db);
  return rows[0]?.id ?? null;
}

/** Locks a batch's records, so they don't change while their keys are built. */
export async function lockRecordBatch(db: Db, { app_id, entity_name }: KeyBuild, after: string, upTo: string) {
  const { rows } = await sql<RecordColumns>`
    select id, data, created_by, created_by_id, created_date, updated_date, is_sample from entity_records
    where app_id = ${app_id} and entity_name = ${entity_name} and deleted_date is null
      and id > ${after} and id <= ${upTo}
    order by id for no key update`.execute(db);
  return rows.map(toDataRecord);
}

/**
 * Inserts the key rows that don't exist yet. If several old records have the same unique value, one of them gets the
 * row with `is_unique`. A conflict on that row locks it, so its record can't release the value in the meantime. The
 * other records get rows that are only used to find them.
 */
export async function insertKeys(
  db: Db,
  { app_id, entity_name }: KeyBuild,
  rows: readonly { record: DataRecord; key: KeyRow }[],
): Promise<void> {
  const unique = new Map(
    rows.filter(({ key }) => key.is_unique).map((row) => [`${row.key.key} ${row.key.value.toString('latin1')}`, row]),
  );
  const proposed = (from: typeof rows) => sql`unnest(${from.map(({ key }) => key.key)}::text[],
    ${from.map(({ key }) => key.value)}::bytea[], ${from.map(({ record }) => record.created_date)}::timestamptz[],
    ${from.map(({ record }) => record.id)}::uuid[]) as n(key, value, created_date, record_id)`;
  const columns = sql.raw('app_id, entity_name, key, value, created_date, record_id, is_unique');
  await sql`insert into entity_keys (${columns})
    select ${app_id}::uuid, ${entity_name}::text, n.*, true from ${proposed([...unique.values()])}
    where not exists (select from entity_keys k where k.app_id = ${app_id} and k.entity_name = ${entity_name}
      and k.key = n.key and k.value = n.value and k.created_date = n.created_date and k.record_id = n.record_id)
    on conflict (app_id, entity_name, key, value) where is_unique do update set is_unique = true`.execute(db);
  await sql`insert into entity_keys (${columns})
    select ${app_id}::uuid, ${entity_name}::text, n.*, false from ${proposed(rows)}
    on conflict (app_id, entity_name, key, value, created_date, record_id) do nothing`.execute(db);
}

export async function saveBuildProgress(db: Db, { app_id, entity_name }: KeyBuild, built_up_to: string): Promise<void> {
  await db
    .updateTable('entity_key_states')
    .set({ built_up_to })
    .where('app_id', '=', app_id)
    .where('entity_name', '=', entity_name)
    .execute();
}

export async function completeKeyBuild(
  db: Db,
  { app_id, entity_name }: KeyBuild,
  keys: readonly string[],
): Promise<void> {
  await db
    .updateTable('entity_key_states')
    .set({ ready: [...keys], building_since: null, built_up_to: null })
    .where('app_id', '=', app_id)
    .where('entity_name', '=', entity_name)
    .execute();
}

/**
 * Removes up to `limit` records, from any app, that were moved to the trash before the given time. Returns the number
 * of records removed.
 */
export async function removeExpiredTrash(db: Db, before: Date, limit: number): Promise<number> {
  // The condition is repeated, so a record that is restored between the subquery and the deletion is kept.
  const { numAffectedRows } =
    await sql`/* service */ delete from entity_records where deleted_date <= ${before} and (app_id, id) in (
    select app_id, id from entity_records where deleted_date <= ${before} order by deleted_date limit ${limit})`.execute(
      db,
    );
  return Number(numAffectedRows ?? 0);
}

/**
 * Removes up to `limit` of an app's key rows and up to `limit` of its records. Returns the total number of rows
 * removed.
 */
export async function removeAppRecords(db: Db, app_id: string, limit: number): Promise<number> {
  const keys =
    await sql`delete from entity_keys where app_id = ${app_id} and (entity_name, key, value, created_date, record_id) in (
    select entity_name, key, value, created_date, record_id from entity_keys where app_id = ${app_id} limit ${limit})`.execute(
      db,
    );
  const records = await sql`delete from entity_records where app_id = ${app_id} and id in (
    select id from entity_records where app_id = ${app_id} limit ${limit})`.execute(db);
  return Number(keys.numAffectedRows ?? 0) + Number(records.numAffectedRows ?? 0);
}
