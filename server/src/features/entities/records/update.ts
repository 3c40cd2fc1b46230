// Owns the changing of records (docs/contract.md §5.5). What is left out stays; of two changes of one field at once, the
// one that commits later stands; changes of different fields both do.
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Subject } from '../rules/rule.ts';
import { isSettled } from '../schemas/schema-cache.ts';
import { changedData, isThere, noSuchRecord, refuseChange, refuseUncovered, type Sent, settled } from './change.ts';
import { presentChanged, type RecordAccess, type Shown, type Stored } from './record.ts';
import {
  findRecord,
  firstRead,
  lockRecord,
  lockRecords,
  type RecordFound,
  saveRecord,
  saveRecords,
} from './store/records.ts';
import { noticed, stored, writeOf } from './write.ts';

const optimisticTries = 3;

export function updateRecord(
  db: Db,
  telling: EventWriter,
  access: RecordAccess & { readonly record?: RecordFound | null },
  id: string,
  sent: Sent,
  now: Date,
): Promise<Answer<Shown>> {
  return noticed(db, access, now, async (db) => {
    // Decided on a version and saved if it is still that one: a read and a write, and no lock in between. While keys are
    // being built the record may have got one that the statement of the write does not see: then it is held first.
    for (let tries = isSettled(access.entity) ? 0 : optimisticTries; tries < optimisticTries; tries += 1) {
      const record = tries === 0 ? await firstRead(db, access, id) : await findRecord(db, access, id);
      const answer = await updateOnce(db, telling, access, record, sent, now);
      if (answer !== undefined) return answer;
    }
    // So many write to it that it moved on each time: now in turn.
    return transaction(db, async (db) => {
      const answer = await updateOnce(db, telling, access, await lockRecord(db, access, id), sent, now);
      if (answer === undefined) throw new Error('a record changed while it was held');
      return answer;
    });
  });
}

/** Undefined when the record has moved on since it was read. */
async function updateOnce(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  before: Stored | undefined,
  sent: Sent,
  now: Date,
): Promise<Answer<Shown> | undefined> {
  if (before === undefined) throw noSuchRecord();
  refuseUncovered(access, before, 'update');
  const { result: data, ignored } = settled((found) => changedData(access, before, sent, ['body'], found));
  const after = changed(before, data, now);
  refuseChange(access, before, after, sent);
  const write = writeOf(telling, access, 'entity.updated', { before, after }, now);
  const isSaved = await stored(db, telling, access, [write], (db) => saveRecord(db, access, before.version, write));
  if (!isSaved) return undefined;
  return withNotes(presentChanged(access, after, sent), {
    ignored,
    ...(write.changed.length === 0 && { changed: false }),
  });
}

const changed = (before: Subject, data: Subject['data'], now: Date): Subject => ({
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
  telling: EventWriter,
  access: RecordAccess,
  items: readonly Sent[],
  now: Date,
): Promise<Answer<Shown[]>> {
  const ids = idsOf(items);
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      const held = new Map((await lockRecords(db, access, ids)).map((record) => [record.id, record]));
      const missing = ids.findIndex((id) => !isThere(access, held.get(id), 'update'));
      if (missing >= 0)
        throw new Problem('not_found', 'record_not_found', `There is no such record: number ${missing} of the list.`);
      const targets = ids.map((id, index) => {
        const { id: _, ...sent } = items[index] as Sent;
        return { before: held.get(id) as Stored, sent, loc: ['body', index] };
      });
      for (const { before } of targets) refuseUncovered(access, before, 'update');
      const { shown, ignored } = await changeHeld(db, telling, access, targets, now);
      return withNotes(shown, { ignored });
    }),
  );
}

export interface Target {
  readonly before: Stored;
  readonly sent: Sent;
  readonly loc: readonly (string | number)[];
}

/** Changes records that are held and covered: the same steps as for one, each for all of them. */
export async function changeHeld(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  targets: readonly Target[],
  now: Date,
): Promise<{ shown: Shown[]; ignored: string[] }> {
  const { result: datas, ignored } = settled((found) =>
    targets.map(({ before, sent, loc }) => changedData(access, before, sent, loc, found)),
  );
  const afters = targets.map(({ before }, index) => changed(before, datas[index] as Subject['data'], now));
  for (const [index, { before, sent }] of targets.entries())
    refuseChange(access, before, afters[index] as Subject, sent);
  const writes = targets.map(({ before }, index) =>
    writeOf(telling, access, 'entity.updated', { before, after: afters[index] as Subject }, now),
  );
  await stored(db, telling, access, writes, (db) => saveRecords(db, access, writes));
  return {
    shown: targets.map(({ sent }, index) => presentChanged(access, afters[index] as Subject, sent)),
    ignored,
  };
}

function idsOf(items: readonly Sent[]): string[] {
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
