// The queries for schema documents, and the queries over records that a schema change needs.
import { CompiledQuery, sql } from 'kysely';
import type { AppAccess, DataAccess } from '../../../core/auth/proofs.ts';
import { prepared, withTimeLimit } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { Decision } from '../rules/decision/decide.ts';
import type { DataRecord } from '../rules/rule.ts';
import { compileDecision } from '../rules/sql/sql.ts';

/** The app that the caller has access to. */
export type AppScope = Pick<AppAccess | DataAccess, 'app'>;

interface SchemaWithKeysRow {
  readonly document: unknown;
  readonly keys: string[];
  readonly ready: string[];
}

const selectSchemaWithKeys = prepared<SchemaWithKeysRow, [appId: string, name: string]>(
  'find entity schema',
  `select s.document, s.keys, coalesce(k.ready, '{}') as ready
   from entity_schemas s left join entity_key_states k on k.app_id = s.app_id and k.entity_name = s.name
   where s.app_id = $1 and s.name = $2`,
);

/** Finds a schema with its keys. `ready` lists the keys that have been built for every record. */
export const findSchemaWithKeys = async (
  db: Db,
  { app }: AppScope,
  name: string,
): Promise<SchemaWithKeysRow | undefined> => (await selectSchemaWithKeys(db, app.id, name))[0];

const selectSchemas = (db: Db, { app }: AppScope) =>
  db.selectFrom('entity_schemas').where('entity_schemas.app_id', '=', app.id);

export const listSchemas = (db: Db, access: AppScope) =>
  selectSchemas(db, access).selectAll().orderBy('entity_schemas.name').execute();

export const findSchema = (db: Db, access: AppScope, name: string) =>
  selectSchemas(db, access).where('entity_schemas.name', '=', name).selectAll().executeTakeFirst();

/** Returns a single hash of all documents, and the number of documents. */
export async function hashSchemas(db: Db, { app }: AppScope): Promise<{ hash: string; count: number }> {
  const { rows } = await sql<{ hash: string; count: number }>`select count(*)::int as count,
      encode(sha256(convert_to(coalesce(string_agg(name || ' ' || document::text, E'\\n' order by name), ''), 'UTF8')), 'hex') as hash
    from entity_schemas where app_id = ${app.id}`.execute(db);
  return rows[0] ?? { hash: '', count: 0 };
}

/** Finds a schema and locks it. Waits for record inserts that are in progress, and blocks new ones. */
export const lockSchema = (db: Db, access: AppScope, name: string) =>
  selectSchemas(db, access).where('entity_schemas.name', '=', name).selectAll().forUpdate().executeTakeFirst();

/**
 * Finds a schema and prevents its deletion until the transaction ends. Records can still be written in the meantime.
 */
export const lockSchemaName = (db: Db, access: AppScope, name: string) =>
  selectSchemas(db, access).where('entity_schemas.name', '=', name).select('name').forKeyShare().executeTakeFirst();

/** Queries over many records are cancelled after this time and fail with 503. */
export const readLimitMs = 5_000;

const selectLiveRecords = (db: Db, { app }: AppScope) =>
  db.selectFrom('entity_records').where('app_id', '=', app.id).where('deleted_date', 'is', null);

/** The number of records in each entity, without the trash. */
export async function countRecordsByEntity(db: Db, access: AppScope): Promise<Map<string, number>> {
  const rows = await withTimeLimit(db, readLimitMs, (db) =>
    selectLiveRecords(db, access)
      .groupBy('entity_name')
      .select((is) => ['entity_name', is.fn.countAll<number>().as('count')])
      .execute(),
  );
  return new Map(rows.map(({ entity_name, count }) => [entity_name, count]));
}

export async function countRecords(db: Db, access: AppScope, name: string): Promise<number> {
  const { count } = await withTimeLimit(db, readLimitMs, (db) =>
    selectLiveRecords(db, access)
      .where('entity_name', '=', name)
      .select((is) => is.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow(),
  );
  return count;
}

export async function hasMoreRecordsThan(db: Db, access: AppScope, name: string, max: number): Promise<boolean> {
  const beyond = selectLiveRecords(db, access).where('entity_name', '=', name).select('id').offset(max).limit(1);
  return (await beyond.execute()).length > 0;
}

/** Whether the entity has any records, including those in the trash. */
export async function hasStoredRecords(db: Db, { app }: AppScope, name: string): Promise<boolean> {
  const one = db.selectFrom('entity_records').where('app_id', '=', app.id).where('entity_name', '=', name).limit(1);
  return (await one.select('id').execute()).length > 0;
}

/** Lists those of the names under which a stored record has a value, also in the trash. */
export async function listStoredFields(
  db: Db,
  { app }: AppScope,
  name: string,
  names: readonly string[],
): Promise<string[]> {
  const { rows } = await withTimeLimit(db, readLimitMs, (db) =>
    sql<{ name: string }>`select field as name from unnest(${[...names]}::text[]) field where exists (
      select from entity_records where app_id = ${app.id} and entity_name = ${name} and data ? field)`.execute(db),
  );
  return rows.map((row) => row.name);
}

const maxSearched = 10_000;

/** Counts how many of the newest 10,000 records a rule allows. */
export async function countAllowedRecords(
  db: Db,
  { app }: AppScope,
  name: string,
  decision: Decision,
): Promise<number> {
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const text = `select count(*) as count from (
      select id, data, created_by, created_by_id, created_date, updated_date, is_sample from entity_records
      where app_id = ${bind(app.id)}::uuid and entity_name = ${bind(name)} and deleted_date is null
      order by created_date desc, id desc limit ${bind(maxSearched)}) r
    where ${compileDecision(decision, { bind })}`;
  const count = CompiledQuery.raw(text, values);
  const { rows } = await withTimeLimit(db, readLimitMs, (db) => db.executeQuery<{ count: number }>(count));
  return rows[0]?.count ?? 0;
}

export interface SchemaToSave {
  readonly name: string;
  readonly document: unknown;
  readonly keys: readonly string[];
  readonly revision: number;
}

/** Saves a schema. A trigger then records which keys have to be built or removed. */
export async function saveSchema(db: Db, { app }: AppAccess, schema: SchemaToSave, now: Date): Promise<void> {
  const saved = { ...schema, document: JSON.stringify(schema.document), keys: [...schema.keys], updated_date: now };
  await db
    .insertInto('entity_schemas')
    .values({ ...saved, app_id: app.id, created_date: now })
    .onConflict((conflict) => conflict.columns(['app_id', 'name']).doUpdateSet(saved))
    .execute();
}

export async function removeSchema(db: Db, { app }: AppAccess, name: string): Promise<void> {
  await db.deleteFrom('entity_schemas').where('app_id', '=', app.id).where('name', '=', name).execute();
}

const pageSize = 100;

/** Iterates over at most `max` of an entity's newest records, page by page. */
export async function* iterateNewestRecords(
  db: Db,
  { app }: AppScope,
  name: string,
  max: number,
): AsyncGenerator<DataRecord> {
  let after: { created_date: Date; id: string } | undefined;
  for (let read = 0; read < max; read += pageSize) {
    let page = db
      .selectFrom('entity_records')
      .where('app_id', '=', app.id)
      .where('entity_name', '=', name)
      .where('deleted_date', 'is', null)
      .select(['id', 'data', 'created_by', 'created_by_id', 'created_date', 'updated_date', 'is_sample'])
      .orderBy('created_date', 'desc')
      .orderBy('id', 'desc')
      .limit(pageSize);
    if (after !== undefined)
      page = page.where(sql<boolean>`(created_date, id) < (${after.created_date}, ${after.id}::uuid)`);
    const rows = await page.execute();
    for (const row of rows) yield toDataRecord(row);
    after = rows.at(-1);
    if (rows.length < pageSize) return;
  }
}

export interface RecordColumns {
  readonly id: string;
  readonly data: unknown;
  readonly created_by: string;
  readonly created_by_id: string;
  readonly created_date: Date;
  readonly updated_date: Date;
  readonly is_sample: boolean;
}

export const toDataRecord = (row: RecordColumns): DataRecord => ({
  id: row.id,
  data: row.data as DataRecord['data'],
  created_by: row.created_by,
  created_by_id: row.created_by_id,
  created_date: row.created_date.toISOString(),
  updated_date: row.updated_date.toISOString(),
  is_sample: row.is_sample,
});
