// Records the revisions of apps: what caused each, and who. What a revision replaces or removes is kept by the database
// (migration 0100), so every change of files, schemas and headers must follow `incrementRevision` in its transaction.
import { sql } from 'kysely';
import { sendWithNext } from '../../kit/db/send.ts';
import type { Db } from '../../tables.ts';
import type { AppAccess, WorkspaceAccess } from '../auth/proofs.ts';

/** `baseline` stands for the state that was found when revisions began to be kept. */
export const revisionCauses = [
  'create',
  'baseline',
  'chat',
  'file',
  'sync',
  'schema',
  'headers',
  'restore',
  'fix',
] as const;

/** Why an app gets a new revision. */
export type RevisionReason =
  | { readonly cause: 'file' | 'sync' | 'schema' | 'headers' | 'fix' }
  /** `message_id` is the message that asked for the change, and `summary` the beginning of its text. */
  | { readonly cause: 'chat'; readonly message_id: string; readonly summary: string }
  | { readonly cause: 'restore'; readonly restored_revision: number };

interface NewRevision {
  readonly app_id: string;
  readonly revision: number;
  readonly reason: RevisionReason | { readonly cause: 'create' };
}

/** How soon a new revision is followed by a look at which old ones can be removed. */
const purgeDelayMs = 60_000;

/** Records a revision that the transaction has just begun. Its changes are counted as they are made. */
export async function insertRevision(
  db: Db,
  { caller, workspace_id }: WorkspaceAccess | AppAccess,
  { app_id, revision, reason }: NewRevision,
  now: Date,
): Promise<void> {
  const { message_id = null, summary = null, restored_revision = null } = reason as Partial<Record<string, unknown>>;
  const actor = sql`coalesce(${caller.email ?? null}::text, (select 'workspace key ' || name from credentials
    where workspace_id = ${workspace_id} and id = ${caller.credential_id ?? null}::uuid))`;
  await sendWithNext(
    db,
    sql`insert into app_revisions (app_id, revision, cause, actor, message_id, summary, restored_revision, created_date)
      values (${app_id}, ${revision}, ${reason.cause}, ${actor}, ${message_id}, ${summary}, ${restored_revision}, ${now})`.compile(
      db,
    ),
  );
  const dueAt = new Date(now.getTime() + purgeDelayMs);
  await sendWithNext(
    db,
    sql`insert into app_revision_purges as p (app_id, due_at) values (${app_id}, ${dueAt})
      on conflict (app_id) do update set due_at = least(p.due_at, excluded.due_at)`.compile(db),
  );
}

/** Makes the present state of a workspace's apps without revisions their first kept revision. */
export async function insertMissingRevisions(db: Db, workspaceId: string): Promise<void> {
  await sql`insert into app_revisions (app_id, revision, cause, created_date)
    select a.id, a.revision, 'baseline', a.updated_date from apps a where a.workspace_id = ${workspaceId}
      and not exists (select from app_revisions r where r.app_id = a.id)`.execute(db);
}
