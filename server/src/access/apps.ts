// Owns the apps' identity rows: making one, and the set a caller can see. What an app contains belongs to its features.
import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import { newId } from '../kit/ids.ts';
import type { Db, Tables } from '../tables.ts';
import type { AppRow, WorkspaceAccess } from './proofs.ts';

type AppQuery = SelectQueryBuilder<Tables, 'apps', object>;

/** The apps of the caller's workspace that the caller can see; the same rule as `roleOverApp`, for sets. */
export function visibleApps(
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

export interface NewApp {
  readonly app_type: AppRow['app_type'];
  readonly name: string;
  readonly user_description: string;
  readonly visibility: AppRow['visibility'];
  readonly public_settings: AppRow['public_settings'];
}

/** Makes an app. Its owner is the person who asks; for a workspace key, which is no person, the workspace's owner. */
export async function insertApp(db: Db, access: WorkspaceAccess, app: NewApp, now: Date): Promise<AppRow> {
  const owner = await ownerFor(db, access);
  const row = await db
    .insertInto('apps')
    .values({
      ...app,
      id: newId(),
      workspace_id: access.workspace_id,
      owner_id: owner.id,
      slug: slugFrom(app.name),
      created_date: now,
      updated_date: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { ...row, owner_email: owner.email };
}

function ownerFor(db: Db, { caller, workspace_id }: WorkspaceAccess): Promise<{ id: string; email: string }> {
  const people = db.selectFrom('users').select(['users.id', 'users.email']);
  if (caller.user_id !== null) return people.where('users.id', '=', caller.user_id).executeTakeFirstOrThrow();
  return people
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .where('memberships.workspace_id', '=', workspace_id)
    .where('memberships.role', '=', 'owner')
    .executeTakeFirstOrThrow();
}

/** The name in the letters an address takes, and six characters that make it one of its kind. */
function slugFrom(name: string): string {
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
