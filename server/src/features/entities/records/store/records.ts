// Owns the queries over records and their keys. What changes a record also keeps its keys and inserts what is told of it,
// in one statement: none is ever seen without the others.
import { sql } from 'kysely';
import type { AppAccess } from '../../../../core/auth/proofs.ts';
import type { EventRow } from '../../../../kit/background/events/event-bus.ts';
import { prepared } from '../../../../kit/db/database.ts';
import { idOrNull } from '../../../../kit/ids.ts';
import type { Db } from '../../../../tables.ts';
import type { Subject } from '../../rules/rule.ts';
import type { KeyRow } from '../../schemas/keys.ts';
import type { Entity } from '../../schemas/schema-cache.ts';
import { type AtApp, subjectOf } from '../../schemas/store.ts';
import type { Stored } from '../record.ts';

/** An entity of the app that the caller was let in at. */
export type AtEntity = AtApp & { readonly entity: Pick<Entity, 'name'> };

const noId = '00000000-0000-0000-0000-000000000000';
const columns = 'id, data, created_by, created_by_id, created_date, updated_date, is_sample, version';

type RecordRow = Parameters<typeof subjectOf>[0] & { readonly version: number };
type Found = [appId: string, id: string | null, entity: string];

const stored = (row: RecordRow): Stored => ({ ...subjectOf(row), version: row.version });
const one = (rows: readonly RecordRow[]): Stored | undefined => rows[0] && stored(rows[0]);

const live = `select ${columns} from entity_records where app_id = $1 and id = $2 and entity_name = $3 and deleted_date is null`;
const liveOne = prepared<RecordRow, Found>('entity_record', live);
const lockedOne = prepared<RecordRow, Found>('entity_record_locked', `${live} for no key update`);

/** A record as the look-up of the request found it, in JSON. */
export interface RecordFound {
  readonly id: string;
  readonly entity_name: string;
  readonly data: Stored['data'];
  readonly created_by: string;
  readonly created_by_id: string;
  readonly created_date: string;
  readonly updated_date: string;
  readonly is_sample: boolean;
  readonly deleted_date: string | null;
  readonly version: number;
}

/** The record that came with the look-up, or read now where it did not. */
export async function firstRead(db: Db, access: AtEntity & { readonly record?: RecordFound | null }, id: string) {
  const { record, entity } = access;
  if (record === undefined) return findRecord(db, access, id);
  if (record === null || record.entity_name !== entity.name || record.deleted_date !== null) return undefined;
  return stored({
    ...record,
    created_date: new Date(record.created_date),
    updated_date: new Date(record.updated_date),
  });
}

/** A record that is not in the trash. */
export const findRecord = async (db: Db, { app, entity }: AtEntity, id: string) =>
  one(await liveOne(db, app.id, idOrNull(id), entity.name));

/** The same, held until the transaction ends. */
export const lockRecord = async (db: Db, { app, entity }: AtEntity, id: string) =>
  one(await lockedOne(db, app.id, idOrNull(id), entity.name));

export async function lockRecords(db: Db, { app, entity }: AtEntity, ids: readonly string[]): Promise<Stored[]> {
  const known = ids.filter((id) => idOrNull(id) !== null);
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and id = any(${known}::uuid[]) and entity_name = ${entity.name} and deleted_date is null
    order by id for no key update`.execute(db);
  return rows.map(stored);
}

/** One in the trash, held. */
export async function lockTrashed(db: Db, { app, entity }: AtEntity, id: string) {
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and id = ${idOrNull(id)} and entity_name = ${entity.name} and deleted_date is not null
    for no key update`.execute(db);
  return one(rows);
}

/** What becomes of a record, and what is told of it. */
export interface Write {
  readonly record: Subject;
  readonly gone: readonly KeyRow[];
  readonly added: readonly KeyRow[];
  readonly event: EventRow;
}

const insertEvent = `insert into events (id, name, payload, occurred_at)`;

const savedPlain = prepared<{ id: string }, [string, string, number, string, string, string, string, string, Date]>(
  'entity_record_save',
  `with changed as (
     update entity_records set data = $4, updated_date = $5, version = version + 1
     where app_id = $1 and id = $2 and version = $3 and deleted_date is null
     returning id)
   ${insertEvent} select $6::uuid, $7::text, $8::jsonb, $9::timestamptz from changed returning id`,
);

const goneKeys = (from: number) => `delete from entity_keys k
     using unnest($${from}::text[], $${from + 1}::bytea[], $${from + 2}::timestamptz[], $${from + 3}::uuid[])
       as g(key, value, created_date, record_id)
     where k.app_id = $1 and k.entity_name = $2 and k.key = g.key and k.value = g.value
       and k.created_date = g.created_date and k.record_id = g.record_id`;

const addedKeys = (
  from: number,
  where = '',
) => `insert into entity_keys (app_id, entity_name, key, value, created_date, record_id, is_unique)
     select $1::uuid, $2::text, a.key, a.value, a.created_date, a.record_id, a.is_unique
     from unnest($${from}::text[], $${from + 1}::bytea[], $${from + 2}::timestamptz[], $${from + 3}::uuid[], $${from + 4}::boolean[])
       as a(key, value, created_date, record_id, is_unique) ${where}
     on conflict (app_id, entity_name, key, value, created_date, record_id) do nothing`;

const events = (from: number) => `${insertEvent}
     select e.id, $${from + 2}::text, e.payload::jsonb, $${from + 3}::timestamptz from unnest($${from}::uuid[], $${from + 1}::text[]) as e(id, payload)`;

type Values = unknown[];
const keyValues = (writes: readonly Write[], which: 'gone' | 'added'): Values => {
  const rows = writes.flatMap(({ record, [which]: keys }) => keys.map((key) => ({ record, key })));
  return [
    rows.map(({ key }) => key.key),
    rows.map(({ key }) => key.value),
    rows.map(({ record }) => record.created_date),
    rows.map(({ record }) => record.id),
    ...(which === 'added' ? [rows.map(({ key }) => key.is_unique)] : []),
  ];
};
const eventValues = (writes: readonly Write[]): Values => {
  const [first] = writes;
  return [
    writes.map(({ event }) => event.id),
    writes.map(({ event }) => event.payload),
    first?.event.name,
    first?.event.occurred_at,
  ];
};
const ids = (writes: readonly Write[]) => writes.map(({ record }) => record.id);
const texts = (writes: readonly Write[]) => writes.map(({ record }) => JSON.stringify(record.data));

const insertedAll = prepared<{ id: string }, readonly unknown[]>(
  'entity_records_insert',
  // Who deletes the schema meanwhile is waited for, and then nothing is made. `User` needs none.
  `with declared as (select from entity_schemas where app_id = $1 and name = $2 for key share),
   entity as (select from declared union all select where $2::text = 'User'),
   made as (
     insert into entity_records (app_id, entity_name, id, data, created_by, created_by_id, created_date, updated_date)
     select $1::uuid, $2::text, n.id, n.data::jsonb, $3::text, $4::text, $5::timestamptz, $5::timestamptz from unnest($6::uuid[], $7::text[]) as n(id, data)
     where exists (select from entity)),
   added as (${addedKeys(8, 'where exists (select from entity)')})
   ${events(13)} where exists (select from entity) returning id`,
);

/** New records of one creator and moment; false when there is no such entity any more. */
export async function insertRecords(db: Db, { app, entity }: AtEntity, writes: readonly Write[]): Promise<boolean> {
  const [first] = writes;
  if (first === undefined) return true;
  const { created_by, created_by_id, created_date } = first.record;
  const inserted = await insertedAll(
    db,
    app.id,
    entity.name,
    created_by,
    created_by_id,
    created_date,
    ids(writes),
    texts(writes),
    ...keyValues(writes, 'added'),
    ...eventValues(writes),
  );
  return inserted.length > 0;
}

const savedKeyed = prepared<{ id: string }, readonly unknown[]>(
  'entity_record_save_keyed',
  `with changed as (
     update entity_records set data = $5, updated_date = $6, version = version + 1
     where app_id = $1 and entity_name = $2 and id = $3 and version = $4 and deleted_date is null
     returning id),
   gone as (${goneKeys(7)} and exists (select from changed)),
   added as (${addedKeys(11, 'where exists (select from changed)')})
   ${events(16)} where exists (select from changed) returning id`,
);

/** Saves a change decided on this version of the record; false when it has moved on since. */
export async function saveRecord(db: Db, access: AtEntity, version: number, write: Write): Promise<boolean> {
  const { record, event, gone, added } = write;
  const { app, entity } = access;
  const data = JSON.stringify(record.data);
  if (gone.length === 0 && added.length === 0) {
    const { id, name, payload, occurred_at } = event;
    const saved = await savedPlain(
      db,
      app.id,
      record.id,
      version,
      data,
      record.updated_date,
      id,
      name,
      payload,
      occurred_at,
    );
    return saved.length > 0;
  }
  const saved = await savedKeyed(
    db,
    app.id,
    entity.name,
    record.id,
    version,
    data,
    record.updated_date,
    ...keyValues([write], 'gone'),
    ...keyValues([write], 'added'),
    ...eventValues([write]),
  );
  return saved.length > 0;
}

const removedKeys = prepared<object, readonly unknown[]>('entity_keys_remove', goneKeys(3));

const savedAll = prepared<object, readonly unknown[]>(
  'entity_records_save',
  `with changed as (
     update entity_records r set data = n.data::jsonb, updated_date = $3, version = r.version + 1, deleted_date = null
     from unnest($4::uuid[], $5::text[]) as n(id, data)
     where r.app_id = $1 and r.entity_name = $2 and r.id = n.id),
   added as (${addedKeys(6)})
   ${events(11)}`,
);

/** Saves records that are held; one that was in the trash is back. Values are given up first, so that they may be swapped. */
export async function saveRecords(db: Db, { app, entity }: AtEntity, writes: readonly Write[]): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  await removedKeys(db, app.id, entity.name, ...keyValues(writes, 'gone'));
  await savedAll(
    db,
    app.id,
    entity.name,
    first.record.updated_date,
    ids(writes),
    texts(writes),
    ...keyValues(writes, 'added'),
    ...eventValues(writes),
  );
}

const trashedAll = prepared<object, readonly unknown[]>(
  'entity_records_trash',
  `with changed as (
     update entity_records set deleted_date = $3, version = version + 1
     where app_id = $1 and entity_name = $2 and id = any($4::uuid[])),
   gone as (${goneKeys(5)})
   ${events(9)}`,
);

/** Puts records that are held in the trash. */
export async function trashRecords(
  db: Db,
  { app, entity }: AtEntity,
  writes: readonly Write[],
  now: Date,
): Promise<void> {
  if (writes.length === 0) return;
  await trashedAll(db, app.id, entity.name, now, ids(writes), ...keyValues(writes, 'gone'), ...eventValues(writes));
}

/** For good. Its keys went when it was put in the trash. */
export async function removeRecord(db: Db, { app, entity }: AtEntity, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('entity_records')
    .where('app_id', '=', app.id)
    .where('entity_name', '=', entity.name)
    .where('id', '=', idOrNull(id))
    .where('deleted_date', 'is not', null)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** The next of an entity's records that are not in the trash, held. */
export async function lockSome(
  db: Db,
  { app }: AppAccess,
  name: string,
  after: Stored | undefined,
  limit: number,
): Promise<Stored[]> {
  const { rows } = await sql<RecordRow>`select ${sql.raw(columns)} from entity_records
    where app_id = ${app.id} and entity_name = ${name} and deleted_date is null
      and (created_date, id) > (${after?.created_date ?? '-infinity'}::timestamptz, ${after?.id ?? noId}::uuid)
    order by created_date, id limit ${limit} for no key update`.execute(db);
  return rows.map(stored);
}
