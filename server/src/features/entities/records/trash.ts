// Owns deleting records: into the trash for 30 days, back from it, and permanently (docs/api/entities.md#trash).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import { recordNotFound, refuseIfNotAllowed } from './change.ts';
import { type BuilderAccess, presentWholeRecord, type RecordAccess, type StoredRecord } from './record.ts';
import {
  findBatchEnd,
  lockRecord,
  lockRecordsBetween,
  lockTrashedRecord,
  type RecordPosition,
  removeRecord,
  saveRecords,
  trashRecords,
} from './store/records.ts';
import { auditUserEntityWrite, type BulkDeps, persist, prepareWrite, type WriteDeps } from './write.ts';

export function deleteRecord(db: Db, deps: WriteDeps, access: RecordAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record === undefined) throw recordNotFound();
      await refuseIfNotAllowed(db, access, record, 'delete');
      await trashLockedRecords(db, deps, access, [record], now);
      return { success: true } as const;
    }),
  );
}

/** Moves locked records to the trash. */
export async function trashLockedRecords(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess | BuilderAccess,
  records: readonly StoredRecord[],
  now: Date,
): Promise<void> {
  const writes = await mapInSlices(records, (before) =>
    prepareWrite(deps, access, 'entity.deleted', { before, after: null }, now),
  );
  await persist(db, deps, access, writes, now, (db) => trashRecords(db, access, writes, now));
}

/** Restores a record as it was. Publishes `entity.created`. */
export function restoreRecord(db: Db, deps: WriteDeps, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockTrashedRecord(db, access, id);
      if (record === undefined) throw recordNotFound();
      const after = { ...record, updated_date: now.toISOString() };
      const created = prepareWrite(deps, access, 'entity.created', { before: null, after }, now);
      const write = { ...created, grownBytes: created.sizeBytes - record.size_bytes };
      await persist(db, deps, access, [write], now, (db) => saveRecords(db, access, [write]));
      return presentWholeRecord(access, after);
    }),
  );
}

/** Deletes a record permanently, whether it is in the trash or not. */
export function purgeRecord(db: Db, deps: WriteDeps, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record !== undefined) await trashLockedRecords(db, deps, access, [record], now);
      if (!(await removeRecord(db, access, id))) throw recordNotFound();
      const target = { kind: 'record', id };
      await audit(db, access, { type: 'record.purged', target, app_id: access.app.id }, now);
      return { success: true } as const;
    }),
  );
}

const maxBatch = { records: 100, bytes: 1024 * 1024 };

/** Moves all records of an entity to the trash, before its schema is deleted. */
export async function trashAllRecords(
  deps: BulkDeps & { readonly findEntity: FindEntity },
  db: Db,
  access: AppAccess,
  name: string,
  now: Date,
): Promise<void> {
  const entity = await deps.findEntity(db, access, name, now);
  if (entity === undefined) return;
  let after: RecordPosition | undefined;
  for (;;) {
    const upTo = await findBatchEnd(db, access, name, after, maxBatch);
    if (upTo === undefined) return;
    const records = await lockRecordsBetween(db, access, name, after, upTo);
    void deps.countBytes(records.reduce((sum, { size_bytes }) => sum + size_bytes, 0));
    await trashLockedRecords(db, deps, { ...access, entity }, records, now);
    after = upTo;
  }
}
