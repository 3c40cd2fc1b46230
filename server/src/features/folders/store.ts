// The queries on folders and their items.
import { sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { selectVisibleApps } from '../../core/identity/apps.ts';
import { sendWithCommit } from '../../kit/db/send.ts';
import type { Position } from '../../kit/http/cursor.ts';
import type { Db } from '../../tables.ts';
import type { FolderQuery, FolderRow } from './contract.ts';

export type FolderWithCount = FolderRow & { item_count: number };

/**
 * Selects the workspace's folders and the caller's personal folders, each with the number of apps that the caller can
 * see in it.
 */
function visibleFolders(db: Db, access: WorkspaceAccess) {
  return db
    .selectFrom('folders')
    .selectAll('folders')
    .select((is) =>
      is
        .selectFrom('folder_items')
        .innerJoin(selectVisibleApps(db, access).select('apps.id').as('app'), 'app.id', 'folder_items.app_id')
        .where('folder_items.workspace_id', '=', access.workspace_id)
        .whereRef('folder_items.folder_id', '=', 'folders.id')
        .select(sql<number>`count(*)`.as('count'))
        .as('item_count'),
    )
    .where('folders.workspace_id', '=', access.workspace_id)
    .where((is) => is.or([is('folders.owner_id', 'is', null), is('folders.owner_id', '=', access.caller.user_id)]))
    .$narrowType<{ item_count: number }>();
}

export function listFolders(
  db: Db,
  access: WorkspaceAccess,
  query: FolderQuery,
  after: Position | undefined,
): Promise<FolderWithCount[]> {
  const sortKey = sql`(folders.position, folders.name collate "C", folders.id)`;
  let folders = visibleFolders(db, access)
    .where('folders.app_type', '=', query.app_type)
    .orderBy('folders.position')
    .orderBy(sql`folders.name collate "C"`)
    .orderBy('folders.id')
    .limit(query.limit + 1);
  if (after) folders = folders.where(sql<boolean>`${sortKey} > (${after[0]}, ${after[1]}, ${after[2]}::uuid)`);
  return folders.execute();
}

export const findFolder = (db: Db, access: WorkspaceAccess, folderId: string): Promise<FolderWithCount | undefined> =>
  visibleFolders(db, access).where('folders.id', '=', folderId).executeTakeFirst();

export async function countFolders(db: Db, access: WorkspaceAccess): Promise<number> {
  const { count } = await db
    .selectFrom('folders')
    .where('workspace_id', '=', access.workspace_id)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

// The next three statements are sent with the commit. Their rules can be checked beforehand, because the tree is
// locked.

export const insertFolder = (db: Db, folder: FolderRow): Promise<void> =>
  sendWithCommit(db, db.insertInto('folders').values(folder).compile());

export function saveFolder(db: Db, { workspace_id, id, ...columns }: FolderRow): Promise<void> {
  const saved = db.updateTable('folders').set(columns).where('workspace_id', '=', workspace_id).where('id', '=', id);
  return sendWithCommit(db, saved.compile());
}

export function removeFolder(db: Db, { workspace_id, id }: FolderRow): Promise<void> {
  const removed = db.deleteFrom('folders').where('workspace_id', '=', workspace_id).where('id', '=', id);
  return sendWithCommit(db, removed.compile());
}

export async function removePersonalFolders(
  db: Db,
  { workspace_id, user_id }: { workspace_id: string; user_id: string },
): Promise<void> {
  await db.deleteFrom('folders').where('workspace_id', '=', workspace_id).where('owner_id', '=', user_id).execute();
}

/**
 * Returns the ids of a folder's ancestors, and the number of folder levels below it. For B in A > B > C, the result is
 * `[A]` and 1.
 */
export async function findAncestorsAndHeight(
  db: Db,
  access: WorkspaceAccess,
  folderId: string,
): Promise<{ ancestors: string[]; height: number }> {
  const { rows } = await sql<{ id: string; level: number }>`
    with recursive up as (
      select id, parent_folder_id, 0 as level from folders
      where workspace_id = ${access.workspace_id} and id = ${folderId}
      union all
      select parent.id, parent.parent_folder_id, up.level - 1 from folders parent
      join up on parent.id = up.parent_folder_id where parent.workspace_id = ${access.workspace_id}
    ), down as (
      select id, 0 as level from folders where workspace_id = ${access.workspace_id} and id = ${folderId}
      union all
      select child.id, down.level + 1 from folders child
      join down on child.parent_folder_id = down.id where child.workspace_id = ${access.workspace_id}
    )
    select id, level from up where level < 0 union all select id, level from down where level > 0`.execute(db);
  return {
    ancestors: rows.filter((row) => row.level < 0).map((row) => row.id),
    height: Math.max(0, ...rows.map((row) => row.level)),
  };
}

/**
 * Adds apps to the folder and removes them from the same owner's other folders. Returns how many apps were added, and
 * how many of them came from another folder.
 */
export async function insertItems(
  db: Db,
  folder: FolderRow,
  appIds: readonly string[],
  now: Date,
): Promise<{ linked: number; moved: number }> {
  const removed = await db
    .deleteFrom('folder_items')
    .where('workspace_id', '=', folder.workspace_id)
    .where('app_id', 'in', appIds)
    .where('owner_id', folder.owner_id === null ? 'is' : '=', folder.owner_id)
    .where('folder_id', '<>', folder.id)
    .executeTakeFirst();
  const inserted = await db
    .insertInto('folder_items')
    .values(
      appIds.map((app_id) => ({
        workspace_id: folder.workspace_id,
        folder_id: folder.id,
        app_id,
        owner_id: folder.owner_id,
        created_date: now,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return { linked: Number(inserted.numInsertedOrUpdatedRows), moved: Number(removed.numDeletedRows) };
}

export async function removeItem(db: Db, folder: FolderRow, appId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('folder_items')
    .where('workspace_id', '=', folder.workspace_id)
    .where('folder_id', '=', folder.id)
    .where('app_id', '=', appId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
