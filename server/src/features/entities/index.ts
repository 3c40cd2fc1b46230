// The entry point of the entities feature: schemas for an app's data, and records protected by rules.
import type { AppAccess, AppReach, DataAccess } from '../../core/auth/proofs.ts';
import { listenAfterCommit } from '../../events.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import type { Db } from '../../tables.ts';
import { buildKeys, keysDueInMs, purgeRecords } from './background.ts';
import { explainRoutes } from './explain/routes.ts';
import { createAppRecords } from './records/app-records.ts';
import { type Creator, removeRecordsOfCreator } from './records/creator.ts';
import { recordRoutes } from './records/routes.ts';
import { trashAllRecords } from './records/trash.ts';
import type { WriteDeps } from './records/write.ts';
import { auditCountedWrites, countWrites } from './records/write-audit.ts';
import { applyHeldRule, listWithRecords, type RuleToApply, separateChanges } from './schemas/held-rules.ts';
import { listOpenEntities } from './schemas/open-entities.ts';
import { findOpenRules } from './schemas/open-rules.ts';
import { schemaRoutes } from './schemas/routes.ts';
import {
  applySchemas,
  hasEntity,
  type ListNamedEntities,
  listFieldNames,
  lockSchemas,
  previewEntitySchema,
  type SchemaSpace,
  unlimited,
} from './schemas/schema.ts';
import { createSchemaCache } from './schemas/schema-cache.ts';
import { hashSchemas, listSchemas } from './schemas/store.ts';

export { entityArchiveTables } from './archive-rows.ts';
export { orderSchema } from './contract.ts';
export { grammarSchemas } from './grammar-schemas.ts';
export { createRestoredSchemas } from './schemas/restored-schemas.ts';

/** Reads an app's schemas for other features. */
export const appSchemas = {
  list: async (db: Db, access: AppReach) =>
    (await listSchemas(db, access)).map(({ name, document, revision }) => ({
      name,
      document: document as Readonly<Record<string, unknown>>,
      revision,
    })),
  hash: hashSchemas,
  preview: previewEntitySchema,
  lock: lockSchemas,
  separate: separateChanges,
  listWithRecords,
  has: hasEntity,
  listFields: listFieldNames,
};

type Documents = Parameters<typeof applySchemas>[3]['documents'];

/** An app's schemas for features that change them as part of a larger operation. */
export const createAppSchemas = (storage: SchemaSpace) => ({
  ...appSchemas,
  apply: (db: Db, access: AppAccess, documents: Documents, revision: number, now: Date) =>
    applySchemas(db, storage, access, { documents, revision }, now),
  applyHeld: (db: Db, access: AppAccess, rule: RuleToApply, revision: number, now: Date) =>
    applyHeldRule(db, storage, access, { ...rule, revision }, now),
});

/**
 * For fixes that only close what is open, which no quota may prevent. To open it again takes a change that is refused
 * at a full quota, so this can't be repeated to fill the history.
 */
export const schemasForFixes = createAppSchemas(unlimited);

interface EntityDeps extends WriteDeps {
  readonly cursors: Cursors;
  /** Functions that list entities in use elsewhere, whose schemas can't be deleted. */
  readonly listNamedEntities: readonly ListNamedEntities[];
}

export function entities({ cursors, listNamedEntities, ...deps }: EntityDeps) {
  const findEntity = createSchemaCache();
  return {
    routes: [
      ...schemaRoutes({
        storage: deps.storage,
        trashAllRecords: (countBytes, db, ...args) => trashAllRecords(db, { ...deps, findEntity, countBytes }, ...args),
        async listNamedEntities(...args) {
          const named: string[] = [];
          for (const list of listNamedEntities) named.push(...(await list(...args)));
          return named;
        },
      }),
      ...explainRoutes({ findEntity }),
      ...recordRoutes({ ...deps, cursors, findEntity }),
    ],
    listOpenEntities,
    findOpenRules,
    /** Record access for the app's own workflows. */
    records: createAppRecords({ ...deps, findEntity }),
    /** Removes the records that a temporary user created. */
    removeRecordsOf: (db: Db, access: DataAccess, creator: Creator, now: Date) =>
      removeRecordsOfCreator(db, { ...deps, findEntity }, access, creator, now),
    listeners: [listenAfterCommit(['entity.created', 'entity.updated', 'entity.deleted'], countWrites)],
    jobs: [
      { name: 'build entity keys', everyMs: 5_000, dueInMs: keysDueInMs, run: buildKeys },
      { name: 'audit record writes', everyMs: 60_000, run: auditCountedWrites },
      { name: 'purge records', everyMs: 60_000, run: purgeRecords },
    ] satisfies Job[],
  };
}
