// What restoring an app's revision needs of its schemas: what the earlier ones would open, and which of those that were
// added since can be removed.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import { findNewlyOpened, listWithRecords } from './held-rules.ts';
import { applySchemas, type ListNamedEntities, lockSchemas, removeWithAudit, type SchemaSpace } from './schema.ts';
import { listSchemas } from './store.ts';

export interface RestoredSchemasDeps {
  readonly storage: SchemaSpace;
  readonly listNamedEntities: readonly ListNamedEntities[];
}

type Documents = Parameters<typeof applySchemas>[3]['documents'];

export const createRestoredSchemas = ({ storage, listNamedEntities }: RestoredSchemasDeps) => ({
  lock: lockSchemas,
  findNewlyOpened,
  listWithRecords,
  /**
   * Lists those of the entities that have records or that the app uses elsewhere. The others can't get records until the
   * transaction ends.
   */
  async listInUse(db: Db, access: AppAccess, names: readonly string[]): Promise<string[]> {
    const used = new Set(await listWithRecords(db, access, names));
    for (const list of listNamedEntities) for (const name of await list(db, access, names)) used.add(name);
    return names.filter((name) => used.has(name));
  },
  apply: (db: Db, access: AppAccess, documents: Documents, revision: number, now: Date) =>
    applySchemas(db, storage, access, { documents, revision }, now),
  async remove(db: Db, access: AppAccess, names: readonly string[], revision: number, now: Date): Promise<void> {
    if (names.length === 0) return;
    const removed = (await listSchemas(db, access)).filter(({ name }) => names.includes(name));
    for (const row of removed) await removeWithAudit(db, access, row, revision, now);
  },
});
