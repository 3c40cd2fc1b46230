// Owns how many bytes a workspace stores: records with their trash, app files, also published ones, and export archives. Each
// change appends a row to storage_changes in its own transaction, so that requests of a workspace never wait for each other; a
// job folds these rows into storage_usage. The usage is the sum of both.
import { sql } from 'kysely';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { type Plan, storageQuotas } from '../auth/plans.ts';

export interface StorageUsage {
  readonly used_bytes: number;
  /** Null: unlimited. */
  readonly quota_bytes: number | null;
  readonly records_bytes: number;
  readonly files_bytes: number;
  readonly archives_bytes: number;
}

type StoredBytes = Pick<StorageUsage, 'records_bytes' | 'files_bytes' | 'archives_bytes'>;
type UsageRow = StoredBytes & { readonly plan: Plan; readonly storage_quota_bytes: number | null };

const kinds = ['records', 'files', 'archives'] as const;
const foldedAndNot = kinds.map(
  (kind) => `coalesce(u.${kind}_bytes, 0) + coalesce(c.${kind}_bytes, 0) as ${kind}_bytes`,
);
const sumsByKind = kinds.map((kind) => `sum(bytes) filter (where kind = '${kind}') as ${kind}_bytes`);

const selectUsage = prepared<UsageRow, [workspaceId: string]>(
  'read storage usage',
  `select w.plan, w.storage_quota_bytes, ${foldedAndNot.join(', ')}
   from workspaces w
   left join storage_usage u on u.workspace_id = w.id
   cross join (select ${sumsByKind.join(', ')} from storage_changes where workspace_id = $1) c
   where w.id = $1`,
);

export async function readStorageUsage(db: Db, workspaceId: string): Promise<StorageUsage> {
  const [row] = await selectUsage(db, workspaceId);
  if (row === undefined) throw new Error('the workspace does not exist');
  const { plan, storage_quota_bytes, ...stored } = row;
  const used_bytes = stored.records_bytes + stored.files_bytes + stored.archives_bytes;
  return { used_bytes, quota_bytes: storage_quota_bytes ?? storageQuotas[plan], ...stored };
}

const rowsPerFold = 10_000;
const foldsPerRun = 100;

/** SQL for polling. */
export const foldDueInMs = 'select 0 from storage_changes order by workspace_id limit 1';

/** Folds the changes of all workspaces. */
export async function foldStorageChanges(db: Db, now: Date): Promise<number> {
  for (let fold = 0; fold < foldsPerRun; fold += 1) {
    if ((await foldBatch(db, now)) < rowsPerFold) return 0;
  }
  return rowsPerFold; // there may be more
}

/** Returns how many changes were folded. Those of purged workspaces are dropped. */
async function foldBatch(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ with folded as (
      delete from storage_changes where ctid = any(array(
        select ctid from storage_changes limit ${rowsPerFold} for update skip locked))
      returning workspace_id, kind, bytes),
    sums as (
      select workspace_id, ${sql.raw(sumsByKind.join(', '))} from folded
      where workspace_id in (select id from workspaces) group by 1),
    saved as (
      insert into storage_usage as u (workspace_id, records_bytes, files_bytes, archives_bytes, recounted_at)
      select workspace_id, coalesce(records_bytes, 0), coalesce(files_bytes, 0), coalesce(archives_bytes, 0), ${now}
      from sums order by 1
      on conflict (workspace_id) do update set records_bytes = u.records_bytes + excluded.records_bytes,
        files_bytes = u.files_bytes + excluded.files_bytes, archives_bytes = u.archives_bytes + excluded.archives_bytes)
    select count(*) as count from folded`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Counts the records of a workspace that was imported. Files are counted by a trigger. */
export async function countImportedRecords(db: Db, workspaceId: string): Promise<void> {
  await sql`insert into storage_changes (workspace_id, kind, bytes)
    select a.workspace_id, 'records', sum(r.size_bytes) from apps a join entity_records r on r.app_id = a.id
    where a.workspace_id = ${workspaceId} group by 1`.execute(db);
}
