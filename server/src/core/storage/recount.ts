// The weekly recount, which adds up a workspace's stored data and compares the sum with the counted usage.
// Differences are reported and corrected.
import { sql } from 'kysely';
import { nameTransaction } from '../../kit/background/snapshots.ts';
import type { Db } from '../../tables.ts';
import { readStorageUsage, type StorageKind } from './usage.ts';

const intervalMs = 7 * 24 * 60 * 60 * 1000;
const workspacesPerRun = 20;
const rowsPerBatch = 20_000;

/** Counted minus stored bytes, by kind. Always zero unless there is a bug. */
export type StorageDrift = { readonly workspace_id: string } & Readonly<Record<StorageKind, number>>;

/** Recounts workspaces that have not been recounted for a week. Returns how many were recounted. */
export async function recountStorage(db: Db, report: (drift: StorageDrift) => void, now: Date): Promise<number> {
  const before = new Date(now.getTime() - intervalMs);
  const due = await claimDue(db, before, now);
  for (const workspaceId of due) {
    const drift = await recountWorkspace(db, workspaceId);
    if (drift !== undefined) report(drift);
  }
  return due.length;
}

/** Claims workspaces before they are recounted, so two workers don't correct the same difference. */
async function claimDue(db: Db, before: Date, now: Date): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string }>`/* service */ update storage_usage set recounted_at = ${now}
    where workspace_id in (
      select workspace_id from storage_usage where recounted_at <= ${before}
      order by recounted_at limit ${workspacesPerRun} for update skip locked)
    returning workspace_id`.execute(db);
  return rows.map((row) => row.workspace_id);
}

/**
 * All reads use one snapshot, in which stored data and counts are consistent, so concurrent writes can't cause false
 * differences. The correction is added like any other change, so it is correct even if other changes are made in the
 * meantime.
 */
export function recountWorkspace(db: Db, workspaceId: string): Promise<StorageDrift | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      await nameTransaction(db, 'recount');
      const counted = await readStorageUsage(db, workspaceId);
      const drift = {
        records: counted.records_bytes - (await sumRecords(db, workspaceId)),
        files: counted.files_bytes - (await sumFiles(db, workspaceId)),
        archives: counted.archives_bytes - (await sumArchives(db, workspaceId)),
        analytics: counted.analytics_bytes - (await sumAnalytics(db, workspaceId)),
        answers: counted.answers_bytes - (await sumAnswers(db, workspaceId)),
        deliveries:
          counted.deliveries_bytes - (await sumBodies(db, workspaceId)) - (await sumDeliveries(db, workspaceId)),
      };
      const differences = Object.entries(drift).filter(([, bytes]) => bytes !== 0);
      if (differences.length === 0) return undefined;
      const corrections = differences.map(([kind, bytes]) => sql`(${workspaceId}, ${kind}, ${-bytes})`);
      await sql`insert into storage_changes (workspace_id, kind, bytes) values ${sql.join(corrections)}`.execute(db);
      return { workspace_id: workspaceId, ...drift };
    });
}

const noId = '00000000-0000-0000-0000-000000000000';

interface Batch {
  readonly bytes: number;
  /** The last row of the batch. Null if there was none. */
  readonly last: string | null;
}

/** Sums in batches, to stay within the time limit for statements. */
async function sumBatches(sumAfter: (last: string) => Promise<Batch>, first: string): Promise<number> {
  let sum = 0;
  for (let last: string | null = first; last !== null; ) {
    const batch: Batch = await sumAfter(last);
    sum += batch.bytes;
    last = batch.last;
  }
  return sum;
}

async function sumRecords(db: Db, workspaceId: string): Promise<number> {
  const apps = await db.selectFrom('apps').where('workspace_id', '=', workspaceId).select('id').execute();
  let sum = 0;
  for (const app of apps) sum += await sumBatches((last) => sumRecordBatch(db, app.id, last), noId);
  return sum;
}

async function sumRecordBatch(db: Db, appId: string, after: string): Promise<Batch> {
  const { rows } = await sql<Batch>`
    select coalesce(sum(size_bytes), 0) as bytes, (array_agg(id order by id desc))[1] as last from (
      select id, size_bytes from entity_records where app_id = ${appId} and id > ${after}
      order by id limit ${rowsPerBatch}) batch`.execute(db);
  return rows[0] ?? { bytes: 0, last: null };
}

const sumBodies = (db: Db, workspaceId: string): Promise<number> =>
  sumBatches(async (after) => {
    const { rows } = await sql<Batch>`
      select coalesce(sum(150 + octet_length(body)) filter (where deliveries is not null), 0) as bytes,
        (array_agg(event_id order by event_id desc))[1] as last from (
        select event_id, body, deliveries from webhook_bodies
        where workspace_id = ${workspaceId} and event_id > ${after} order by event_id limit ${rowsPerBatch}) batch`.execute(
      db,
    );
    return rows[0] ?? { bytes: 0, last: null };
  }, noId);

async function sumDeliveries(db: Db, workspaceId: string): Promise<number> {
  const { rows: webhooks } = await sql<{ id: string }>`select id from webhooks where workspace_id = ${workspaceId}
    union select webhook_id from deleted_webhooks where workspace_id = ${workspaceId}`.execute(db);
  let sum = 0;
  for (const { id } of webhooks) sum += await sumBatches((last) => sumDeliveryBatch(db, workspaceId, id, last), '0');
  return sum;
}

async function sumDeliveryBatch(db: Db, workspaceId: string, webhookId: string, after: string): Promise<Batch> {
  const { rows } = await sql<Batch>`
    select coalesce(sum(size_bytes), 0) as bytes, max(sequence)::text as last from (
      select sequence, size_bytes from webhook_deliveries
      where workspace_id = ${workspaceId} and webhook_id = ${webhookId} and sequence > ${after}
      order by sequence limit ${rowsPerBatch}) batch`.execute(db);
  return rows[0] ?? { bytes: 0, last: null };
}

/** Sums app files, past versions of them, published files, ad images, test evidence and coding run checkpoints. */
async function sumFiles(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(bytes), 0) as bytes from (
      select f.size as bytes from apps a join app_files f on f.app_id = a.id where a.workspace_id = ${workspaceId}
      union all select c.size from apps a join app_past_contents c on c.app_id = a.id
        where a.workspace_id = ${workspaceId}
      union all select 200 + octet_length(v.name) from apps a join app_past_versions v on v.app_id = a.id
        where a.workspace_id = ${workspaceId}
      union all select b.size from apps a join app_blobs b on b.app_id = a.id where a.workspace_id = ${workspaceId}
      union all select size_bytes from ads_assets where workspace_id = ${workspaceId}
      union all select size_bytes from test_evidence where workspace_id = ${workspaceId}
      union all select size_bytes from coding_checkpoints where workspace_id = ${workspaceId}
      union all select files_bytes from deployments where workspace_id = ${workspaceId}) stored`.execute(db);
  return rows[0]?.bytes ?? 0;
}

async function sumArchives(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(size_bytes), 0) as bytes
    from workspace_exports where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}

/** The sizes by app and day, because adding up 60 days of events would take too long. */
async function sumAnalytics(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(bytes), 0) as bytes
    from analytics_sizes where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}

async function sumAnswers(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(size_bytes), 0) as bytes
    from idempotency_keys where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}
