// Owns changes of many records that a filter or a key finds: deleted by a query, created or updated by their key
// (docs/contract.md §5.3).
import type { EventWriter } from '../../../events.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { evaluate } from '../rules/evaluate.ts';
import { matches } from '../rules/query.ts';
import { isScalar } from '../schemas/document.ts';
import { digestOf } from '../schemas/keys.ts';
import { checkedValue, nothingFound } from '../schemas/values.ts';
import { refuseClosed, ruleDenied, type Sent } from './change.ts';
import { createAll } from './create.ts';
import { readFilter } from './list-query.ts';
import type { RecordAccess, Shown, Stored } from './record.ts';
import { listIdsByFields, listIdsByKey, listMatchingIds } from './store/list.ts';
import { lockRecords } from './store/records.ts';
import { trashHeld } from './trash.ts';
import { changeHeld } from './update.ts';
import { noticed } from './write.ts';

const mostDeleted = 5_000;
const batch = 500;

export function deleteRecords(
  db: Db,
  telling: EventWriter,
  access: RecordAccess,
  { query = {}, all = false }: { query?: Sent | undefined; all?: boolean | undefined },
  now: Date,
) {
  const filter = readFilter(access, query, ['body', 'query']);
  if (Object.keys(query).length === 0 && !all) {
    const msg = 'must name something, unless `all` is true';
    throw new ValidationError([{ loc: ['body', 'query'], msg, type: 'value_error' }]);
  }
  refuseClosed(access, 'delete');
  const { principal, entity } = access;
  const rule = entity.schema.rules.delete;
  const asking = { who: principal, fieldRules: entity.schema.fieldRules };
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      const ids = await listMatchingIds(db, access, rule, filter, mostDeleted + 1);
      let deleted = 0;
      for (let start = 0; start < Math.min(ids.length, mostDeleted); start += batch) {
        const held = await lockRecords(db, access, ids.slice(start, Math.min(start + batch, mostDeleted)));
        // Between the look and the hold a record may have become another's.
        const covered = held.filter(
          (record) => evaluate(rule, principal, record) === true && matches(filter, asking, record),
        );
        await trashHeld(db, telling, access, covered, now);
        deleted += covered.length;
      }
      return withNotes(
        { success: true as const, deleted },
        { ...(ids.length > mostDeleted && { truncated: true }), ...(deleted === 0 && { changed: false }) },
      );
    }),
  );
}

export interface UpsertInput {
  readonly records: readonly Sent[];
  readonly key: readonly string[];
}

/** Records whose key is there are changed, others made; all or nothing. Upserts of an entity take turns. */
export function upsertRecords(db: Db, telling: EventWriter, access: RecordAccess, input: UpsertInput, now: Date) {
  const keys = keysSent(access, input);
  return noticed(db, access, now, (db) =>
    transaction(db, async (db) => {
      await takeAdvisoryLock(db, `upsert ${access.app.id} ${access.entity.name}`);
      const found = await heldByKey(db, access, input, keys);
      const items = input.records.map((sent, index) => ({
        sent,
        loc: ['body', 'records', index],
        before: found.get(keys[index] as string),
      }));
      const { rules } = access.entity.schema;
      const known = items.filter((item): item is typeof item & { before: Stored } => item.before !== undefined);
      if (known.some(({ before }) => evaluate(rules.update, access.principal, before) !== true)) throw ruleDenied();
      const fresh = items.filter(({ before }) => before === undefined);
      const changed = await changeHeld(db, telling, access, known, now);
      const made = fresh.length > 0 ? await createAll(db, telling, access, fresh, now) : { shown: [], ignored: [] };
      const [olds, news] = [changed.shown.values(), made.shown.values()];
      const records = items.map(({ before }) => (before === undefined ? news : olds).next().value as Shown);
      return withNotes(
        { created: fresh.length, updated: known.length, records },
        { ignored: [...changed.ignored, ...made.ignored] },
      );
    }),
  );
}

/** The digest of each record's key. */
function keysSent({ entity }: RecordAccess, { records, key }: UpsertInput): string[] {
  const faults: Fault[] = key.flatMap((name, index) => {
    const field = entity.schema.fields.get(name);
    const loc = ['body', 'key', index];
    if (field === undefined) return [{ loc, msg: 'the schema has no such field', type: 'unknown_field' }];
    return isScalar(field) ? [] : [{ loc, msg: 'must be a field that holds one value', type: 'value_error' }];
  });
  if (faults.length > 0) throw new ValidationError(faults);
  const found = nothingFound();
  const digests = records.map((record, index) => {
    const values = key.map((name) => {
      const field = entity.schema.fields.get(name);
      const value = Object.hasOwn(record, name) ? (record[name] ?? null) : null;
      const loc = ['body', 'records', index, name];
      if (value === null) faults.push({ loc, msg: 'is required: it is the key', type: 'missing' });
      return field === undefined || value === null ? null : (checkedValue(field, value, loc, found) ?? null);
    });
    return digestOf(values).toString('latin1');
  });
  for (const [index, digest] of digests.entries()) {
    const loc = ['body', 'records', index];
    if (digests.indexOf(digest) < index) faults.push({ loc, msg: 'must not repeat a key', type: 'duplicate_items' });
  }
  if (faults.length + found.faults.length > 0) throw new ValidationError([...faults, ...found.faults]);
  return digests;
}

/** The stored records that have one of the keys, held. */
async function heldByKey(db: Db, access: RecordAccess, { records, key }: UpsertInput, digests: readonly string[]) {
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
  const held = new Map<string, Stored>();
  for (const record of await lockRecords(db, access, ids)) {
    const digest = digestOf(key.map((name) => record.data[name] ?? null)).toString('latin1');
    if (held.has(digest))
      throw new Problem('conflict', 'upsert_key_ambiguous', 'Two stored records have the same key.', {
        retrySafe: false,
      });
    held.set(digest, record);
  }
  return held;
}
