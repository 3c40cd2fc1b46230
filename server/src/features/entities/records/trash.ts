// Owns deleting records: into the trash for 30 days, back from it, and permanently (docs/api/entities.md#trash).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import { recordNotFound, refuseIfNotAllowed } from './change.ts';
import { type BuilderAccess, presentWholeRecord, type RecordAccess, type StoredRecord } from './record.ts';
import {
  lockNextRecords,
  lockRecord,
  lockTrashedRecord,
  removeRecord,
  saveRecords,
  trashRecords,
} from './store/records.ts';
import { auditUserEntityWrite, persist, prepareWrite } from './write.ts';

export function deleteRecord(db: Db, events: EventWriter, access: RecordAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record === undefined) throw recordNotFound();
      await refuseIfNotAllowed(db, access, record, 'delete');
      await trashLockedRecords(db, events, access, [record], now);
      return { success: true } as const;
    }),
  );
}

/** Moves locked records to the trash. */
export async function trashLockedRecords(
  db: Db,
  events: EventWriter,
  access: RecordAccess | BuilderAccess,
  records: readonly StoredRecord[],
  now: Date,
): Promise<void> {
  const writes = records.map((before) => prepareWrite(events, access, 'entity.deleted', { before, after: null }, now));
  await persist(db, events, access, writes, (db) => trashRecords(db, access, writes, now));
}

/** Restores a record as it was. Publishes `entity.created`. */
export function restoreRecord(db: Db, events: EventWriter, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockTrashedRecord(db, access, id);
      if (record === undefined) throw recordNotFound();
      const after = { ...record, updated_date: now.toISOString() };
      const write = prepareWrite(events, access, 'entity.created', { before: null, after }, now);
      await persist(db, events, access, [write], (db) => saveRecords(db, access, [write]));
      return presentWholeRecord(access, after);
    }),
  );
}

/** Deletes a record permanently, whether it is in the trash or not. */
export function purgeRecord(db: Db, events: EventWriter, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record !== undefined) await trashLockedRecords(db, events, access, [record], now);
      if (!(await removeRecord(db, access, id))) throw recordNotFound();
      const target = { kind: 'record', id };
      await audit(db, access, { type: 'record.purged', target, app_id: access.app.id }, now);
      return { success: true } as const;
    }),
  );
}

const batchSize = 500;

/** Moves all records of an entity to the trash, before its schema is deleted. */
export async function trashAllRecords(
  { events, findEntity }: { events: EventWriter; findEntity: FindEntity },
  db: Db,
  access: AppAccess,
  name: string,
  now: Date,
): Promise<void> {
  const entity = await findEntity(db, access, name, now);
  if (entity === undefined) return;
  let records: StoredRecord[] = [];
  do {
    records = await lockNextRecords(db, access, name, records.at(-1), batchSize);
    await trashLockedRecords(db, events, { ...access, entity }, records, now);
  } while (records.length === batchSize);
}
