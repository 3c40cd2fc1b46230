// Stores a change to records. The record, its keys and its event are stored together or not at all.
import { audit } from '../../../core/audit/audit.ts';
import type { StoredEvents } from '../../../core/storage/delivered.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import { recordRowBytes } from '../../../core/storage/usage.ts';
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { DataRecord } from '../rules/rule.ts';
import { diffKeys } from '../schemas/keys.ts';
import { listChangedFields } from './change.ts';
import {
  type BuilderAccess,
  buildRecordEvent,
  type RecordAccess,
  type RecordEventName,
  type StoredRecord,
} from './record.ts';
import { hasRecordsWithFields } from './store/list.ts';
import { type RecordWrite, sumGrownBytes } from './store/records.ts';

export interface WriteDeps {
  readonly events: EventWriter;
  readonly storage: StorageQuota;
}

/**
 * The dependencies of bulk operations. `countBytes` charges the stored records that an operation touches to the byte
 * budget.
 */
export interface BulkDeps extends WriteDeps {
  countBytes(bytes: number): Promise<unknown>;
}

/** A record before and after a change. `before` is null for a new record, and `after` is null for a deleted one. */
export type RecordChange =
  | { readonly before: StoredRecord | null; readonly after: DataRecord }
  | { readonly before: StoredRecord; readonly after: null };

export function prepareWrite(
  { events }: WriteDeps,
  access: RecordAccess | BuilderAccess,
  name: RecordEventName,
  { before, after }: RecordChange,
  now: Date,
): RecordWrite & { readonly changed: string[] } {
  const { keys } = access.entity;
  const changed = before && after ? listChangedFields(access.entity, before, after) : [];
  const { removed, added } = diffKeys(keys, before, after);
  const event = buildRecordEvent(events, access, name, { before, after, changed }, now);
  return { ...measure(before, after), removedKeys: removed, addedKeys: added, event, changed };
}

/** The record to store, with its size. A deleted record's data stays unchanged. */
function measure(before: StoredRecord | null, after: DataRecord | null) {
  if (after === null) return { record: before as StoredRecord, dataText: '', sizeBytes: 0, grownBytes: 0 };
  const dataText = JSON.stringify(after.data);
  const sizeBytes = Buffer.byteLength(dataText);
  return { record: after, dataText, sizeBytes, grownBytes: sizeBytes - (before?.size_bytes ?? -recordRowBytes) };
}

/**
 * Runs a change's statements. Throws 402 if the records would exceed the workspace's storage quota. A unique key
 * violation becomes 409 `unique_conflict` with the field names.
 */
export async function persist<T>(
  db: Db,
  { events, storage }: WriteDeps,
  access: RecordAccess | BuilderAccess,
  { writes, work }: { readonly writes: readonly RecordWrite[]; readonly work: (db: Db) => Promise<T> },
  now: Date,
): Promise<T> {
  await refuseDuplicatesDuringBuild(db, access, writes);
  const admitting = storage.admit(db, access, sumGrownBytes(writes), now);
  if (admitting !== undefined) await admitting;
  const admittingEvents = storage.admitEvents(db, access, measureEvents(access, writes), now);
  if (admittingEvents !== undefined) await admittingEvents;
  try {
    const result = await work(db);
    events.published(db);
    return result;
  } catch (error) {
    const { constraint, detail = '' } = error as { constraint?: string; detail?: string };
    if (constraint !== 'entity_keys_unique') throw error;
    // The detail contains the key's name, such as `unique(shop,number)#7`.
    throw uniqueConflict(/unique\(([\w,]*)\)/.exec(detail)?.[1]?.split(',') ?? []);
  }
}

/** A body and a delivery, without the body's text (core/storage/stored-tables.ts). */
const deliveryBytes = 750;

/** What webhooks store of these changes. Deletions are left out, because they are never refused. */
function measureEvents({ app, entity }: RecordAccess | BuilderAccess, writes: readonly RecordWrite[]): StoredEvents {
  const events = writes.map(({ event }) => event).filter(({ name }) => name !== 'entity.deleted');
  const names = [...new Set(events.map(({ name }) => name))];
  const bytes = events.reduce((sum, { payload }) => sum + deliveryBytes + payload.length, 0);
  return { app_id: app.id, entity_name: entity.name, names, bytes };
}

/** While a unique key is being built, some records have no key row yet, so their data is compared instead. */
async function refuseDuplicatesDuringBuild(
  db: Db,
  access: RecordAccess | BuilderAccess,
  writes: readonly RecordWrite[],
): Promise<void> {
  const { keys, ready } = access.entity;
  for (const key of keys.filter((each) => each.isUnique && !ready.has(each.name))) {
    const isOfKey = (row: { key: string }) => row.key === key.name;
    const names = key.paths.flatMap((path) => (path.column === undefined ? path.names : []));
    const taking = writes.filter(({ addedKeys }) => addedKeys.some(isOfKey)).map(({ record }) => record.data);
    if (taking.length === 0) continue;
    const changing = writes.filter(
      ({ removedKeys, addedKeys }) => removedKeys.some(isOfKey) || addedKeys.some(isOfKey),
    );
    const ids = changing.map(({ record }) => record.id);
    if (await hasRecordsWithFields(db, access, names, taking, ids)) throw uniqueConflict(names);
  }
}

const uniqueConflict = (fields: readonly string[]) =>
  new Problem(
    'conflict',
    'unique_conflict',
    'Another record already has the same values in the fields listed in `fields`, which must be unique. Send different values.',
    {
      members: { fields },
      retrySafe: false,
    },
  );

/**
 * Runs the write, and audits it if the entity is `User`. `User` records are not the app's users, although the writer
 * may think so (docs/api/entities.md#the-user-entity).
 */
export function auditUserEntityWrite<T>(
  db: Db,
  access: RecordAccess | BuilderAccess,
  work: (db: Db) => Promise<T>,
  now: Date,
): Promise<T> {
  const { app, entity } = access;
  if (entity.name !== 'User') return work(db);
  return transaction(db, async (db) => {
    const result = await work(db);
    const target = { kind: 'entity', id: entity.name };
    await audit(db, access, { type: 'record.user_entity_written', target, app_id: app.id }, now);
    return result;
  });
}
