// The rows of apps and their shares: creating and changing them, and selecting the apps that a caller can see. An
// app's contents belong to the features.
import { type ExpressionBuilder, type SelectQueryBuilder, sql, type Updateable } from 'kysely';
import { sendWithNext } from '../../kit/db/send.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db, Tables } from '../../tables.ts';
import type { AppAccess, AppReach, AppRow, WorkspaceAccess } from '../auth/proofs.ts';
import { insertRevision, type RevisionReason } from './revisions.ts';

type AppQuery = SelectQueryBuilder<Tables, 'apps', object>;

/** Selects the apps in the workspace that the caller can see. Implements `deriveAppRole` as a query. */
export function selectVisibleApps(
  db: Db,
  access: WorkspaceAccess,
  which: { deleted: boolean } = { deleted: false },
): AppQuery {
  const { caller, role, workspace_id } = access;
  let apps: AppQuery = db.selectFrom('apps').where('apps.workspace_id', '=', workspace_id);
  apps = apps.where('apps.deleted_date', which.deleted ? 'is not' : 'is', null);
  if (caller.app_ids !== null) apps = apps.where('apps.id', 'in', caller.app_ids);
  if (role === null || role === 'owner' || role === 'admin') return apps;
  const user_id = caller.user_id as string;
  if (role === 'guest') return apps.where((is) => sharedWith(is, user_id));
  return apps.where((is) =>
    is.or([is('apps.visibility', '=', 'workspace'), is('apps.owner_id', '=', user_id), sharedWith(is, user_id)]),
  );
}

const sharedWith = (is: ExpressionBuilder<Tables, 'apps'>, userId: string) =>
  is.exists(
    is
      .selectFrom('app_shares')
      .whereRef('app_shares.workspace_id', '=', 'apps.workspace_id')
      .whereRef('app_shares.app_id', '=', 'apps.id')
      .where('app_shares.user_id', '=', userId)
      .select('app_shares.app_id'),
  );

/** Lists which of the given apps the caller can see. The ids may be malformed. */
export async function listVisibleApps(db: Db, access: WorkspaceAccess, ids: readonly string[]) {
  const wellFormed = ids.filter((id) => idOrNull(id) !== null);
  if (wellFormed.length === 0) return [];
  return selectVisibleApps(db, access)
    .where('apps.id', 'in', wellFormed)
    .select(['apps.id', 'apps.app_type'])
    .execute();
}

export interface NewApp {
  readonly app_type: AppRow['app_type'];
  readonly name: string;
  readonly user_description: string;
  readonly visibility: AppRow['visibility'];
  readonly public_settings: AppRow['public_settings'];
  readonly logo_url?: string;
}

/**
 * The caller becomes the app's owner. If the caller is a workspace key, the workspace's owner becomes the app's owner.
 */
export async function insertApp(db: Db, access: WorkspaceAccess, app: NewApp, now: Date): Promise<AppRow> {
  const owner = await getNewAppOwner(db, access);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const row = await db
      .insertInto('apps')
      .values({
        ...app,
        id: newId(),
        workspace_id: access.workspace_id,
        owner_id: owner.id,
        slug: createSlug(app.name),
        created_date: now,
        updated_date: now,
      })
      .onConflict((conflict) => conflict.column('slug').doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) continue;
    const created = { app_id: row.id, revision: row.revision, reason: { cause: 'create' as const } };
    await insertRevision(db, access, created, now);
    return { ...row, owner_email: owner.email };
  }
  throw new Error('no free slug found in five attempts');
}

function getNewAppOwner(db: Db, { caller, workspace_id }: WorkspaceAccess): Promise<{ id: string; email: string }> {
  const people = db.selectFrom('users').select(['users.id', 'users.email']);
  if (caller.user_id !== null) return people.where('users.id', '=', caller.user_id).executeTakeFirstOrThrow();
  return people
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .where('memberships.workspace_id', '=', workspace_id)
    .where('memberships.role', '=', 'owner')
    .executeTakeFirstOrThrow();
}

/** Throws 404 if the app has been moved to or from the trash since the guard read it. */
export async function saveApp(db: Db, access: AppAccess, change: Updateable<Tables['apps']>) {
  const { id, workspace_id, deleted_date } = access.app;
  try {
    const row = await db
      .updateTable('apps')
      .set(change)
      .where('workspace_id', '=', workspace_id)
      .where('id', '=', id)
      .where('deleted_date', deleted_date === null ? 'is' : 'is not', null)
      .returningAll()
      .executeTakeFirst();
    if (row !== undefined) return row;
  } catch (error) {
    if ((error as { constraint?: string }).constraint !== 'apps_slug_key') throw error;
    throw new Problem(
      'conflict',
      'slug_taken',
      'Another app on this installation uses this slug, or used it in the last 31 days. Choose another.',
    );
  }
  throw notFound('app_not_found');
}

/** The column values of an unpublished app. */
export const unpublished = {
  live_deployment_id: null,
  published_revision: null,
  published_at: null,
  published_by: null,
} as const;

/** Also unpublishes the app. It stays unpublished after it is restored. */
export const trashApp = (db: Db, access: AppAccess, now: Date) =>
  saveApp(db, access, { ...unpublished, deleted_date: now, updated_date: now });

/**
 * Restores an app from the trash. Removes its app users' tokens and links, so those from before the deletion stay
 * invalid.
 */
export async function restoreTrashedApp(db: Db, access: AppAccess, now: Date) {
  const { id, workspace_id } = access.app;
  await db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('app_user_id', 'in', (users) => users.selectFrom('app_users').where('app_id', '=', id).select('id'))
    .execute();
  await db.deleteFrom('app_user_links').where('app_id', '=', id).execute();
  return saveApp(db, access, { deleted_date: null, updated_date: now });
}

/** Locks the app's row until the transaction ends. Throws 404 if the app has been deleted since the guard read it. */
export async function lockApp(db: Db, { app }: AppReach) {
  const row = await db
    .selectFrom('apps')
    .where('workspace_id', '=', app.workspace_id)
    .where('id', '=', app.id)
    .where('deleted_date', 'is', null)
    .selectAll()
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw notFound('app_not_found');
  return row;
}

/** Reads the app's current state. Undefined if it was deleted. */
export const findApp = (db: Db, { app }: AppAccess): Promise<AppRow | undefined> =>
  db
    .selectFrom('apps')
    .innerJoin('users', 'users.id', 'apps.owner_id')
    .where('apps.workspace_id', '=', app.workspace_id)
    .where('apps.id', '=', app.id)
    .where('apps.deleted_date', 'is', null)
    .selectAll('apps')
    .select('users.email as owner_email')
    .executeTakeFirst();

type AppStatus = Pick<AppRow, 'status_state' | 'status_message' | 'status_error_source'>;

/** Also works for an app in the trash. Locks the app's row until the transaction ends. */
export async function saveAppStatus(
  db: Db,
  { workspace_id, app_id }: { workspace_id: string; app_id: string },
  status: AppStatus,
): Promise<void> {
  await db.updateTable('apps').set(status).where('workspace_id', '=', workspace_id).where('id', '=', app_id).execute();
}

/**
 * Begins a new revision of the app. Call it before the changes to files, schemas and headers that belong to it, which
 * move what they replace to the history. Locks the app's row until the transaction ends.
 */
export async function incrementRevision(db: Db, access: AppAccess, reason: RevisionReason, now: Date): Promise<number> {
  const next = { revision: sql<number>`revision + 1` as never, updated_date: now };
  const { revision } = await saveApp(db, access, next);
  await insertRevision(db, access, { app_id: access.app.id, revision, reason }, now);
  return revision;
}

const shares = (db: Db, { app }: AppAccess) =>
  db
    .selectFrom('app_shares')
    .innerJoin('users', 'users.id', 'app_shares.user_id')
    .where('app_shares.workspace_id', '=', app.workspace_id)
    .where('app_shares.app_id', '=', app.id)
    .select(['users.email', 'app_shares.role']);

export const listShares = (db: Db, access: AppAccess) => shares(db, access).orderBy('users.email').execute();

/** The caller must hold the members lock. */
export function saveShare(
  db: Db,
  { app }: AppAccess,
  user_id: string,
  role: 'editor' | 'viewer',
  now: Date,
): Promise<void> {
  const saved = db
    .insertInto('app_shares')
    .values({ app_id: app.id, workspace_id: app.workspace_id, user_id, role, created_date: now })
    .onConflict((conflict) => conflict.columns(['app_id', 'user_id']).doUpdateSet({ role }));
  return sendWithNext(db, saved.compile());
}

/** Returns whether the person has other shares in the workspace. */
export async function removeShare(db: Db, { app }: AppAccess, member: { id: string }): Promise<boolean> {
  const { workspace_id } = app;
  const shares = db.deleteFrom('app_shares').where('workspace_id', '=', workspace_id).where('user_id', '=', member.id);
  await sendWithNext(db, shares.where('app_id', '=', app.id).compile());
  const left = await db
    .selectFrom('app_shares')
    .where('workspace_id', '=', workspace_id)
    .where('user_id', '=', member.id)
    .select('app_id')
    .limit(1)
    .executeTakeFirst();
  return left !== undefined;
}

/** Example: `Café List` → `cafe-list-4f09ac`. */
function createSlug(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 50);
  const unique = newId().replaceAll('-', '').slice(-6);
  return `${words || 'app'}-${unique}`.replace(/-+/g, '-');
}
