// The queries on evidence rows, which list a run's files in the object storage. The database counts each row's
// bytes. When a row is deleted, its object is queued for removal.
import { sql } from 'kysely';
import type { Db } from '../../../tables.ts';
import type { ExecutionKey } from './executions.ts';

const selectEvidence = (db: Db, { workspace_id, id }: ExecutionKey) =>
  db.selectFrom('test_evidence').where('workspace_id', '=', workspace_id).where('execution_id', '=', id);

export const listEvidenceFiles = async (db: Db, execution: ExecutionKey): Promise<string[]> =>
  (await selectEvidence(db, execution).select('file').execute()).map(({ file }) => file);

export async function insertEvidence(
  db: Db,
  { workspace_id, app_id, id }: ExecutionKey,
  { file, size_bytes }: { readonly file: string; readonly size_bytes: number },
  now: Date,
): Promise<void> {
  await db
    .insertInto('test_evidence')
    .values({ workspace_id, app_id, execution_id: id, file, size_bytes, created_date: now })
    .execute();
}

/** Removes the given files, or all files if none are given. */
export async function removeEvidence(
  db: Db,
  { workspace_id, id }: ExecutionKey,
  files?: readonly string[],
): Promise<void> {
  const removed = db
    .deleteFrom('test_evidence')
    .where('workspace_id', '=', workspace_id)
    .where('execution_id', '=', id);
  await (files === undefined ? removed : removed.where('file', '=', sql<string>`any(${[...files]}::text[])`)).execute();
}

/** Removes evidence created before the given time. Returns the number of files removed. */
export async function removeOldEvidence(db: Db, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from test_evidence where (execution_id, file) in (
    select execution_id, file from test_evidence where created_date < ${before} limit ${limit} for update skip locked)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
