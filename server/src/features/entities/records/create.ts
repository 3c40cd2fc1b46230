// Owns the making of records, one or many (docs/contract.md §5.3).

import type { EventWriter } from '../../../events.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Fault } from '../../../kit/http/faults.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import {
  buildNewData,
  buildNewRecord,
  collectFaults,
  type RecordInput,
  refuseCreate,
  refuseIfNeverAllowed,
} from './change.ts';
import { type PresentedRecord, presentWrittenRecord, type RecordAccess } from './record.ts';
import { insertRecords } from './store/records.ts';
import { auditUserEntityWrite, persist, prepareWrite } from './write.ts';

export async function createRecord(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  sent: RecordInput,
  now: Date,
): Promise<Answer<PresentedRecord>> {
  const { shown, ignored } = await createAll(db, events, access, [{ sent, loc: ['body'] }], now);
  return withNotes(shown[0] as PresentedRecord, { ignored });
}

export async function createRecords(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  all: readonly RecordInput[],
  now: Date,
): Promise<Answer<PresentedRecord[]>> {
  const items = all.map((sent, index) => ({ sent, loc: ['body', index] }));
  const { shown, ignored } = await createAll(db, events, access, items, now);
  return withNotes(shown, { ignored, ...(all.length === 0 && { changed: false }) });
}

/** One that is refused refuses all. */
export async function createAll(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  items: readonly { sent: RecordInput; loc: Fault['loc'] }[],
  now: Date,
): Promise<{ shown: PresentedRecord[]; ignored: string[] }> {
  refuseIfNeverAllowed(access, 'create');
  const { result: datas, ignored } = collectFaults((found) =>
    items.map(({ sent, loc }) => buildNewData(access, sent, loc, found)),
  );
  const records = datas.map((data) => buildNewRecord(access, data, now));
  for (const [index, record] of records.entries()) refuseCreate(access, record, items[index]?.sent ?? {});
  const writes = records.map((after) => prepareWrite(events, access, 'entity.created', { before: null, after }, now));
  if (writes.length > 0) {
    await auditUserEntityWrite(db, access, now, (db) =>
      persist(db, events, access, writes, async (db) => {
        if (!(await insertRecords(db, access, writes))) throw notFound('entity_not_found');
      }),
    );
  }
  return {
    shown: records.map((record, index) => presentWrittenRecord(access, record, items[index]?.sent ?? {})),
    ignored,
  };
}
