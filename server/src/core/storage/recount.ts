// The weekly recount, which adds up a workspace's stored data, kind by kind, and compares the sums with the counted usage.
// Differences are reported and corrected.
import { sql } from 'kysely';
import { nameTransaction } from '../../kit/background/snapshots.ts';
import { isLockOrStatementTimeout } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { tenantTables } from './stored-tables.ts';
import { readStorageUsage, recordRowBytes, type StorageKind, storageKinds } from './usage.ts';

const dayMs = 24 * 60 * 60 * 1000;
const intervalMs = 7 * dayMs;
const workspacesPerRun = 20;
const rowsPerBatch = 20_000;

/**
 * How long the sum of one kind may take. Its snapshot keeps dead rows of all tables from being vacuumed, so what takes
 * longer by day is summed at night.
 */
const limitsMs = { byDay: 5_000, atNight: 10 * 60 * 1000 };
const nightUtc = { from: 1, to: 4 };

const isNight = (now: Date): boolean => now.getUTCHours() >= nightUtc.from && now.getUTCHours() < nightUtc.to;

/** Returns the beginning of the next night. */
function nextNight(now: Date): Date {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), nightUtc.from);
  return new Date(today > now.getTime() ? today : today + dayMs);
}

/** Counted minus stored bytes, by kind. Always zero unless there is a bug. */
export type StorageDrift = { readonly workspace_id: string } & Readonly<Record<StorageKind, number>>;

/** Recounts workspaces that have not been recounted for a week. Returns how many were recounted. */
export async function recountStorage(db: Db, report: (drift: StorageDrift) => void, now: Date): Promise<number> {
  const due = await claimDue(db, new Date(now.getTime() - intervalMs), now);
  const limitMs = isNight(now) ? limitsMs.atNight : limitsMs.byDay;
  const unfinished: string[] = [];
  for (const workspaceId of due) {
    const recount = await recountWithin(db, workspaceId, limitMs);
    if (recount.drift !== undefined) report(recount.drift);
    if (recount.unfinished.length > 0) unfinished.push(workspaceId);
  }
  if (unfinished.length === 0) return due.length;
  if (isNight(now))
    throw new Error(`the storage of these workspaces could not be recounted in time: ${unfinished.join(', ')}`);
  await postpone(db, unfinished, nextNight(now));
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

const postpone = (db: Db, workspaceIds: readonly string[], until: Date) =>
  sql`/* service */ update storage_usage set recounted_at = ${new Date(until.getTime() - intervalMs)}
    where workspace_id = any(${workspaceIds}::uuid[])`.execute(db);

export const recountWorkspace = async (db: Db, workspaceId: string): Promise<StorageDrift | undefined> =>
  (await recountWithin(db, workspaceId, limitsMs.atNight)).drift;

interface Recount {
  /** Undefined if nothing differs. Kinds that took too long are 0. */
  readonly drift: StorageDrift | undefined;
  /** Kinds that took too long. */
  readonly unfinished: readonly StorageKind[];
}

/** Recounts each kind in a transaction of its own, so no snapshot is open for longer than one of them takes. */
export async function recountWithin(db: Db, workspaceId: string, limitMs: number): Promise<Recount> {
  const drift = {} as Record<StorageKind, number>;
  const unfinished: StorageKind[] = [];
  for (const kind of storageKinds) {
    try {
      drift[kind] = await recountKind(db, workspaceId, kind, limitMs);
    } catch (error) {
      if (!(error instanceof TooLong || isLockOrStatementTimeout(error))) throw error;
      drift[kind] = 0;
      unfinished.push(kind);
    }
  }
  const differs = storageKinds.some((kind) => drift[kind] !== 0);
  return { drift: differs ? { workspace_id: workspaceId, ...drift } : undefined, unfinished };
}

class TooLong extends Error {}

/** What the sums of one kind read with. */
interface Reader {
  readonly db: Db;
  readonly workspaceId: string;
  /** Called between statements. */
  checkTime(): void;
}

/**
 * All reads use one snapshot, in which stored data and counts are consistent, so concurrent writes can't cause false
 * differences. The correction is added like any other change, so it is correct even if other changes are made in the
 * meantime.
 */
function recountKind(db: Db, workspaceId: string, kind: StorageKind, limitMs: number): Promise<number> {
  const endsAt = performance.now() + limitMs;
  const checkTime = () => {
    if (performance.now() > endsAt) throw new TooLong();
  };
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(db);
      // Before the snapshot is taken: bodies can't be removed by the day between the snapshot and their sum.
      if (kind === 'deliveries') await sql`lock table webhook_bodies in access share mode`.execute(db);
      await nameTransaction(db, 'recount');
      const reader = { db, workspaceId, checkTime };
      const counted = (await readStorageUsage(db, workspaceId))[`${kind}_bytes`];
      const drift = counted - (await sumTables(reader, kind)) - ((await otherSums[kind]?.(reader)) ?? 0);
      if (drift !== 0)
        await sql`insert into storage_changes (workspace_id, kind, bytes) values (${workspaceId}, ${kind}, ${-drift})`.execute(
          db,
        );
      return drift;
    });
}

/** Sums of tables that are not counted by an expression. */
const otherSums: Partial<Record<StorageKind, (reader: Reader) => Promise<number>>> = {
  records: sumRecords,
  files: sumFiles,
  archives: sumArchives,
  analytics: sumAnalytics,
  answers: sumAnswers,
  deliveries: async (reader) => (await sumBodies(reader)) + (await sumDeliveries(reader)),
};

/** Adds up the tables whose rows are counted by an expression. Tables without `workspace_id` belong to an app. */
async function sumTables({ db, workspaceId, checkTime }: Reader, kind: StorageKind): Promise<number> {
  let sum = 0;
  for (const [table, stored] of Object.entries(tenantTables)) {
    if (!('bytes' in stored) || stored.counted !== kind) continue;
    checkTime();
    const bytes = sql.raw(`coalesce(sum(${stored.bytes}), 0)`);
    const { rows } = await (tablesOfApps.has(table)
      ? sql<{ bytes: number }>`select coalesce(sum(r.bytes), 0) as bytes from apps a join lateral (
          select ${bytes} as bytes from ${sql.table(table)} where app_id = a.id) r on true
          where a.workspace_id = ${workspaceId}`
      : sql<{ bytes: number }>`select ${bytes} as bytes from ${sql.table(table)}
          where workspace_id = ${workspaceId}`
    ).execute(db);
    sum += rows[0]?.bytes ?? 0;
  }
  return sum;
}

const tablesOfApps = new Set(['app_revisions', 'app_users', 'app_secrets', 'entity_schemas']);

const noId = '00000000-0000-0000-0000-000000000000';

interface Batch {
  readonly bytes: number;
  /** The last row of the batch. Null if there was none. */
  readonly last: string | null;
}

/** Sums in batches, to stay within the time limit for statements. */
async function sumBatches(
  { checkTime }: Reader,
  sumAfter: (last: string) => Promise<Batch>,
  first: string,
): Promise<number> {
  let sum = 0;
  for (let last: string | null = first; last !== null; ) {
    checkTime();
    const batch: Batch = await sumAfter(last);
    sum += batch.bytes;
    last = batch.last;
  }
  return sum;
}

async function sumRecords(reader: Reader): Promise<number> {
  const { db, workspaceId } = reader;
  const apps = await db.selectFrom('apps').where('workspace_id', '=', workspaceId).select('id').execute();
  let sum = 0;
  for (const app of apps) sum += await sumBatches(reader, (last) => sumRecordBatch(db, app.id, last), noId);
  return sum;
}

async function sumRecordBatch(db: Db, appId: string, after: string): Promise<Batch> {
  const { rows } = await sql<Batch>`
    select coalesce(sum(${recordRowBytes} + size_bytes), 0) as bytes, (array_agg(id order by id desc))[1] as last from (
      select id, size_bytes from entity_records where app_id = ${appId} and id > ${after}
      order by id limit ${rowsPerBatch}) batch`.execute(db);
  return rows[0] ?? { bytes: 0, last: null };
}

function sumBodies(reader: Reader): Promise<number> {
  const { db, workspaceId } = reader;
  return sumBatches(
    reader,
    async (after) => {
      const { rows } = await sql<Batch>`
      select coalesce(sum(150 + octet_length(body)) filter (where deliveries is not null), 0) as bytes,
        (array_agg(event_id order by event_id desc))[1] as last from (
        select event_id, body, deliveries from webhook_bodies
        where workspace_id = ${workspaceId} and event_id > ${after} order by event_id limit ${rowsPerBatch}) batch`.execute(
        db,
      );
      return rows[0] ?? { bytes: 0, last: null };
    },
    noId,
  );
}

async function sumDeliveries(reader: Reader): Promise<number> {
  const { db, workspaceId } = reader;
  const { rows: webhooks } = await sql<{ id: string }>`select id from webhooks where workspace_id = ${workspaceId}
    union select webhook_id from deleted_webhooks where workspace_id = ${workspaceId}`.execute(db);
  let sum = 0;
  for (const { id } of webhooks)
    sum += await sumBatches(reader, (last) => sumDeliveryBatch(db, workspaceId, id, last), '0');
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

/** Sums app files, past versions of them, published files, test evidence and coding run checkpoints. */
async function sumFiles({ db, workspaceId }: Reader): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(bytes), 0) as bytes from (
      select 250 + f.size as bytes from apps a join app_files f on f.app_id = a.id where a.workspace_id = ${workspaceId}
      union all select 150 + c.size from apps a join app_past_contents c on c.app_id = a.id
        where a.workspace_id = ${workspaceId}
      union all select 200 + octet_length(v.name) from apps a join app_past_versions v on v.app_id = a.id
        where a.workspace_id = ${workspaceId}
      union all select 200 + b.size from apps a join app_blobs b on b.app_id = a.id where a.workspace_id = ${workspaceId}
      union all select size_bytes from test_evidence where workspace_id = ${workspaceId}
      union all select size_bytes from coding_checkpoints where workspace_id = ${workspaceId}
      union all select files_bytes from deployments where workspace_id = ${workspaceId}) stored`.execute(db);
  return rows[0]?.bytes ?? 0;
}

async function sumArchives({ db, workspaceId }: Reader): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(size_bytes), 0) as bytes
    from workspace_exports where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}

/** The sizes by app and day, because adding up 60 days of events would take too long. */
async function sumAnalytics({ db, workspaceId }: Reader): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(bytes), 0) as bytes
    from analytics_sizes where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}

async function sumAnswers({ db, workspaceId }: Reader): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select coalesce(sum(size_bytes), 0) as bytes
    from idempotency_keys where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.bytes ?? 0;
}
