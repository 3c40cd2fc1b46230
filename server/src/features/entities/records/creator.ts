// Owns removing all records that one user of an app has created, for good: those of a temporary user after a test.
import type { DataAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { minIdAt } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import { withRuleChecks } from './record.ts';
import { listRecordsOfCreator, lockRecords, removeTrashedRecords } from './store/records.ts';
import { trashLockedRecords } from './trash.ts';
import { auditUserEntityWrite, type WriteDeps } from './write.ts';

export interface Creator {
  /** As `created_by_id` has it. */
  readonly id: string;
  /** When they cannot have created anything yet. */
  readonly since: Date;
}

const batchSize = 200;
/** Clocks of processes differ a little, and ids of records are times. */
const skewMs = 5 * 60_000;

/** Also those in the trash. For those that are not, `entity.deleted` is published. */
export async function removeRecordsOfCreator(
  db: Db,
  deps: WriteDeps & { readonly findEntity: FindEntity },
  access: DataAccess,
  { id, since }: Creator,
  now: Date,
): Promise<void> {
  let after = minIdAt(new Date(since.getTime() - skewMs));
  for (;;) {
    const batch = await listRecordsOfCreator(db, access, id, after, batchSize);
    for (const [name, found] of Map.groupBy(batch, ({ entity_name }) => entity_name)) {
      const ids = found.map((record) => record.id);
      const entity = await deps.findEntity(db, access, name, now);
      await transaction(db, async (db) => {
        if (entity !== undefined) {
          const scope = withRuleChecks({ ...access, entity });
          const records = await lockRecords(db, scope, ids);
          if (records.length > 0)
            await auditUserEntityWrite(db, scope, now, (db) => trashLockedRecords(db, deps, scope, records, now));
        }
        await removeTrashedRecords(db, access, ids);
      });
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchSize) return;
    after = last.id;
  }
}
