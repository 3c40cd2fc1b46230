// Updates records (docs/api/entities.md#update-a-record). Fields that are not sent keep their values. Concurrent
// updates to different fields all take effect. For the same field, the last commit wins.
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import type { DataRecord } from '../rules/rule.ts';
import { hasAllKeysBuilt } from '../schemas/schema-cache.ts';
import {
  collectFaults,
  collectFaultsOfEach,
  isAllowed,
  mayKnowOf,
  mergeData,
  type RecordInput,
  recordNotFound,
  refuseIfNotAllowed,
  refuseUpdate,
  ruleDenied,
} from './change.ts';
import {
  mayReadFields,
  type PresentedRecord,
  presentWrittenRecord,
  type RecordAccess,
  type StoredRecord,
  withRuleChecks,
} from './record.ts';
import {
  findPrefetchedRecord,
  findRecord,
  lockRecord,
  lockRecords,
  type PrefetchedRecord,
  saveRecord,
  saveRecords,
  sumRecordSizes,
} from './store/records.ts';
import { auditUserEntityWrite, type BulkDeps, persist, prepareWrite, type WriteDeps } from './write.ts';

const maxOptimisticTries = 3;

/**
 * Uses optimistic locking. Decides based on the version that was read, and saves only if the record still has that
 * version, so no lock is held in between. After three conflicts the record is locked instead. It is also locked while
 * keys are being built, because the build may add a key row that the write's statement does not see. Each attempt has
 * its own step budget, so concurrent changes can't make a request exceed it.
 */
export function updateRecord(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess & { readonly record?: PrefetchedRecord | null },
  { id, input }: { readonly id: string; readonly input: RecordInput },
  now: Date,
): Promise<Answer<PresentedRecord>> {
  return auditUserEntityWrite(
    db,
    access,
    async (db) => {
      for (
        let tries = hasAllKeysBuilt(access.entity) ? 0 : maxOptimisticTries;
        tries < maxOptimisticTries;
        tries += 1
      ) {
        const record = tries === 0 ? await findPrefetchedRecord(db, access, id) : await findRecord(db, access, id);
        const answer = await updateVersion(db, deps, withRuleChecks(access), { before: record, input }, now);
        if (answer !== undefined) return answer;
      }
      return transaction(db, async (db) => {
        const record = await lockRecord(db, access, id);
        const answer = await updateVersion(db, deps, withRuleChecks(access), { before: record, input }, now);
        if (answer === undefined) throw new Error('a locked record changed');
        return answer;
      });
    },
    now,
  );
}

/** Returns undefined if the record no longer has the version that was read. */
async function updateVersion(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess,
  { before, input }: { readonly before: StoredRecord | undefined; readonly input: RecordInput },
  now: Date,
): Promise<Answer<PresentedRecord> | undefined> {
  if (before === undefined) throw recordNotFound();
  await refuseIfNotAllowed(db, access, before, 'update');
  const { result: data, ignored } = collectFaults((validation) =>
    mergeData(access, before, input, ['body'], validation),
  );
  const after = buildUpdatedRecord(before, data, now);
  refuseUpdate(access, before, after, input);
  // The record is presented before anything is stored, because evaluating the read rules may exceed the step budget.
  const presented = presentWrittenRecord(access, after, input);
  const write = prepareWrite(deps, access, 'entity.updated', { before, after }, now);
  // Reporting that nothing changed would confirm a guess at values that the caller may write but not read.
  const saysUnchanged = write.changed.length === 0 && mayReadFields(access, before, Object.keys(input));
  const isSaved = await persist(
    db,
    deps,
    access,
    { writes: [write], work: (db) => saveRecord(db, access, before.version, write) },
    now,
  );
  if (!isSaved) return undefined;
  return withNotes(presented, { ignored, ...(saysUnchanged && { changed: false }) });
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

/**
 * Updates all records or none. Each check runs on all records before the next check starts, so the error is always from
 * the first check that fails.
 */
export function updateRecords(
  db: Db,
  deps: BulkDeps,
  access: RecordAccess,
  items: readonly RecordInput[],
  now: Date,
): Promise<Answer<PresentedRecord[]>> {
  const ids = parseIds(items);
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        const locked = new Map((await lockManyRecords(db, deps, access, ids)).map((record) => [record.id, record]));
        const updates: RecordUpdate[] = [];
        for (const [index, { id: _, ...input }] of items.entries()) {
          const before = locked.get(ids[index] ?? '');
          if (before === undefined || !(await mayKnowOf(db, access, before, 'update')))
            throw recordAtIndexNotFound(index);
          updates.push({ before, input, loc: ['body', index] });
        }
        if (!updates.every(({ before }) => isAllowed(access, before, 'update')))
          throw ruleDenied(access.entity, 'update');
        const { presented, ignored } = await updateLockedRecords(db, deps, access, updates, now);
        return withNotes(presented, { ignored });
      }),
    now,
  );
}

const maxStoredBytes = 32 * 1024 * 1024;

/**
 * Locks records that are changed together. Throws 413 if they are too large, because all of them are held in memory.
 */
export async function lockManyRecords(
  db: Db,
  { countBytes }: BulkDeps,
  access: RecordAccess,
  ids: readonly string[],
): Promise<StoredRecord[]> {
  const bytes = await sumRecordSizes(db, access, ids);
  void countBytes(bytes);
  if (bytes <= maxStoredBytes) return lockRecords(db, access, ids);
  throw new Problem(
    'too_large',
    'payload_too_large',
    'The stored records that this request would change are too large in total. Send fewer records at a time.',
    { members: { limit_bytes: maxStoredBytes } },
  );
}

const recordAtIndexNotFound = (index: number) =>
  new Problem(
    'not_found',
    'record_not_found',
    `The record at index ${index} doesn't exist, or you can't access it. Nothing was changed. Check its id.`,
  );

export interface RecordUpdate {
  readonly before: StoredRecord;
  readonly input: RecordInput;
  readonly loc: readonly (string | number)[];
}

/** Updates locked records that the update rule allows. Each step runs for all records before the next step starts. */
export async function updateLockedRecords(
  db: Db,
  deps: WriteDeps,
  access: RecordAccess,
  updates: readonly RecordUpdate[],
  now: Date,
): Promise<{ presented: PresentedRecord[]; ignored: string[] }> {
  const { results: changes, ignored } = await collectFaultsOfEach(updates, ({ before, input, loc }, validation) => {
    const data = mergeData(access, before, input, loc, validation);
    return { before, after: buildUpdatedRecord(before, data, now), input };
  });
  await mapInSlices(changes, ({ before, after, input }) => refuseUpdate(access, before, after, input));
  const presented = await mapInSlices(changes, ({ after, input }) => presentWrittenRecord(access, after, input));
  const writes = await mapInSlices(changes, (change) => prepareWrite(deps, access, 'entity.updated', change, now));
  await persist(db, deps, access, { writes, work: (db) => saveRecords(db, access, writes) }, now);
  return { presented, ignored };
}

function parseIds(items: readonly RecordInput[]): string[] {
  const faults: Fault[] = [];
  const ids = new Set<string>();
  for (const [index, { id }] of items.entries()) {
    const addFault = (type: string, msg: string) => faults.push({ loc: ['body', index, 'id'], type, msg });
    if (id === undefined || id === null) addFault('missing', 'is required');
    else if (typeof id !== 'string') addFault('string_type', 'must be a string');
    else if (ids.has(id)) addFault('duplicate_items', 'must be unique within the request');
    else ids.add(id);
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return [...ids];
}
