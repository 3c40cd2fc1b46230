// Deletes records: moving them to the trash for 30 days, restoring them, and deleting them permanently
// (docs/api/entities.md#trash).
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
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        const record = await lockRecord(db, access, id);
        if (record === undefined) throw recordNotFound();
        await refuseIfNotAllowed(db, access, record, 'delete');
        await trashLockedRecords(db, deps, access, [record], now);
        return { success: true } as const;
      }),
    now,
  );
}

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
  await persist(db, deps, access, { writes, work: (db) => trashRecords(db, access, writes, now) }, now);
}

/** Restores a record with its previous data. Publishes `entity.created`. */
export function restoreRecord(db: Db, deps: WriteDeps, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        const record = await lockTrashedRecord(db, access, id);
        if (record === undefined) throw recordNotFound();
        const after = { ...record, updated_date: now.toISOString() };
        const created = prepareWrite(deps, access, 'entity.created', { before: null, after }, now);
        const write = { ...created, grownBytes: created.sizeBytes - record.size_bytes };
        await persist(db, deps, access, { writes: [write], work: (db) => saveRecords(db, access, [write]) }, now);
        return presentWholeRecord(access, after);
      }),
    now,
  );
}

/** Permanently deletes a record, whether or not it is in the trash. */
export function purgeRecord(db: Db, deps: WriteDeps, access: BuilderAccess, id: string, now: Date) {
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        const record = await lockRecord(db, access, id);
        if (record !== undefined) await trashLockedRecords(db, deps, access, [record], now);
        if (!(await removeRecord(db, access, id))) throw recordNotFound();
        const target = { kind: 'record', id };
        await audit(db, access, { type: 'record.purged', target, app_id: access.app.id }, now);
        return { success: true } as const;
      }),
    now,
  );
}

const maxBatch = { records: 100, bytes: 1024 * 1024 };

/** Moves all of an entity's records to the trash before its schema is deleted. */
export async function trashAllRecords(
  db: Db,
  deps: BulkDeps & { readonly findEntity: FindEntity },
  access: AppAccess,
  name: string,
  now: Date,
): Promise<void> {
  const entity = await deps.findEntity(db, access, name, now);
  if (entity === undefined) return;
  let after: RecordPosition | undefined;
  for (;;) {
    const upTo = await findBatchEnd(db, access, name, maxBatch, after);
    if (upTo === undefined) return;
    const records = await lockRecordsBetween(db, access, name, upTo, after);
    void deps.countBytes(records.reduce((sum, { size_bytes }) => sum + size_bytes, 0));
    await trashLockedRecords(db, deps, { ...access, entity }, records, now);
    after = upTo;
  }
}
