// Owns changes of many records that a filter or a key finds: deleted by a query, created or updated by their key
// (docs/contract.md §5.3).
import type { EventWriter } from '../../../events.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { evaluate } from '../rules/evaluate.ts';
import { matchesQuery } from '../rules/query.ts';
import { isScalar } from '../schemas/document.ts';
import { digestValue } from '../schemas/keys.ts';
import { newValidation, validateValue } from '../schemas/values.ts';
import { type RecordInput, refuseIfNeverAllowed, ruleDenied } from './change.ts';
import { createAll } from './create.ts';
import { parseFilter } from './list-query.ts';
import type { PresentedRecord, RecordAccess, StoredRecord } from './record.ts';
import { listIdsByFields, listIdsByKey, listMatchingIds } from './store/list.ts';
import { lockRecords } from './store/records.ts';
import { trashLockedRecords } from './trash.ts';
import { updateLockedRecords } from './update.ts';
import { auditUserEntityWrite } from './write.ts';

const maxDeleted = 5_000;
const batchSize = 500;

export function deleteRecords(
  db: Db,
  events: EventWriter,
  access: RecordAccess,
  { query = {}, all = false }: { query?: RecordInput | undefined; all?: boolean | undefined },
  now: Date,
) {
  const filter = parseFilter(access, query, ['body', 'query']);
  if (Object.keys(query).length === 0 && !all) {
    const msg = 'must name something, unless `all` is true';
    throw new ValidationError([{ loc: ['body', 'query'], msg, type: 'value_error' }]);
  }
  refuseIfNeverAllowed(access, 'delete');
  const { principal, entity } = access;
  const rule = entity.schema.rules.delete;
  const asking = { principal, fieldRules: entity.schema.fieldRules };
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      const ids = await listMatchingIds(db, access, rule, filter, maxDeleted + 1);
      let deleted = 0;
      for (let start = 0; start < Math.min(ids.length, maxDeleted); start += batchSize) {
        const held = await lockRecords(db, access, ids.slice(start, Math.min(start + batchSize, maxDeleted)));
        // Between the look and the hold a record may have become another's.
        const covered = held.filter(
          (record) => evaluate(rule, principal, record) === true && matchesQuery(filter, asking, record),
        );
        await trashLockedRecords(db, events, access, covered, now);
        deleted += covered.length;
      }
      return withNotes(
        { success: true as const, deleted },
        { ...(ids.length > maxDeleted && { truncated: true }), ...(deleted === 0 && { changed: false }) },
      );
    }),
  );
}

export interface UpsertInput {
  readonly records: readonly RecordInput[];
  readonly key: readonly string[];
}

/** Records whose key is there are changed, others made; all or nothing. Upserts of an entity take turns. */
export function upsertRecords(db: Db, events: EventWriter, access: RecordAccess, input: UpsertInput, now: Date) {
  const keys = digestUpsertKeys(access, input);
  return auditUserEntityWrite(db, access, now, (db) =>
    transaction(db, async (db) => {
      await takeAdvisoryLock(db, `upsert ${access.app.id} ${access.entity.name}`);
      const found = await lockRecordsByKey(db, access, input, keys);
      const items = input.records.map((sent, index) => ({
        sent,
        loc: ['body', 'records', index],
        before: found.get(keys[index] as string),
      }));
      const { rules } = access.entity.schema;
      const known = items.filter((item): item is typeof item & { before: StoredRecord } => item.before !== undefined);
      if (known.some(({ before }) => evaluate(rules.update, access.principal, before) !== true)) throw ruleDenied();
      const fresh = items.filter(({ before }) => before === undefined);
      const changed = await updateLockedRecords(db, events, access, known, now);
      const made = fresh.length > 0 ? await createAll(db, events, access, fresh, now) : { shown: [], ignored: [] };
      const [olds, news] = [changed.shown.values(), made.shown.values()];
      const records = items.map(({ before }) => (before === undefined ? news : olds).next().value as PresentedRecord);
      return withNotes(
        { created: fresh.length, updated: known.length, records },
        { ignored: [...changed.ignored, ...made.ignored] },
      );
    }),
  );
}

/** The digest of each record's key. */
function digestUpsertKeys({ entity }: RecordAccess, { records, key }: UpsertInput): string[] {
  const faults: Fault[] = key.flatMap((name, index) => {
    const field = entity.schema.fields.get(name);
    const loc = ['body', 'key', index];
    if (field === undefined) return [{ loc, msg: 'the schema has no such field', type: 'unknown_field' }];
    return isScalar(field) ? [] : [{ loc, msg: 'must be a field that holds one value', type: 'value_error' }];
  });
  if (faults.length > 0) throw new ValidationError(faults);
  const found = newValidation();
  const digests = records.map((record, index) => {
    const values = key.map((name) => {
      const field = entity.schema.fields.get(name);
      const value = Object.hasOwn(record, name) ? (record[name] ?? null) : null;
      const loc = ['body', 'records', index, name];
      if (value === null) faults.push({ loc, msg: 'is required: it is the key', type: 'missing' });
      return field === undefined || value === null ? null : (validateValue(field, value, loc, found) ?? null);
    });
    return digestValue(values).toString('latin1');
  });
  for (const [index, digest] of digests.entries()) {
    const loc = ['body', 'records', index];
    if (digests.indexOf(digest) < index) faults.push({ loc, msg: 'must not repeat a key', type: 'duplicate_items' });
  }
  if (faults.length + found.faults.length > 0) throw new ValidationError([...faults, ...found.faults]);
  return digests;
}

/** The stored records that have one of the keys, held. */
async function lockRecordsByKey(
  db: Db,
  access: RecordAccess,
  { records, key }: UpsertInput,
  digests: readonly string[],
) {
  const { keys, ready, schema } = access.entity;
  const list = schema.unique.find((names) => names.join() === key.join());
  const built = list && keys.find(({ name }) => name.startsWith(`unique(${list.join()})#`) && ready.has(name));
  const ids = built
    ? await listIdsByKey(
        db,
        access,
        built.name,
        digests.map((digest) => Buffer.from(digest, 'latin1')),
      )
    : await listIdsByFields(db, access, key, records);
  const held = new Map<string, StoredRecord>();
  for (const record of await lockRecords(db, access, ids)) {
    const digest = digestValue(key.map((name) => record.data[name] ?? null)).toString('latin1');
    if (held.has(digest))
      throw new Problem('conflict', 'upsert_key_ambiguous', 'Two stored records have the same key.', {
        retrySafe: false,
      });
    held.set(digest, record);
  }
  return held;
}
