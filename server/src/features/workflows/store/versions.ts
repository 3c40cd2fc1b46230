// The queries on workflow versions, which are a workflow's recent definitions.
import { sql } from 'kysely';
import type { Position } from '../../../kit/http/cursor.ts';
import type { Db } from '../../../tables.ts';
import type { VersionRow, WorkflowKey } from './rows.ts';

export interface NewVersion {
  readonly version_id: string;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly change_summary: string | null;
  readonly created_by: string | null;
}

/** If the workflow has had this definition before, that version becomes the newest again. */
export async function insertVersion(db: Db, workflow: WorkflowKey, version: NewVersion, now: Date): Promise<void> {
  const { version_id, change_summary, created_by } = version;
  const definition = JSON.stringify(version.definition);
  await db
    .insertInto('workflow_versions')
    .values({
      workspace_id: workflow.workspace_id,
      workflow_id: workflow.id,
      version_id,
      definition,
      change_summary,
      created_by,
      created_date: now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'workflow_id', 'version_id'])
        .doUpdateSet({ definition, change_summary, created_by, created_date: now }),
    )
    .execute();
}

/** Removes the oldest versions beyond `kept`, except the current version and those that runs still use. */
export async function removeOldVersions(
  db: Db,
  { workspace_id, id, current_version_id }: WorkflowKey & { readonly current_version_id: string },
  kept: number,
): Promise<void> {
  await sql`delete from workflow_versions v where v.workspace_id = ${workspace_id} and v.workflow_id = ${id}
    and v.version_id in (
      select version_id from workflow_versions where workspace_id = ${workspace_id} and workflow_id = ${id}
      order by created_date desc, version_id desc offset ${kept})
    and v.version_id <> ${current_version_id}
    and not exists (
      select 1 from workflow_runs r where r.workspace_id = ${workspace_id} and r.workflow_id = ${id}
        and r.version_id = v.version_id and r.completed_at is null)`.execute(db);
}

export async function countVersions(db: Db, { workspace_id, id }: WorkflowKey): Promise<number> {
  const { count } = await db
    .selectFrom('workflow_versions')
    .where('workspace_id', '=', workspace_id)
    .where('workflow_id', '=', id)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

const selectVersions = (db: Db, { workspace_id, id }: WorkflowKey) =>
  db
    .selectFrom('workflow_versions')
    .where('workspace_id', '=', workspace_id)
    .where('workflow_id', '=', id)
    .selectAll()
    .$castTo<VersionRow>();

/** `bytesSoFar` is the combined size of the definitions up to and including this version. */
export type ListedVersion = VersionRow & { readonly bytesSoFar: number };

/**
 * Lists versions, newest first, up to and including the version that takes the definitions' combined size over
 * `maxBytes`.
 */
export async function listVersions(
  db: Db,
  { workspace_id, id }: WorkflowKey,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
  after: Position | undefined,
): Promise<ListedVersion[]> {
  const isAfter = after
    ? sql`and (created_date, version_id) < (${after[0]}::timestamptz, ${after[1]}::text)`
    : sql.raw('');
  const { rows } = await sql<VersionRow & { bytes: number; bytes_so_far: number }>`select * from (
      select v.*, sum(bytes) over (order by created_date desc, version_id desc) as bytes_so_far from (
        select *, octet_length(definition::text) as bytes from workflow_versions
        where workspace_id = ${workspace_id} and workflow_id = ${id} ${isAfter}
        order by created_date desc, version_id desc limit ${limit}) v) counted
    where bytes_so_far - bytes <= ${maxBytes} order by created_date desc, version_id desc`.execute(db);
  return rows.map(({ bytes: _bytes, bytes_so_far, ...version }) => ({ ...version, bytesSoFar: bytes_so_far }));
}

/** Returns undefined if the version was removed. */
export const findVersion = (db: Db, workflow: WorkflowKey, version_id: string): Promise<VersionRow | undefined> =>
  selectVersions(db, workflow).where('version_id', '=', version_id).executeTakeFirst();

/** The current version is never removed, so it is always found. */
export const getVersion = (db: Db, workflow: WorkflowKey, version_id: string): Promise<VersionRow> =>
  selectVersions(db, workflow).where('version_id', '=', version_id).executeTakeFirstOrThrow();
