// Creates one or many records (docs/api/entities.md#create-records).
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Fault } from '../../../kit/http/faults.ts';
import { notFound } from '../../../kit/problem.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import {
  buildNewData,
  buildNewRecord,
  collectFaultsOfEach,
  type RecordInput,
  refuseCreate,
  refuseIfNeverAllowed,
} from './change.ts';
import { type PresentedRecord, presentWrittenRecord, type RecordAccess } from './record.ts';
import { insertRecords } from './store/records.ts';
import { auditUserEntityWrite, persist, prepareWrite, type WriteDeps } from './write.ts';

export async function createRecord(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess,
  input: RecordInput,
  now: Date,
): Promise<Answer<PresentedRecord>> {
  const { presented, ignored } = await createAll(db, deps, access, [{ input, loc: ['body'] }], now);
  return withNotes(presented[0] as PresentedRecord, { ignored });
}

export async function createRecords(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess,
  inputs: readonly RecordInput[],
  now: Date,
): Promise<Answer<PresentedRecord[]>> {
  const items = inputs.map((input, index) => ({ input, loc: ['body', index] }));
  const { presented, ignored } = await createAll(db, deps, access, items, now);
  return withNotes(presented, { ignored, ...(inputs.length === 0 && { changed: false }) });
}

/** Creates all records, or none if one is rejected. */
export async function createAll(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess,
  items: readonly { input: RecordInput; loc: Fault['loc'] }[],
  now: Date,
): Promise<{ presented: PresentedRecord[]; ignored: string[] }> {
  refuseIfNeverAllowed(access, 'create');
  const { results: created, ignored } = await collectFaultsOfEach(items, ({ input, loc }, validation) => {
    const data = buildNewData(access, input, loc, validation);
    return { input, record: buildNewRecord(access, data, now) };
  });
  await mapInSlices(created, ({ input, record }) => refuseCreate(access, record, input));
  // Records are presented before anything is stored, because evaluating the read rules may exceed the step budget.
  const presented = await mapInSlices(created, ({ input, record }) => presentWrittenRecord(access, record, input));
  const writes = await mapInSlices(created, ({ record }) =>
    prepareWrite(deps, access, 'entity.created', { before: null, after: record }, now),
  );
  if (writes.length > 0) {
    await auditUserEntityWrite(
      db,
      access,
      (db) =>
        persist(
          db,
          deps,
          access,
          {
            writes,
            work: async (db) => {
              if (!(await insertRecords(db, access, writes))) throw notFound('entity_not_found');
            },
          },
          now,
        ),
      now,
    );
  }
  return { presented, ignored };
}
