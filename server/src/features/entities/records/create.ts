// Owns the making of records, one or many (docs/contract.md §5.3).

import type { EventWriter } from '../../../events.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Fault } from '../../../kit/http/faults.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { newData, newRecord, refuseClosed, refuseCreation, type Sent, settled } from './change.ts';
import { presentChanged, type RecordAccess, type Shown } from './record.ts';
import { insertRecords } from './store/records.ts';
import { noticed, stored, writeOf } from './write.ts';

export async function createRecord(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  sent: Sent,
  now: Date,
): Promise<Answer<Shown>> {
  const { shown, ignored } = await createAll(db, telling, access, [{ sent, loc: ['body'] }], now);
  return withNotes(shown[0] as Shown, { ignored });
}

export async function createRecords(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  all: readonly Sent[],
  now: Date,
): Promise<Answer<Shown[]>> {
  const items = all.map((sent, index) => ({ sent, loc: ['body', index] }));
  const { shown, ignored } = await createAll(db, telling, access, items, now);
  return withNotes(shown, { ignored, ...(all.length === 0 && { changed: false }) });
}

/** One that is refused refuses all. */
export async function createAll(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  items: readonly { sent: Sent; loc: Fault['loc'] }[],
  now: Date,
): Promise<{ shown: Shown[]; ignored: string[] }> {
  refuseClosed(access, 'create');
  const { result: datas, ignored } = settled((found) =>
    items.map(({ sent, loc }) => newData(access, sent, loc, found)),
  );
  const records = datas.map((data) => newRecord(access, data, now));
  for (const [index, record] of records.entries()) refuseCreation(access, record, items[index]?.sent ?? {});
  const writes = records.map((after) => writeOf(telling, access, 'entity.created', { before: null, after }, now));
  if (writes.length > 0) {
    await noticed(db, access, now, (db) =>
      stored(db, telling, access, writes, async (db) => {
        if (!(await insertRecords(db, access, writes))) throw notFound('entity_not_found');
      }),
    );
  }
  return { shown: records.map((record, index) => presentChanged(access, record, items[index]?.sent ?? {})), ignored };
}
