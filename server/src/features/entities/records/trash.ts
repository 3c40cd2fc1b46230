// Owns the end of records: into the trash for 30 days, back from it, and for good (docs/contract.md §5.3).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import { noSuchRecord, refuseUncovered } from './change.ts';
import { type BuilderAccess, type RecordAccess, type Stored, wholeRecord } from './record.ts';
import { lockRecord, lockSome, lockTrashed, removeRecord, saveRecords, trashRecords } from './store/records.ts';
import { noticed, stored, writeOf } from './write.ts';

export function deleteRecord(db: Db, telling: EventWriter, access: RecordAccess, id: string, now: Date) {
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record === undefined) throw noSuchRecord();
      refuseUncovered(access, record, 'delete');
      await trashHeld(db, telling, access, [record], now);
      return { success: true } as const;
    }),
  );
}

/** Puts records that are held in the trash. */
export async function trashHeld(
  db: Db,
  telling: EventWriter,
  access: RecordAccess | BuilderAccess,
  records: readonly Stored[],
  now: Date,
): Promise<void> {
  const writes = records.map((before) => writeOf(telling, access, 'entity.deleted', { before, after: null }, now));
  await stored(db, telling, access, writes, (db) => trashRecords(db, access, writes, now));
}

/** Comes back as it was, told as created. */
export function restoreRecord(db: Db, telling: EventWriter, access: BuilderAccess, id: string, now: Date) {
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockTrashed(db, access, id);
      if (record === undefined) throw noSuchRecord();
      const after = { ...record, updated_date: now.toISOString() };
      const write = writeOf(telling, access, 'entity.created', { before: null, after }, now);
      await stored(db, telling, access, [write], (db) => saveRecords(db, access, [write]));
      return wholeRecord(access, after);
    }),
  );
}

/** For good, from the trash or past it. */
export function purgeRecord(db: Db, telling: EventWriter, access: BuilderAccess, id: string, now: Date) {
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      const record = await lockRecord(db, access, id);
      if (record !== undefined) await trashHeld(db, telling, access, [record], now);
      if (!(await removeRecord(db, access, id))) throw noSuchRecord();
      const target = { kind: 'record', id };
      await audit(db, access, { type: 'record.purged', target, app_id: access.app.id }, now);
      return { success: true } as const;
    }),
  );
}

const batch = 500;

/** All records of an entity whose schema is to go. */
export const throwAwayWith =
  (telling: EventWriter, find: FindEntity) =>
  async (db: Db, access: AppAccess, name: string, now: Date): Promise<void> => {
    const entity = await find(db, access, name, now);
    if (entity === undefined) return;
    let records: Stored[] = [];
    do {
      records = await lockSome(db, access, name, records.at(-1), batch);
      await trashHeld(db, telling, { ...access, entity }, records, now);
    } while (records.length === batch);
  };
