// The routes for folders.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items } from '../../kit/http/shapes.ts';
import {
  AddedItems,
  DeletedFolder,
  Folder,
  FolderChange,
  FolderQuery,
  NewFolder,
  NewItems,
  presentFolder,
  RemovedItem,
} from './contract.ts';
import {
  addItems,
  changeableFolder,
  createFolder,
  deleteFolder,
  removeAppFromFolder,
  rolePerScope,
  updateFolder,
} from './folder.ts';
import { listFolders } from './store.ts';

const folderChanges = perMinute(60, 'workspace', { group: 'folder' });
const parentRefusals = [
  { status: 404, code: 'folder_not_found' },
  { status: 409, code: 'folder_too_deep' },
] as const;

export const folderRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listFolders',
    method: 'GET',
    path: '/api/app-folders/tree',
    summary: "List workspace folders and the caller's personal folders",
    description:
      'Returns a flat list, ordered by position, then name. `parent_folder_id` links each folder to its parent.',
    credentials: readCredentials,
    access: workspaceAs('viewer'),
    limit: perMinute(300, 'workspace'),
    work: 'slow',
    query: FolderQuery,
    answers: {
      200: items(
        Folder,
        'The folders of this page by position, then by name; `parent_folder_id` links each to its parent.',
      ),
    },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listFolders', access.workspace_id, access.caller.credential_id, query.app_type];
      const rows = await listFolders(db, access, query, cursors.open(query.cursor, binding, now));
      return cursors.page(rows, query.limit, binding, now, presentFolder, (row) => [row.position, row.name, row.id]);
    },
  }),
  route({
    name: 'createFolder',
    method: 'POST',
    path: '/api/app-folders',
    summary: 'Create a folder for apps or agents',
    description: 'Personal folders require the role viewer, workspace folders the role editor.',
    credentials: writeCredentials,
    access: { ...workspaceAs('viewer'), needs: rolePerScope },
    limit: folderChanges,
    stores: 700,
    idempotency: 'optional',
    body: NewFolder,
    audits: ['folder.created'],
    answers: { 200: Folder },
    refusals: [...parentRefusals, { status: 409, code: 'limit_reached' }],
    handle: ({ db, access, body, now }) => createFolder(db, access, body, now),
  }),
  route({
    name: 'updateFolder',
    method: 'PATCH',
    path: '/api/app-folders/{folder_id}',
    summary: 'Change a folder',
    credentials: writeCredentials,
    access: changeableFolder,
    limit: folderChanges,
    body: FolderChange,
    idempotency: 'optional',
    audits: ['folder.updated'],
    answers: { 200: Folder },
    refusals: [...parentRefusals, { status: 409, code: 'folder_cycle' }],
    handle: ({ db, access, body, now }) => updateFolder(db, access, body, now),
  }),
  route({
    name: 'deleteFolder',
    method: 'DELETE',
    path: '/api/app-folders/{folder_id}',
    summary: 'Delete a folder and its subfolders, but not the apps in them',
    credentials: writeCredentials,
    access: changeableFolder,
    limit: folderChanges,
    repeat: 'safe',
    audits: ['folder.deleted'],
    answers: { 200: DeletedFolder },
    handle: ({ db, access, now }) => deleteFolder(db, access, now),
  }),
  route({
    name: 'addFolderItems',
    method: 'POST',
    path: '/api/app-folders/{folder_id}/items',
    summary: 'Add apps to a folder, or move them there',
    description:
      "An app is in at most one workspace folder and, per person, in one personal folder, so adding it moves it. Apps that the caller can't reach are listed in `ignored_app_ids`.",
    credentials: writeCredentials,
    access: changeableFolder,
    limit: folderChanges,
    stores: 400,
    body: NewItems,
    repeat: 'safe',
    audits: ['folder.apps_added'],
    answers: { 200: AddedItems },
    refusals: [{ status: 400, code: 'app_kind_mismatch' }],
    handle: ({ db, access, body, now }) => addItems(db, access, body.app_ids, now),
  }),
  route({
    name: 'removeFolderItem',
    method: 'DELETE',
    path: '/api/app-folders/{folder_id}/items/{app_id}',
    summary: 'Remove an app from a folder without deleting the app',
    description: 'If the app is not in the folder, the call succeeds and changes nothing (`X-Changed: false`).',
    credentials: writeCredentials,
    access: changeableFolder,
    limit: perMinute(600, 'workspace', { scaledBy: 'override' }),
    repeat: 'safe',
    audits: ['folder.app_removed'],
    answers: { 200: RemovedItem },
    handle: ({ db, access, params, now }) => removeAppFromFolder(db, access, params.app_id, now),
  }),
];
