// Defines how many bytes a workspace stores, by kind: records (including the trash), files (including published ones),
// export archives, what analytics keeps, and so on. stored-tables.ts says how each table is counted. Each change appends a row to storage_changes in its own transaction, so a workspace's requests never wait for each other. A job
// merges these rows into storage_usage. The usage is the sum of both tables.
import { sql } from 'kysely';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { type Plan, storageQuotas } from '../auth/plans.ts';

export const storageKinds = [
  'records',
  'files',
  'archives',
  'analytics',
  'answers',
  'deliveries',
  'runs',
  'conversations',
  'sessions',
  'reports',
  'ads',
  'ledger',
  'audit',
  'settings',
] as const;
export type StorageKind = (typeof storageKinds)[number];

type StoredBytes = Readonly<Record<`${StorageKind}_bytes`, number>>;
export type StorageUsage = StoredBytes & {
  readonly used_bytes: number;
  /** Null means unlimited. */
  readonly quota_bytes: number | null;
};

type UsageRow = StoredBytes & { readonly plan: Plan; readonly storage_quota_bytes: number | null };

const foldedAndNot = storageKinds.map(
  (kind) => `coalesce(u.${kind}_bytes, 0) + coalesce(c.${kind}_bytes, 0) as ${kind}_bytes`,
);
const sumsByKind = storageKinds.map((kind) => `sum(bytes) filter (where kind = '${kind}') as ${kind}_bytes`);

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
  const used_bytes = storageKinds.reduce((sum, kind) => sum + stored[`${kind}_bytes`], 0);
  return { used_bytes, quota_bytes: storage_quota_bytes ?? storageQuotas[plan], ...stored };
}

const columns = storageKinds.map((kind) => `${kind}_bytes`);
const sumOrZero = columns.map((column) => `coalesce(${column}, 0)`);
const added = columns.map((column) => `${column} = u.${column} + excluded.${column}`);

const rowsPerFold = 10_000;
const foldsPerRun = 100;

/** A newer release may count further kinds, for which this one has no column: its workers merge them. */
const knownKinds = `kind in (${storageKinds.map((kind) => `'${kind}'`).join(', ')})`;

/** SQL that returns 0 if there are changes to merge. */
export const foldDueInMs = `select 0 from storage_changes where ${knownKinds} order by workspace_id limit 1`;

/** Merges the changes of all workspaces. Returns a number above 0 if there may be more. */
export async function foldStorageChanges(db: Db, now: Date): Promise<number> {
  for (let fold = 0; fold < foldsPerRun; fold += 1) {
    if ((await foldBatch(db, now)) < rowsPerFold) return 0;
  }
  return rowsPerFold;
}

/** Merges one batch and returns its size. Changes in purged workspaces are dropped. */
async function foldBatch(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ with folded as (
      delete from storage_changes where ctid = any(array(
        select ctid from storage_changes where ${sql.raw(knownKinds)} limit ${rowsPerFold} for update skip locked))
      returning workspace_id, kind, bytes),
    sums as (
      select workspace_id, ${sql.raw(sumsByKind.join(', '))} from folded
      where workspace_id in (select id from workspaces) group by 1),
    saved as (
      insert into storage_usage as u (workspace_id, ${sql.raw(columns.join(', '))}, recounted_at)
      select workspace_id, ${sql.raw(sumOrZero.join(', '))}, ${now} from sums order by 1
      on conflict (workspace_id) do update set ${sql.raw(added.join(', '))})
    select count(*) as count from folded`.execute(db);
  return rows[0]?.count ?? 0;
}

/** What a record counts besides its data: its row, and its entries in indexes and keys. */
export const recordRowBytes = 400;

/** Counts an imported workspace's records. Triggers count everything else. */
export async function countImportedRecords(db: Db, workspaceId: string): Promise<void> {
  await sql`insert into storage_changes (workspace_id, kind, bytes)
    select a.workspace_id, 'records', sum(${recordRowBytes} + r.size_bytes) from apps a join entity_records r on r.app_id = a.id
    where a.workspace_id = ${workspaceId} group by 1`.execute(db);
}
