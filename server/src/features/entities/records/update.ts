// Owns the changing of records (docs/contract.md §5.5). What is left out stays; of two changes of one field at once, the
// one that commits later stands; changes of different fields both do.
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { DataRecord } from '../rules/rule.ts';
import { hasAllKeysBuilt } from '../schemas/schema-cache.ts';
import {
  collectFaults,
  mayKnowOf,
  mergeData,
  type RecordInput,
  recordNotFound,
  refuseIfNotAllowed,
  refuseUpdate,
} from './change.ts';
import { type PresentedRecord, presentWrittenRecord, type RecordAccess, type StoredRecord } from './record.ts';
import {
  findPrefetchedRecord,
  findRecord,
  lockRecord,
  lockRecords,
  type PrefetchedRecord,
  saveRecord,
  saveRecords,
} from './store/records.ts';
import { auditUserEntityWrite, persist, prepareWrite } from './write.ts';

const maxOptimisticTries = 3;

export function updateRecord(
  db: Db,
  events: EventWriter,
  access: RecordAccess & { readonly record?: PrefetchedRecord | null },
  id: string,
  sent: RecordInput,
  now: Date,
): Promise<Answer<PresentedRecord>> {
  return auditUserEntityWrite(db, access, now, async (db) => {
    // Decided on a version and saved if it is still that one: a read and a write, and no lock in between. While keys are
    // being built the record may have got one that the statement of the write does not see: then it is held first.
    for (let tries = hasAllKeysBuilt(access.entity) ? 0 : maxOptimisticTries; tries < maxOptimisticTries; tries += 1) {
      const record = tries === 0 ? await findPrefetchedRecord(db, access, id) : await findRecord(db, access, id);
      const answer = await updateOnce(db, events, access, record, sent, now);
      if (answer !== undefined) return answer;
    }
    // So many write to it that it moved on each time: now in turn.
    return transaction(db, async (db) => {
      const answer = await updateOnce(db, events, access, await lockRecord(db, access, id), sent, now);
      if (answer === undefined) throw new Error('a record changed while it was held');
      return answer;
    });
  });
}

/** Undefined when the record has moved on since it was read. */
async function updateOnce(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  before: StoredRecord | undefined,
  sent: RecordInput,
  now: Date,
): Promise<Answer<PresentedRecord> | undefined> {
  if (before === undefined) throw recordNotFound();
  refuseIfNotAllowed(access, before, 'update');
  const { result: data, ignored } = collectFaults((found) => mergeData(access, before, sent, ['body'], found));
  const after = buildUpdatedRecord(before, data, now);
  refuseUpdate(access, before, after, sent);
  const write = prepareWrite(events, access, 'entity.updated', { before, after }, now);
  const isSaved = await persist(db, events, access, [write], (db) => saveRecord(db, access, before.version, write));
  if (!isSaved) return undefined;
  return withNotes(presentWrittenRecord(access, after, sent), {
    ignored,
    ...(write.changed.length === 0 && { changed: false }),
  });
}

const buildUpdatedRecord = (before: DataRecord, data: DataRecord['data'], now: Date): DataRecord => ({
  id: before.id,
  data,
  created_by: before.created_by,
  created_by_id: before.created_by_id,
  created_date: before.created_date,
  updated_date: now.toISOString(),
  is_sample: before.is_sample,
});

/** All or nothing; each step is taken for every record before the next. */
export function updateRecords(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  items: readonly RecordInput[],
  now: Date,
): Promise<Answer<PresentedRecord[]>> {
  const ids = parseIds(items);
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const held = new Map((await lockRecords(db, access, ids)).map((record) => [record.id, record]));
      const missing = ids.findIndex((id) => !mayKnowOf(access, held.get(id), 'update'));
      if (missing >= 0)
        throw new Problem('not_found', 'record_not_found', `There is no such record: number ${missing} of the list.`);
      const targets = ids.map((id, index) => {
        const { id: _, ...sent } = items[index] as RecordInput;
        return { before: held.get(id) as StoredRecord, sent, loc: ['body', index] };
      });
      for (const { before } of targets) refuseIfNotAllowed(access, before, 'update');
      const { shown, ignored } = await updateLockedRecords(db, events, access, targets, now);
      return withNotes(shown, { ignored });
    }),
  );
}

export interface RecordUpdate {
  readonly before: StoredRecord;
  readonly sent: RecordInput;
  readonly loc: readonly (string | number)[];
}

/** Changes records that are held and covered: the same steps as for one, each for all of them. */
export async function updateLockedRecords(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  targets: readonly RecordUpdate[],
  now: Date,
): Promise<{ shown: PresentedRecord[]; ignored: string[] }> {
  const { result: datas, ignored } = collectFaults((found) =>
    targets.map(({ before, sent, loc }) => mergeData(access, before, sent, loc, found)),
  );
  const afters = targets.map(({ before }, index) =>
    buildUpdatedRecord(before, datas[index] as DataRecord['data'], now),
  );
  for (const [index, { before, sent }] of targets.entries())
    refuseUpdate(access, before, afters[index] as DataRecord, sent);
  const writes = targets.map(({ before }, index) =>
    prepareWrite(events, access, 'entity.updated', { before, after: afters[index] as DataRecord }, now),
  );
  await persist(db, events, access, writes, (db) => saveRecords(db, access, writes));
  return {
    shown: targets.map(({ sent }, index) => presentWrittenRecord(access, afters[index] as DataRecord, sent)),
    ignored,
  };
}

function parseIds(items: readonly RecordInput[]): string[] {
  const seen = new Set<unknown>();
  const faults = items.flatMap(({ id }, index) => {
    const fault = (type: string, msg: string) => [{ loc: ['body', index, 'id'], type, msg }];
    if (id === undefined || id === null) return fault('missing', 'is required');
    if (typeof id !== 'string') return fault('string_type', 'must be a text');
    if (seen.has(id)) return fault('duplicate_items', 'must not repeat an id');
    seen.add(id);
    return [];
  });
  if (faults.length > 0) throw new ValidationError(faults);
  return items.map(({ id }) => id as string);
}
