// Permanently removing all records that an app user created. Used to clean up after tests with a temporary user.
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
  /** The value of `created_by_id` in the user's records. */
  readonly id: string;
  /** A time before the user could have created any record. */
  readonly since: Date;
}

const batchSize = 200;
/** Clocks differ slightly between processes, and record ids contain the creation time. */
const skewMs = 5 * 60_000;

/**
 * Removes records both inside and outside the trash. Publishes `entity.deleted` for each record that was not in the
 * trash.
 */
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
            await auditUserEntityWrite(db, scope, (db) => trashLockedRecords(db, deps, scope, records, now), now);
        }
        await removeTrashedRecords(db, access, ids);
      });
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchSize) return;
    after = last.id;
  }
}
