// Owns the queries on evidence: which files of a run are in the object storage. With a row, the database counts the bytes; when it
// is deleted, the object is listed for removal.
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

/** Removes some files, or all. */
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

/** Removes evidence that was made before a time. Returns how much. */
export async function removeOldEvidence(db: Db, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from test_evidence where (execution_id, file) in (
    select execution_id, file from test_evidence where created_date < ${before} limit ${limit} for update skip locked)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
