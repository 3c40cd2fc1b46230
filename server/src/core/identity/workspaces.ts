// The rows of workspaces, and purging deleted workspaces, deleted apps and old credentials.
import { sql, type Updateable } from 'kysely';
import type { Db, Tables } from '../../tables.ts';
import type { SelfAccess, WorkspaceAccess } from '../auth/proofs.ts';

export const graceDays = 30;
const dayMs = 24 * 60 * 60 * 1000;

export const getWorkspaceRow = (db: Db, access: WorkspaceAccess) =>
  db.selectFrom('workspaces').selectAll().where('id', '=', access.workspace_id).executeTakeFirstOrThrow();

/** Locks the workspace's row until the transaction ends. */
export const lockWorkspace = (db: Db, access: WorkspaceAccess) =>
  db
    .selectFrom('workspaces')
    .selectAll()
    .where('id', '=', access.workspace_id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();

/** Cancels a workspace's deletion. Undefined if there is no such workspace. */
export const restoreWorkspace = (db: Db, id: string, now: Date) =>
  db
    .updateTable('workspaces')
    .set({ deleted_date: null, updated_date: now })
    .where('id', '=', id)
    .returning(['id', 'name'])
    .executeTakeFirst();

export const saveWorkspace = (db: Db, id: string, change: Updateable<Tables['workspaces']>) =>
  db.updateTable('workspaces').set(change).where('id', '=', id).returningAll().executeTakeFirstOrThrow();

/** Selects all workspaces of the installation, with their owner and member count. Requires an operator's proof. */
export function selectAllWorkspaces(db: Db, _access: SelfAccess) {
  return db
    .selectFrom('workspaces')
    .modifyFront(sql`/* operator */`)
    .selectAll('workspaces')
    .select((is) => [
      is
        .selectFrom('memberships')
        .whereRef('memberships.workspace_id', '=', 'workspaces.id')
        .select((of) => of.fn.countAll<number>().as('count'))
        .as('member_count'),
      is
        .selectFrom('memberships')
        .innerJoin('users', 'users.id', 'memberships.user_id')
        .whereRef('memberships.workspace_id', '=', 'workspaces.id')
        .where('memberships.role', '=', 'owner')
        .select('users.email')
        .as('owner_email'),
    ])
    .$narrowType<{ member_count: number }>();
}

/**
 * Removes workspaces that were deleted at least 30 days ago and whose apps have no records and no campaigns that may
 * still spend. Returns how many were removed.
 */
export async function purgeWorkspaces(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from workspaces w where deleted_date <= ${graceStart(now)}
    and not exists (select from apps a join apps_holding_records h on h.app_id = a.id where a.workspace_id = w.id)
    and not exists (select from apps a join apps_holding_campaigns h on h.app_id = a.id where a.workspace_id = w.id)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

/**
 * Removes apps that have been in the trash for at least 30 days and have no records and no campaigns that may still
 * spend. Returns how many were removed.
 */
export async function purgeApps(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from apps a where deleted_date <= ${graceStart(now)}
    and not exists (select from apps_holding_records h where h.app_id = a.id)
    and not exists (select from apps_holding_campaigns h where h.app_id = a.id)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** How long a slug stays reserved for the app that gave it up. */
const releasedSlugDays = 31;

/** Frees slugs whose reservation has ended, so any app can use them. Returns how many were freed. */
export async function removeReleasedSlugs(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - releasedSlugDays * dayMs);
  const { numAffectedRows } =
    await sql`/* service */ delete from released_slugs where released_at <= ${before}`.execute(db);
  return Number(numAffectedRows ?? 0);
}

const isExpired = (now: Date) =>
  sql<boolean>`(a.deleted_date <= ${graceStart(now)} or w.deleted_date <= ${graceStart(now)})`;

/** Lists apps that can't be purged, alone or with their workspace, until their records have been removed. */
export async function listExpiredApps(db: Db, limit: number, now: Date): Promise<string[]> {
  const { rows } = await sql<{
    id: string;
  }>`/* service */ select a.id from apps a join workspaces w on w.id = a.workspace_id
    where ${isExpired(now)}
      and exists (select from apps_holding_records h where h.app_id = a.id) order by a.id limit ${limit}`.execute(db);
  return rows.map((row) => row.id);
}

/** Undefined if the app is not expired any more, or another transaction is changing it. */
export async function lockExpiredApp(
  db: Db,
  appId: string,
  now: Date,
): Promise<{ id: string; revision: number } | undefined> {
  const { rows } = await sql<{
    id: string;
    revision: number;
  }>`/* service */ select a.id, a.revision from apps a join workspaces w on w.id = a.workspace_id
    where a.id = ${appId} and ${isExpired(now)} for no key update of a skip locked`.execute(db);
  return rows[0];
}

/**
 * Removes expired sessions, other credentials 30 days after they expired or were revoked, and used or expired reset
 * links. Returns how many were removed.
 */
export async function removeExpiredCredentials(db: Db, now: Date): Promise<number> {
  const idleSince = new Date(now.getTime() - 7 * dayMs);
  const { numAffectedRows } = await sql`/* service */ delete from credentials
    where expires_at <= ${graceStart(now)} or revoked_at <= ${graceStart(now)}
      or (kind = 'session' and (expires_at <= ${now} or last_used_at < ${idleSince}))`.execute(db);
  const links =
    await sql`/* service */ delete from password_resets where expires_at <= ${now} or used_at is not null`.execute(db);
  return Number(numAffectedRows ?? 0) + Number(links.numAffectedRows ?? 0);
}

const graceStart = (now: Date): Date => new Date(now.getTime() - graceDays * dayMs);
