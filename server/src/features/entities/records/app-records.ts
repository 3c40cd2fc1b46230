// Record access for an app's own workflows. A workflow acts either as the app itself, which no rule restricts, or
// as one of its users. Its changes are part of the caller's transaction.
import type { DataAccess } from '../../../core/auth/proofs.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import type { RecordInput } from './change.ts';
import { createRecord } from './create.ts';
import { getRecord, listNewestRecords } from './list.ts';
import { type PresentedRecord, type RecordAccess, withRuleChecks } from './record.ts';
import { deleteRecord } from './trash.ts';
import { updateRecord } from './update.ts';
import type { WriteDeps } from './write.ts';

/** The access and entity to use, and how many workflows and automations lie between a person's change and this one. */
export interface AppRecordsScope {
  readonly access: DataAccess;
  readonly entity: string;
  readonly depth: number;
}

export interface AppRecords {
  create(db: Db, scope: AppRecordsScope, data: RecordInput, now: Date): Promise<PresentedRecord>;
  get(db: Db, scope: AppRecordsScope, id: string, now: Date): Promise<PresentedRecord>;
  /** Lists the newest records that match the filter. If the filter is undefined, every record matches. */
  list(
    db: Db,
    scope: AppRecordsScope,
    options: { readonly query: unknown; readonly limit: number },
    now: Date,
  ): Promise<PresentedRecord[]>;
  update(db: Db, scope: AppRecordsScope, id: string, data: RecordInput, now: Date): Promise<PresentedRecord>;
  remove(db: Db, scope: AppRecordsScope, id: string, now: Date): Promise<{ readonly success: true }>;
}

export function createAppRecords(deps: WriteDeps & { readonly findEntity: FindEntity }): AppRecords {
  /** Throws 404 `entity_not_found` if the app does not have the entity. */
  const open = async (db: Db, { access, entity, depth }: AppRecordsScope, now: Date): Promise<RecordAccess> => {
    const found = await deps.findEntity(db, access, entity, now);
    if (found === undefined) throw notFound('entity_not_found');
    return { ...withRuleChecks({ ...access, entity: found }), depth };
  };
  return {
    create: async (db, scope, data, now) => (await createRecord(db, deps, await open(db, scope, now), data, now)).body,
    get: async (db, scope, id, now) => getRecord(db, await open(db, scope, now), id),
    list: async (db, scope, options, now) => listNewestRecords(db, await open(db, scope, now), options),
    update: async (db, scope, id, data, now) =>
      (await updateRecord(db, deps, await open(db, scope, now), { id, input: data }, now)).body,
    remove: async (db, scope, id, now) => deleteRecord(db, deps, await open(db, scope, now), id, now),
  };
}
