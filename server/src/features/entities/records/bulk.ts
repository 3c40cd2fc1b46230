// Deletes records by query, and creates or updates them by key (docs/api/entities.md#upsert-records,
// docs/api/entities.md#delete-records).
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { matchesQuery } from '../rules/query/query.ts';
import { isScalar } from '../schemas/document.ts';
import { digestValue } from '../schemas/keys.ts';
import { newValidation, validateValue } from '../schemas/values.ts';
import { isAllowed, type RecordInput, refuseIfNeverAllowed, ruleDenied } from './change.ts';
import { createAll } from './create.ts';
import { parseFilter } from './list-query.ts';
import { mayReadFields, type RecordAccess, type StoredRecord } from './record.ts';
import { listDeletable, listReadableIdsByFields } from './store/list.ts';
import { lockRecords } from './store/records.ts';
import { trashLockedRecords } from './trash.ts';
import { lockManyRecords, updateLockedRecords } from './update.ts';
import { auditUserEntityWrite, type BulkDeps } from './write.ts';

const mebibyte = 1024 * 1024;
const maxDeleted = { records: 5_000, bytes: 64 * mebibyte };
/** Each batch blocks the process while it runs. Other requests run between batches. */
const maxBatch = { records: 100, bytes: mebibyte };

/** Finds only records that the caller may read, so the deletion reveals nothing about other records. */
export function deleteRecords(
  db: Db,
  deps: BulkDeps,
  access: RecordAccess,
  { query = {}, all = false }: { query?: RecordInput | undefined; all?: boolean | undefined },
  now: Date,
) {
  const filter = parseFilter(access, query, ['body', 'query']);
  if (Object.keys(query).length === 0 && !all) {
    const msg = 'must not be empty; to delete all records, send `all: true`';
    throw new ValidationError([{ loc: ['body', 'query'], msg, type: 'value_error' }]);
  }
  refuseIfNeverAllowed(access, 'delete');
  const { checks, entity } = access;
  const context = { checks, fieldRules: entity.schema.fieldRules };
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        const found = await listDeletable(db, access, filter, maxDeleted.records + 1);
        const { batches, bytes, isComplete } = splitIntoBatches(found);
        void deps.countBytes(bytes);
        let deleted = 0;
        for (const ids of batches) {
          const locked = await lockRecords(db, access, ids);
          // A record may have changed between the query and the lock.
          const matching = locked.filter(
            (record) =>
              isAllowed(access, record, 'read') &&
              isAllowed(access, record, 'delete') &&
              matchesQuery(filter, context, record),
          );
          await trashLockedRecords(db, deps, access, matching, now);
          deleted += matching.length;
        }
        return withNotes(
          { success: true as const, deleted },
          { ...(!isComplete && { truncated: true }), ...(deleted === 0 && { changed: false }) },
        );
      }),
    now,
  );
}

/**
 * Picks as many records as one call may delete, and splits them into batches. Only one batch is held in memory at a
 * time.
 */
function splitIntoBatches(found: readonly { id: string; size_bytes: number }[]) {
  const batches: string[][] = [];
  let count = 0;
  let bytes = 0;
  let batchBytes = 0;
  for (const { id, size_bytes } of found) {
    if (count === maxDeleted.records || (count > 0 && bytes + size_bytes > maxDeleted.bytes)) break;
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === maxBatch.records || batchBytes + size_bytes > maxBatch.bytes) {
      batches.push([id]);
      batchBytes = size_bytes;
    } else {
      batch.push(id);
      batchBytes += size_bytes;
    }
    count += 1;
    bytes += size_bytes;
  }
  return { batches, bytes, isComplete: count === found.length };
}

export interface UpsertInput {
  readonly records: readonly RecordInput[];
  readonly key: readonly string[];
}

/**
 * Updates the records whose key exists and creates the others, all or nothing. Only records that the caller may read,
 * including the key, are found, so the response reveals nothing about other records. Upserts to an entity run one at a
 * time, so two of them can't create the same key.
 */
export function upsertRecords(db: Db, deps: BulkDeps, access: RecordAccess, upsert: UpsertInput, now: Date) {
  const digests = digestUpsertKeys(access, upsert);
  return auditUserEntityWrite(
    db,
    access,
    (db) =>
      transaction(db, async (db) => {
        await takeAdvisoryLock(db, `upsert ${access.app.id} ${access.entity.name}`);
        const stored = await lockRecordsByKey(db, deps, access, upsert, digests);
        const items = upsert.records.map((input, index) => ({
          input,
          loc: ['body', 'records', index],
          before: stored.get(digests[index] ?? ''),
        }));
        const existing = items.filter((item): item is typeof item & { before: StoredRecord } => !!item.before);
        if (existing.some(({ before }) => !isAllowed(access, before, 'update')))
          throw ruleDenied(access.entity, 'update');
        const missing = items.filter(({ before }) => before === undefined);
        const updated = await updateLockedRecords(db, deps, access, existing, now);
        const created =
          missing.length > 0 ? await createAll(db, deps, access, missing, now) : { presented: [], ignored: [] };
        // Both lists are in request order, so each item's result is the next one in its list.
        const [nextUpdated, nextCreated] = [updated.presented.values(), created.presented.values()];
        const records = items.flatMap(
          ({ before }) => (before === undefined ? nextCreated : nextUpdated).next().value ?? [],
        );
        return withNotes(
          { created: missing.length, updated: existing.length, records },
          { ignored: [...updated.ignored, ...created.ignored] },
        );
      }),
    now,
  );
}

/** Validates the records' keys and returns their digests. */
function digestUpsertKeys({ entity }: RecordAccess, { records, key }: UpsertInput): string[] {
  const faults: Fault[] = key.flatMap((name, index) => {
    const field = entity.schema.fields.get(name);
    const loc = ['body', 'key', index];
    if (field === undefined) return [{ loc, msg: 'is not a field in the schema', type: 'unknown_field' }];
    return isScalar(field) ? [] : [{ loc, msg: 'must not be an array or object field', type: 'value_error' }];
  });
  if (faults.length > 0) throw new ValidationError(faults);
  const validation = newValidation();
  const digests = records.map((record, index) => {
    const values = key.map((name) => {
      const field = entity.schema.fields.get(name);
      const value = Object.hasOwn(record, name) ? (record[name] ?? null) : null;
      const loc = ['body', 'records', index, name];
      if (value === null) faults.push({ loc, msg: 'is required because it is part of the key', type: 'missing' });
      return field === undefined || value === null ? null : (validateValue(field, value, loc, validation) ?? null);
    });
    return digestValue(values).toString('latin1');
  });
  const seen = new Set<string>();
  for (const [index, digest] of digests.entries()) {
    const loc = ['body', 'records', index];
    if (seen.has(digest))
      faults.push({ loc, msg: 'must have a key that is unique within the request', type: 'duplicate_items' });
    seen.add(digest);
  }
  if (faults.length + validation.faults.length > 0) throw new ValidationError([...faults, ...validation.faults]);
  return digests;
}

/** Locks the readable records that have one of the keys. Returns them keyed by their key's digest. */
async function lockRecordsByKey(
  db: Db,
  deps: BulkDeps,
  access: RecordAccess,
  { records, key }: UpsertInput,
  digests: readonly string[],
) {
  const { keys, ready, schema } = access.entity;
  const list = schema.unique.find((names) => names.join() === key.join());
  const built = list && keys.find(({ name }) => name.startsWith(`unique(${list.join()})#`) && ready.has(name));
  const builtKey = built && { name: built.name, values: digests.map((digest) => Buffer.from(digest, 'latin1')) };
  const ids = await listReadableIdsByFields(db, access, key, records, builtKey);
  const byDigest = new Map<string, StoredRecord>();
  for (const record of await lockManyRecords(db, deps, access, ids)) {
    if (!mayReadFields(access, record, key)) continue; // changed between the query and the lock
    const digest = digestValue(key.map((name) => record.data[name] ?? null)).toString('latin1');
    if (byDigest.has(digest))
      throw new Problem(
        'conflict',
        'upsert_key_ambiguous',
        'Two stored records have the same key. Use a unique key, or update the records by id.',
        { retrySafe: false },
      );
    byDigest.set(digest, record);
  }
  return byDigest;
}
