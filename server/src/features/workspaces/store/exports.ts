// The queries for exports.
import { sql } from 'kysely';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import type { Db } from '../../../tables.ts';

export async function insertExport(db: Db, access: WorkspaceAccess, id: string, now: Date): Promise<void> {
  await db
    .insertInto('workspace_exports')
    .values({ workspace_id: access.workspace_id, id, state: 'queued', created_date: now })
    .execute();
}

export const findExport = (db: Db, access: WorkspaceAccess, id: string | null) =>
  db
    .selectFrom('workspace_exports')
    .selectAll()
    .where('workspace_id', '=', access.workspace_id)
    .where('id', '=', id)
    .executeTakeFirst();

export interface ExportKey {
  readonly workspace_id: string;
  readonly id: string;
}

export type ExportRow = ExportKey & QueueRow;

export async function countLiveExports(db: Db, access: WorkspaceAccess, now: Date): Promise<number> {
  const { count } = await db
    .selectFrom('workspace_exports')
    .where('workspace_id', '=', access.workspace_id)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
    .where('state', '<>', 'failed')
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

export interface ExportProgress {
  readonly counts: Readonly<Record<string, number>>;
  readonly pages: number;
}

/** Says what the attempt has read so far. */
export async function saveProgress(
  db: Db,
  { workspace_id, id, claims }: ExportRow,
  { counts, pages }: ExportProgress,
): Promise<void> {
  await db
    .updateTable('workspace_exports')
    .set({ state: 'running', counts: JSON.stringify(counts), pages })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('claims', '=', claims) // no row if another worker has claimed it in the meantime
    .execute();
}

export async function finishExport(
  db: Db,
  { workspace_id, id }: ExportKey,
  done: { state: 'ready' | 'failed'; counts: object; expires_at: Date; size_bytes: number },
): Promise<void> {
  await db
    .updateTable('workspace_exports')
    .set({ ...done, counts: JSON.stringify(done.counts) })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

export async function listExpiredExports(db: Db, now: Date): Promise<ExportKey[]> {
  const { rows } =
    await sql<ExportKey>`/* service */ select workspace_id, id from workspace_exports where expires_at <= ${now}`.execute(
      db,
    );
  return rows;
}

export async function removeExport(db: Db, { workspace_id, id }: ExportKey): Promise<void> {
  await db.deleteFrom('workspace_exports').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}
