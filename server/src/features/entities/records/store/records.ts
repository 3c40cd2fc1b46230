// The queries for single records and their keys. A statement that changes a record also updates its keys and
// inserts its event, so none of these changes is ever visible without the others.
import { sql } from 'kysely';
import type { AppAccess, DataAccess } from '../../../../core/auth/proofs.ts';
import type { EventRow } from '../../../../kit/background/events/event-bus.ts';
import { prepared, transaction } from '../../../../kit/db/database.ts';
import { sendWithNext } from '../../../../kit/db/send.ts';
import { idOrNull } from '../../../../kit/ids.ts';
import type { Db } from '../../../../tables.ts';
import type { DataRecord } from '../../rules/rule.ts';
import type { KeyRow } from '../../schemas/keys.ts';
import type { Entity } from '../../schemas/schema-cache.ts';
import { type AppScope, type RecordColumns, toDataRecord } from '../../schemas/store.ts';
import type { StoredRecord } from '../record.ts';

/** An entity in an app that the caller has access to. */
export type EntityScope = AppScope & { readonly entity: Pick<Entity, 'name'> };

const noId = '00000000-0000-0000-0000-000000000000';
const columns = 'id, data, created_by, created_by_id, created_date, updated_date, is_sample, version, size_bytes';

type RecordRow = RecordColumns & { readonly version: number; readonly size_bytes: number };
type RecordParameters = [appId: string, id: string | null, entity: string];

const toStoredRecord = (row: RecordRow): StoredRecord => ({
  ...toDataRecord(row),
  version: row.version,
  size_bytes: row.size_bytes,
});
const toFirstRecord = (rows: readonly RecordRow[]): StoredRecord | undefined => rows[0] && toStoredRecord(rows[0]);

const liveRecordSql = `select ${columns} from entity_records where app_id = $1 and id = $2 and entity_name = $3 and deleted_date is null`;
const selectRecord = prepared<RecordRow, RecordParameters>('find entity record', liveRecordSql);
const selectRecordForUpdate = prepared<RecordRow, RecordParameters>(
  'lock entity record',
  `${liveRecordSql} for no key update`,
);

/** A record in JSON form, as returned by the request's lookup. */
export interface PrefetchedRecord {
  readonly id: string;
  readonly entity_name: string;
  readonly data: StoredRecord['data'];
  readonly created_by: string;
  readonly created_by_id: string;
  readonly created_date: string;
  readonly updated_date: string;
  readonly is_sample: boolean;
  readonly deleted_date: string | null;
  readonly version: number;
  readonly size_bytes: number;
}

/** Returns the record that the request's lookup found, or reads it if the lookup did not include it. */
export async function findPrefetchedRecord(
  db: Db,
  access: EntityScope & { readonly record?: PrefetchedRecord | null },
  id: string,
) {
  const { record, entity } = access;
  if (record === undefined) return findRecord(db, access, id);
  if (record === null || record.entity_name !== entity.name || record.deleted_date !== null) return undefined;
  return toStoredRecord({
    ...record,
    created_date: new Date(record.created_date),
    updated_date: new Date(record.updated_date),
  });
}

/** Finds a record that is not in the trash. */
export const findRecord = async (db: Db, { app, entity }: EntityScope, id: string) =>
  toFirstRecord(await selectRecord(db, app.id, idOrNull(id), entity.name));

/** Finds the record and locks it until the transaction ends. */
export const lockRecord = async (db: Db, { app, entity }: EntityScope, id: string) =>
  toFirstRecord(await selectRecordForUpdate(db, app.id, idOrNull(id), entity.name));

export async function lockRecords(
  db: Db,
  { app, entity }: EntityScope,
  listIds: readonly string[],
): Promise<StoredRecord[]> {
  const known = listIds.filter((id) => idOrNull(id) !== null);
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and id = any(${known}::uuid[]) and entity_name = ${entity.name} and deleted_date is null
    order by id for no key update`.execute(db);
  return rows.map(toStoredRecord);
}

/** Finds these records, in the order of their ids, until they exceed `maxBytes`. */
export async function listRecordsById(
  db: Db,
  { app, entity }: EntityScope,
  listIds: readonly string[],
  maxBytes: number,
): Promise<StoredRecord[]> {
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from (
      select ${sql.raw(columns)}, sum(size_bytes) over (order by id) as bytes_so_far from entity_records
      where app_id = ${app.id} and id = any(${[...listIds]}::uuid[]) and entity_name = ${entity.name}
        and deleted_date is null) found
    where bytes_so_far <= ${maxBytes}`.execute(db);
  return rows.map(toStoredRecord);
}

/** The total size of these records. */
export async function sumRecordSizes(
  db: Db,
  { app, entity }: EntityScope,
  listIds: readonly string[],
): Promise<number> {
  const known = listIds.filter((id) => idOrNull(id) !== null);
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(size_bytes), 0) as bytes from entity_records
    where app_id = ${app.id} and id = any(${known}::uuid[]) and entity_name = ${entity.name} and deleted_date is null`.execute(
    db,
  );
  return rows[0]?.bytes ?? 0;
}

/** Finds a record in the trash and locks it. */
export async function lockTrashedRecord(db: Db, { app, entity }: EntityScope, id: string) {
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and id = ${idOrNull(id)} and entity_name = ${entity.name} and deleted_date is not null
    for no key update`.execute(db);
  return toFirstRecord(rows);
}

/** A record to be stored, with the changes to its size and key rows, and its event. */
export interface RecordWrite {
  readonly record: DataRecord;
  /** The data as JSON. Empty if the write does not store data. */
  readonly dataText: string;
  readonly sizeBytes: number;
  /** The number of bytes by which the data grows. Negative if it shrinks. */
  readonly grownBytes: number;
  readonly removedKeys: readonly KeyRow[];
  readonly addedKeys: readonly KeyRow[];
  readonly event: EventRow;
}

const insertEventSql = `insert into events (id, name, payload, occurred_at)`;

/** Inserts the number of bytes by which the workspace's records grow (core/storage/usage.ts). */
const countSql = (workspaceId: number, bytes: number, where: string) =>
  `insert into storage_changes (workspace_id, kind, bytes) select $${workspaceId}::uuid, 'records', $${bytes}::bigint ${where}`;

type UpdateParameters = [string, string, number, string, string, string, string, string, Date];
const saveEventSql = `${insertEventSql} select $6::uuid, $7::text, $8::jsonb, $9::timestamptz from changed returning id`;

/** For the most common kind of write, which changes neither the size nor the keys. */
const updateWithoutKeys = prepared<{ id: string }, UpdateParameters>(
  'entity_record_save',
  `with changed as (
     update entity_records set data = $4, updated_date = $5, version = version + 1
     where app_id = $1 and id = $2 and version = $3 and deleted_date is null
     returning id)
   ${saveEventSql}`,
);

const resizeWithoutKeys = prepared<{ id: string }, [...UpdateParameters, number, string, number]>(
  'save entity record of another size',
  `with changed as (
     update entity_records set data = $4, updated_date = $5, version = version + 1, size_bytes = $10
     where app_id = $1 and id = $2 and version = $3 and deleted_date is null
     returning id),
   counted as (${countSql(11, 12, 'from changed')})
   ${saveEventSql}`,
);

const deleteKeysSql = (from: number) => `delete from entity_keys k
     using unnest($${from}::text[], $${from + 1}::bytea[], $${from + 2}::timestamptz[], $${from + 3}::uuid[])
       as g(key, value, created_date, record_id)
     where k.app_id = $1 and k.entity_name = $2 and k.key = g.key and k.value = g.value
       and k.created_date = g.created_date and k.record_id = g.record_id`;

const insertKeysSql = (
  from: number,
  where = '',
) => `insert into entity_keys (app_id, entity_name, key, value, created_date, record_id, is_unique)
     select $1::uuid, $2::text, a.key, a.value, a.created_date, a.record_id, a.is_unique
     from unnest($${from}::text[], $${from + 1}::bytea[], $${from + 2}::timestamptz[], $${from + 3}::uuid[], $${from + 4}::boolean[])
       as a(key, value, created_date, record_id, is_unique) ${where}
     on conflict (app_id, entity_name, key, value, created_date, record_id) do nothing`;

const insertEventsSql = (from: number) => `${insertEventSql}
     select e.id, $${from + 2}::text, e.payload::jsonb, $${from + 3}::timestamptz from unnest($${from}::uuid[], $${from + 1}::text[]) as e(id, payload)`;

type ParameterValues = unknown[];
const keyParameters = (writes: readonly RecordWrite[], which: 'removedKeys' | 'addedKeys'): ParameterValues => {
  const rows = writes.flatMap(({ record, [which]: keys }) => keys.map((key) => ({ record, key })));
  return [
    rows.map(({ key }) => key.key),
    rows.map(({ key }) => key.value),
    rows.map(({ record }) => record.created_date),
    rows.map(({ record }) => record.id),
    ...(which === 'addedKeys' ? [rows.map(({ key }) => key.is_unique)] : []),
  ];
};
const eventParameters = (writes: readonly RecordWrite[]): ParameterValues => {
  const [first] = writes;
  return [
    writes.map(({ event }) => event.id),
    writes.map(({ event }) => event.payload),
    first?.event.name,
    first?.event.occurred_at,
  ];
};
const ids = (writes: readonly RecordWrite[]) => writes.map(({ record }) => record.id);
/** The data and size of each record, and the total growth. */
const dataParameters = (writes: readonly RecordWrite[], { app }: EntityScope): ParameterValues => [
  writes.map(({ dataText }) => dataText),
  writes.map(({ sizeBytes }) => sizeBytes),
  app.workspace_id,
  sumGrownBytes(writes),
];

const maxStatementLength = 1024 * 1024;

/** Splits a long list of writes into several statements, because building a statement blocks the process. */
function splitIntoStatements(writes: readonly RecordWrite[]): RecordWrite[][] {
  const statements: RecordWrite[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const write of writes) {
    const added = write.dataText.length + write.event.payload.length;
    if (length + added > maxStatementLength) {
      statements.push([]);
      length = 0;
    }
    statements.at(-1)?.push(write);
    length += added;
  }
  return statements;
}

export const sumGrownBytes = (writes: readonly RecordWrite[]): number =>
  writes.reduce((sum, { grownBytes }) => sum + grownBytes, 0);

const insertAll = prepared<{ id: string }, readonly unknown[]>(
  'insert entity records',
  // Waits for a concurrent deletion of the schema, and inserts nothing if the schema no longer exists. `User` needs no
  // schema.
  `with declared as (select from entity_schemas where app_id = $1 and name = $2 for key share),
   entity as (select from declared union all select where $2::text = 'User'),
   made as (
     insert into entity_records (app_id, entity_name, id, data, created_by, created_by_id, created_date, updated_date, size_bytes)
     select $1::uuid, $2::text, n.id, n.data::jsonb, $3::text, $4::text, $5::timestamptz, $5::timestamptz, n.size_bytes
     from unnest($6::uuid[], $7::text[], $8::integer[]) as n(id, data, size_bytes)
     where exists (select from entity)),
   counted as (${countSql(9, 10, 'where exists (select from entity)')}),
   added as (${insertKeysSql(11, 'where exists (select from entity)')})
   ${insertEventsSql(16)} where exists (select from entity) returning id`,
);

/**
 * Inserts records with the same creator and creation time, in a transaction if there are many. Returns false if the
 * entity no longer exists.
 */
export async function insertRecords(db: Db, access: EntityScope, writes: readonly RecordWrite[]): Promise<boolean> {
  const statements = splitIntoStatements(writes);
  if (statements.length <= 1) return insertAtOnce(db, access, writes);
  return transaction(db, async (db) => {
    // The first statement locks the schema, so it still exists when the other statements run.
    for (const part of statements) if (!(await insertAtOnce(db, access, part))) return false;
    return true;
  });
}

async function insertAtOnce(db: Db, access: EntityScope, writes: readonly RecordWrite[]): Promise<boolean> {
  const { app, entity } = access;
  const [first] = writes;
  if (first === undefined) return true;
  const { created_by, created_by_id, created_date } = first.record;
  const inserted = await insertAll(
    db,
    app.id,
    entity.name,
    created_by,
    created_by_id,
    created_date,
    ids(writes),
    ...dataParameters(writes, access),
    ...keyParameters(writes, 'addedKeys'),
    ...eventParameters(writes),
  );
  return inserted.length > 0;
}

const updateWithKeys = prepared<{ id: string }, readonly unknown[]>(
  'save entity record with keys',
  `with changed as (
     update entity_records set data = $5, updated_date = $6, version = version + 1, size_bytes = $7
     where app_id = $1 and entity_name = $2 and id = $3 and version = $4 and deleted_date is null
     returning id),
   counted as (${countSql(8, 9, 'from changed where $9 <> 0')}),
   gone as (${deleteKeysSql(10)} and exists (select from changed)),
   added as (${insertKeysSql(14, 'where exists (select from changed)')})
   ${insertEventsSql(19)} where exists (select from changed) returning id`,
);

/** Saves the record if it still has this version. Returns false if the record has changed. */
export async function saveRecord(db: Db, access: EntityScope, version: number, write: RecordWrite): Promise<boolean> {
  const { record, dataText, sizeBytes, grownBytes, event, removedKeys, addedKeys } = write;
  const { app, entity } = access;
  if (removedKeys.length === 0 && addedKeys.length === 0) {
    const { id, name, payload, occurred_at } = event;
    const { updated_date } = record;
    const values: UpdateParameters = [
      app.id,
      record.id,
      version,
      dataText,
      updated_date,
      id,
      name,
      payload,
      occurred_at,
    ];
    const saved =
      grownBytes === 0
        ? await updateWithoutKeys(db, ...values)
        : await resizeWithoutKeys(db, ...values, sizeBytes, app.workspace_id, grownBytes);
    return saved.length > 0;
  }
  const saved = await updateWithKeys(
    db,
    app.id,
    entity.name,
    record.id,
    version,
    dataText,
    record.updated_date,
    sizeBytes,
    app.workspace_id,
    grownBytes,
    ...keyParameters([write], 'removedKeys'),
    ...keyParameters([write], 'addedKeys'),
    ...eventParameters([write]),
  );
  return saved.length > 0;
}

const deleteKeys = prepared<object, readonly unknown[]>('remove entity keys', deleteKeysSql(3));

const updateAll = prepared<object, readonly unknown[]>(
  'save entity records',
  `with changed as (
     update entity_records r set data = n.data::jsonb, updated_date = $3, version = r.version + 1, deleted_date = null,
       size_bytes = n.size_bytes
     from unnest($4::uuid[], $5::text[], $6::integer[]) as n(id, data, size_bytes)
     where r.app_id = $1 and r.entity_name = $2 and r.id = n.id),
   counted as (${countSql(7, 8, 'where $8 <> 0')}),
   added as (${insertKeysSql(9)})
   ${insertEventsSql(14)}`,
);

/**
 * Saves locked records and restores those in the trash. Old key rows are deleted first, in a separate statement, so two
 * records can swap a unique value.
 */
export async function saveRecords(db: Db, access: EntityScope, writes: readonly RecordWrite[]): Promise<void> {
  const { app, entity } = access;
  const [first] = writes;
  if (first === undefined) return;
  await deleteKeys(db, app.id, entity.name, ...keyParameters(writes, 'removedKeys'));
  for (const part of splitIntoStatements(writes))
    await updateAll(
      db,
      app.id,
      entity.name,
      first.record.updated_date,
      ids(part),
      ...dataParameters(part, access),
      ...keyParameters(part, 'addedKeys'),
      ...eventParameters(part),
    );
}

const trashAll = prepared<object, readonly unknown[]>(
  'trash entity records',
  `with changed as (
     update entity_records set deleted_date = $3, version = version + 1
     where app_id = $1 and entity_name = $2 and id = any($4::uuid[])),
   gone as (${deleteKeysSql(5)})
   ${insertEventsSql(9)}`,
);

/**
 * Moves locked records to the trash. The database can't reject this change, so the statement is sent along with the
 * next one.
 */
export async function trashRecords(
  db: Db,
  { app, entity }: EntityScope,
  writes: readonly RecordWrite[],
  now: Date,
): Promise<void> {
  if (writes.length === 0) return;
  const keys = keyParameters(writes, 'removedKeys');
  await sendWithNext(db, trashAll.query(app.id, entity.name, now, ids(writes), ...keys, ...eventParameters(writes)));
}

/** Permanently deletes a record that is in the trash. Its keys were deleted when it was moved there. */
export async function removeRecord(db: Db, { app, entity }: EntityScope, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('entity_records')
    .where('app_id', '=', app.id)
    .where('entity_name', '=', entity.name)
    .where('id', '=', idOrNull(id))
    .where('deleted_date', 'is not', null)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Permanently deletes trashed records of any entity. */
export async function removeTrashedRecords(db: Db, { app }: DataAccess, listIds: readonly string[]): Promise<void> {
  await sql`delete from entity_records
    where app_id = ${app.id} and id = any(${[...listIds]}::uuid[]) and deleted_date is not null`.execute(db);
}

/** Lists a creator's records in all entities, including the trash, ordered by id. Ids contain the creation time. */
export async function listRecordsOfCreator(
  db: Db,
  { app }: DataAccess,
  creatorId: string,
  after: string,
  limit: number,
): Promise<{ readonly id: string; readonly entity_name: string }[]> {
  const { rows } = await sql<{ id: string; entity_name: string }>`select id, entity_name from entity_records
    where app_id = ${app.id} and id > ${after} and created_by_id = ${creatorId}
    order by id limit ${limit}`.execute(db);
  return rows;
}

export type RecordPosition = Pick<StoredRecord, 'created_date' | 'id'>;

const startPosition: RecordPosition = { created_date: '-infinity', id: noId };

/**
 * Finds the position of the next batch's last record. Batches contain the oldest records first, without the trash, and
 * have at least one record unless none are left.
 */
export async function findBatchEnd(
  db: Db,
  { app }: AppAccess,
  name: string,
  { records, bytes }: { records: number; bytes: number },
  after = startPosition,
): Promise<RecordPosition | undefined> {
  const { rows } = await sql<{ created_date: Date; id: string }>`select created_date, id from (
      select created_date, id, size_bytes, sum(size_bytes) over (order by created_date, id rows unbounded preceding) as bytes
      from entity_records where app_id = ${app.id} and entity_name = ${name} and deleted_date is null
        and (created_date, id) > (${after.created_date}::timestamptz, ${after.id}::uuid)
      order by created_date, id limit ${records}) next
    where bytes - size_bytes <= ${bytes} order by created_date desc, id desc limit 1`.execute(db);
  return rows[0] && { created_date: rows[0].created_date.toISOString(), id: rows[0].id };
}

/** Locks an entity's records after one position, up to and including another. */
export async function lockRecordsBetween(
  db: Db,
  { app }: AppAccess,
  name: string,
  upTo: RecordPosition,
  after = startPosition,
): Promise<StoredRecord[]> {
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and entity_name = ${name} and deleted_date is null
      and (created_date, id) > (${after.created_date}::timestamptz, ${after.id}::uuid)
      and (created_date, id) <= (${upTo.created_date}::timestamptz, ${upTo.id}::uuid)
    order by created_date, id for no key update`.execute(db);
  return rows.map(toStoredRecord);
}
