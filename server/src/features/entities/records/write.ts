// Owns the storing of decided changes: the record, its keys and what is told of it, together or not at all.
import { audit } from '../../../core/audit/audit.ts';
import type { EventWriter } from '../../../events.ts';
import { transaction } from '../../../kit/db/database.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { DataRecord } from '../rules/rule.ts';
import { diffKeys } from '../schemas/keys.ts';
import { listChangedFields } from './change.ts';
import { type BuilderAccess, buildRecordEvent, type RecordAccess, type RecordEventName } from './record.ts';
import { listIdsByFields } from './store/list.ts';
import type { RecordWrite } from './store/records.ts';

/** What storing takes: the record as it was, where there was one, and as it is to be. */
export interface RecordChange {
  readonly before: DataRecord | null;
  readonly after: DataRecord | null;
}

export function prepareWrite(
  events: EventWriter,
  access: RecordAccess | BuilderAccess,
  name: RecordEventName,
  { before, after }: RecordChange,
  now: Date,
): RecordWrite & { readonly changed: string[] } {
  const { keys } = access.entity;
  const changed = before && after ? listChangedFields(access.entity, before, after) : [];
  const { removed, added } = diffKeys(keys, before, after);
  const event = buildRecordEvent(events, access, name, { before, after, changed }, now);
  return { record: (after ?? before) as DataRecord, removedKeys: removed, addedKeys: added, event, changed };
}

/** Runs the statements of a change, and says in the contract's words which fields were not unique. */
export async function persist<T>(
  db: Db,
  events: EventWriter,
  access: RecordAccess | BuilderAccess,
  writes: readonly RecordWrite[],
  work: (db: Db) => Promise<T>,
): Promise<T> {
  await refuseDuplicatesDuringBuild(db, access, writes);
  try {
    const result = await work(db);
    events.published(db);
    return result;
  } catch (error) {
    const { constraint, detail = '' } = error as { constraint?: string; detail?: string };
    if (constraint !== 'entity_keys_unique') throw error;
    throw uniqueConflict(/unique\(([\w,]*)\)/.exec(detail)?.[1]?.split(',') ?? []);
  }
}

/** While a unique key is being built, records that do not have it yet are looked at themselves. */
async function refuseDuplicatesDuringBuild(
  db: Db,
  access: RecordAccess | BuilderAccess,
  writes: readonly RecordWrite[],
): Promise<void> {
  const { keys, ready } = access.entity;
  for (const key of keys.filter((each) => each.isUnique && !ready.has(each.name))) {
    const isUnder = (row: { key: string }) => row.key === key.name;
    const names = key.paths.flatMap((path) => (path.column === undefined ? path.names : []));
    const taking = writes.filter(({ addedKeys }) => addedKeys.some(isUnder)).map(({ record }) => record.data);
    if (taking.length === 0) continue;
    const changing = writes.filter(
      ({ removedKeys, addedKeys }) => removedKeys.some(isUnder) || addedKeys.some(isUnder),
    );
    const others = await listIdsByFields(
      db,
      access,
      names,
      taking,
      changing.map(({ record }) => record.id),
    );
    if (others.length > 0) throw uniqueConflict(names);
  }
}

const uniqueConflict = (fields: readonly string[]) =>
  new Problem('conflict', 'unique_conflict', 'Another record has these values, which must be unique.', {
    members: { fields },
    retrySafe: false,
  });

/** Records under `User` are not the app's users: who writes them may believe they are, so it is on record. */
export function auditUserEntityWrite<T>(
  db: Db,
  access: RecordAccess | BuilderAccess,
  now: Date,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const { app, entity } = access;
  if (entity.name !== 'User') return work(db);
  return transaction(db, async (db) => {
    const result = await work(db);
    const target = { kind: 'entity', id: entity.name };
    await audit(db, access, { type: 'record.user_entity_written', target, app_id: app.id }, now);
    return result;
  });
}
