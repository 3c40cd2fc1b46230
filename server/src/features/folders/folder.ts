// The operations on folders: creating, moving and deleting them, and adding and removing apps
// (docs/api/folders.md).

import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import { resourceGuard } from '../../core/auth/guards/row.ts';
import { roleRequired } from '../../core/auth/guards/workspace.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { isRoleAtLeast, type WorkspaceRole } from '../../core/auth/roles.ts';
import { listVisibleApps } from '../../core/identity/apps.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { type Answer, unchanged } from '../../kit/http/answer.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type FolderChange, type FolderRow, type NewFolder, presentFolder } from './contract.ts';
import {
  countFolders,
  type FolderWithCount,
  findAncestorsAndHeight,
  findFolder,
  insertFolder,
  insertItems,
  removeFolder,
  removeItem,
  removePersonalFolders,
  saveFolder,
} from './store.ts';

export const maxFolders = 500;
const maxLevels = 20;

/** Serialises changes to a workspace's folders, because the rules for depth, cycles and limits span several rows. */
const lockTree = (db: Db, { workspace_id }: Pick<WorkspaceAccess, 'workspace_id'>) =>
  takeAdvisoryLock(db, `folders of ${workspace_id}`);

/**
 * Makes a change while holding the lock. The folder is read again, because it may have been changed or deleted since
 * the guard read it.
 */
const withLockedFolder = <Result>(
  db: Db,
  access: FolderAccess,
  work: (db: Db, folder: FolderWithCount) => Promise<Result>,
): Promise<Result> =>
  transaction(db, async (db) => {
    await lockTree(db, access);
    const folder = await findFolder(db, access, access.folder.id);
    if (folder === undefined) throw notFound('folder_not_found');
    return work(db, folder);
  });

const requiredRoleFor = (scope: FolderRow['scope']): WorkspaceRole => (scope === 'personal' ? 'viewer' : 'editor');

export const rolePerScope = 'workspace viewer (personal folders), workspace editor (workspace folders)';

/** Personal folders are visible only to their owner. Changing workspace folders requires an editor. */
export const changeableFolder = resourceGuard({
  noun: 'folder',
  table: 'folders',
  needs: rolePerScope,
  fromJson: (json): FolderRow => ({
    ...json,
    created_date: new Date(json.created_date),
    updated_date: new Date(json.updated_date),
  }),
  requiredRole: (folder, caller) =>
    folder.scope === 'personal' && folder.owner_id !== caller.user_id ? undefined : requiredRoleFor(folder.scope),
});

export type FolderAccess = WorkspaceAccess & { readonly folder: FolderRow };

export async function createFolder(db: Db, access: WorkspaceAccess, input: NewFolder, now: Date) {
  const scope = input.scope ?? 'personal';
  requireRole(access, requiredRoleFor(scope));
  const folder: FolderRow = {
    id: newId(),
    workspace_id: access.workspace_id,
    scope,
    owner_id: scope === 'personal' ? access.caller.user_id : null,
    app_type: input.app_type ?? 'user_app',
    parent_folder_id: input.parent_folder_id ?? null,
    name: input.name,
    position: input.position ?? 0,
    color: input.color ?? null,
    icon: input.icon ?? null,
    created_date: now,
    updated_date: now,
  };
  return transaction(db, async (db) => {
    await lockTree(db, access);
    if ((await countFolders(db, access)) >= maxFolders) throw tooManyFolders();
    if (folder.parent_folder_id !== null) await requireParent(db, access, folder, folder.parent_folder_id, 0);
    await insertFolder(db, folder);
    const created = presentFolder({ ...folder, item_count: 0 });
    await audit(db, access, { type: 'folder.created', target: targetOf(folder), after: created }, now);
    return created;
  });
}

export async function updateFolder(db: Db, access: FolderAccess, change: FolderChange, now: Date) {
  return withLockedFolder(db, access, async (db, { item_count, ...folder }) => {
    if (change.parent_folder_id != null) {
      const { height } = await findAncestorsAndHeight(db, access, folder.id);
      await requireParent(db, access, folder, change.parent_folder_id, height);
    }
    const before = Object.fromEntries(Object.entries(folder).filter(([field]) => field in change));
    if (isDeepStrictEqual(before, change)) return unchanged(presentFolder({ ...folder, item_count }));
    const saved = { ...folder, ...change, updated_date: now };
    await saveFolder(db, saved);
    await audit(db, access, { type: 'folder.updated', target: targetOf(folder), before, after: change }, now);
    return presentFolder({ ...saved, item_count });
  });
}

/** The parent must have the same scope, kind and owner. `height` is the number of folder levels below `folder`. */
async function requireParent(
  db: Db,
  access: WorkspaceAccess,
  folder: FolderRow,
  parentId: string,
  height: number,
): Promise<void> {
  const id = idOrNull(parentId);
  const parent = id === null ? undefined : await findFolder(db, access, id);
  const isSameKind =
    parent?.scope === folder.scope && parent.app_type === folder.app_type && parent.owner_id === folder.owner_id;
  if (parent === undefined || !isSameKind) throw notFound('folder_not_found');
  const { ancestors } = await findAncestorsAndHeight(db, access, parent.id);
  if (parent.id === folder.id || ancestors.includes(folder.id)) {
    throw new Problem(
      'conflict',
      'folder_cycle',
      "A folder can't be moved into itself or one of its subfolders. Choose another parent.",
    );
  }
  if (ancestors.length + 2 + height > maxLevels) {
    throw new Problem(
      'conflict',
      'folder_too_deep',
      `Folders can be nested at most ${maxLevels} levels deep. Choose another parent.`,
    );
  }
}

export async function addItems(db: Db, access: FolderAccess, appIds: readonly string[], now: Date) {
  return withLockedFolder(db, access, async (db, folder) => {
    const apps = await listVisibleApps(db, access, appIds);
    // A folder for apps may also contain imported apps.
    if (apps.some((app) => (app.app_type === 'user_agent') !== (folder.app_type === 'user_agent'))) {
      throw new Problem(
        'bad_request',
        'app_kind_mismatch',
        "A folder can't contain both apps and agents, so nothing was added. Use a folder of the matching type.",
      );
    }
    const reachable = new Set(apps.map((app) => app.id));
    const counts = reachable.size > 0 ? await insertItems(db, folder, [...reachable], now) : { linked: 0, moved: 0 };
    const changed = counts.linked > 0;
    if (changed) {
      await audit(
        db,
        access,
        { type: 'folder.apps_added', target: targetOf(folder), after: { app_ids: [...reachable], ...counts } },
        now,
      );
    }
    const added = {
      linked: counts.linked - counts.moved,
      moved: counts.moved,
      folder_id: folder.id,
      ignored_app_ids: appIds.filter((id) => !reachable.has(id)),
    };
    return changed ? added : unchanged(added);
  });
}

interface RemovedItemBody {
  unlinked: true;
  folder_id: string;
  app_id: string;
}

/**
 * If the token is limited to some apps, throws 404 for any other app. Otherwise, an app that the caller can't see is
 * treated as not being in the folder.
 */
export async function removeAppFromFolder(
  db: Db,
  access: FolderAccess,
  appId: string,
  now: Date,
): Promise<RemovedItemBody | Answer<RemovedItemBody>> {
  const id = idOrNull(appId);
  const isReachable = id !== null && (await listVisibleApps(db, access, [id])).length > 0;
  if (!isReachable && access.caller.app_ids !== null) throw notFound('folder_not_found');
  const removed: RemovedItemBody = { unlinked: true, folder_id: access.folder.id, app_id: appId };
  if (!isReachable) return unchanged(removed);
  return withLockedFolder(db, access, async (db, folder) => {
    if (!(await removeItem(db, folder, id))) return unchanged(removed);
    await audit(
      db,
      access,
      { type: 'folder.app_removed', target: targetOf(folder), app_id: id, before: { app_id: id } },
      now,
    );
    return removed;
  });
}

/** The database deletes the folder's subfolders and items with it. The apps themselves are kept. */
export async function deleteFolder(db: Db, access: FolderAccess, now: Date) {
  return withLockedFolder(db, access, async (db, folder) => {
    await removeFolder(db, folder);
    await audit(
      db,
      access,
      { type: 'folder.deleted', target: targetOf(folder), before: { name: folder.name, scope: folder.scope } },
      now,
    );
    return { deleted: true, folder_id: folder.id } as const;
  });
}

/** Event listener that removes a former member's personal folders. The apps in them are kept. */
export async function removeFoldersOfMember(db: Db, member: { workspace_id: string; user_id: string }): Promise<void> {
  await lockTree(db, member);
  await removePersonalFolders(db, member);
}

const targetOf = (folder: FolderRow) => ({ kind: 'folder', id: folder.id });

function requireRole({ role }: WorkspaceAccess, required: WorkspaceRole): void {
  if (role !== null && isRoleAtLeast(role, required)) return;
  throw roleRequired(required);
}

const tooManyFolders = () =>
  limitReached(maxFolders, 'folders', `A workspace can have at most ${maxFolders} folders. Delete some first.`);
