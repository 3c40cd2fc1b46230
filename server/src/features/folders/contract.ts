// The schemas of folders (docs/api/folders.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  createdDate,
  described,
  id,
  integer,
  list,
  name,
  oneOf,
  optional,
  pageQuery,
  pattern,
  query,
  text,
  updatedDate,
} from '../../kit/http/shapes.ts';

const nameText = ['The name of the folder; white space at the ends is removed.', 'Orders'] as const;

export const Folder = answer('Folder', {
  id: described(id, 'The id of the folder.', '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b'),
  name: described(z.string(), ...nameText),
  scope: described(
    oneOf('workspace', 'personal'),
    "Whether the folder is visible to all members with at least the role viewer, or only to its creator; it can't be changed.",
  ),
  parent_folder_id: described(
    id.nullable(),
    'The id of the folder that contains this one; null if it is at the top level.',
    '0198c1fd-1b20-7c4e-a617-5e93d8f02b7c',
  ),
  position: described(
    count,
    'The position of the folder, 0 by default; folders are sorted by position, then by name.',
    0,
  ),
  color: described(
    z.string().nullable(),
    'The color of the folder, as `#` and six hexadecimal digits; null if it has none.',
    '#2F6FED',
  ),
  icon: described(
    z.string().nullable(),
    'Any text of up to 40 characters that names the icon of the folder; null if it has none.',
    'bread',
  ),
  app_type: described(
    oneOf('user_app', 'user_agent'),
    "Whether the folder is for apps (`user_app`, including imported apps) or for agents; it can't be changed.",
  ),
  item_count: described(count, 'The number of apps in the folder that the caller can see.', 2),
  created_date: createdDate,
  updated_date: updatedDate,
});

export const folderColor = pattern(/^#[0-9A-Fa-f]{6}$/, 7);

const fields = {
  position: described(
    optional(integer(0, 10_000)),
    'The position of the folder, 0 by default; folders are sorted by position, then by name.',
    0,
  ),
  color: described(
    clearable(folderColor),
    'The color of the folder, as `#` and six hexadecimal digits; null if it has none.',
    '#2F6FED',
  ),
  icon: described(
    clearable(text(0, 40)),
    'Any text of up to 40 characters that names the icon of the folder; null if it has none.',
    'bread',
  ),
  parent_folder_id: described(
    clearable(z.string()),
    'The id of the folder that contains this one; null if it is at the top level.',
    '0198c1fd-1b20-7c4e-a617-5e93d8f02b7c',
  ),
};

export const NewFolder = body({
  name: described(name(1, 100), ...nameText),
  scope: described(
    optional(oneOf('workspace', 'personal')),
    "Whether the folder is visible to all members with at least the role viewer, or only to you (`personal`, the default); it can't be changed later.",
  ),
  app_type: described(
    optional(oneOf('user_app', 'user_agent')),
    "Whether the folder is for apps (`user_app`, the default, including imported apps) or for agents; it can't be changed later.",
  ),
  ...fields,
});
export type NewFolder = z.output<typeof NewFolder>;

export const FolderChange = body({ name: described(optional(name(1, 100)), ...nameText), ...fields });
export type FolderChange = z.output<typeof FolderChange>;

export const FolderQuery = query({
  ...pageQuery,
  app_type: described(
    oneOf('user_app', 'user_agent').default('user_app'),
    'Whether to list folders of apps or of agents.',
  ),
});
export type FolderQuery = z.output<typeof FolderQuery>;

export const NewItems = body({
  app_ids: described(
    list(z.string(), 1, 500),
    "The apps or agents to add to the folder; those that the caller can't reach are ignored.",
    ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  ),
});

const folderIdField = described(id, 'The id of the folder.', '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b');

export const AddedItems = answer('AddedFolderItems', {
  linked: described(count, 'The number of apps that were in no folder of this scope before.', 2),
  moved: described(count, 'The number of apps that were moved from another folder of this scope.', 1),
  folder_id: folderIdField,
  ignored_app_ids: described(
    z.array(z.string()),
    "The ids that were ignored because the caller can't reach an app with that id.",
    [],
  ),
});

export const RemovedItem = answer('RemovedFolderItem', {
  unlinked: described(z.literal(true), 'Always true, even if the app was not in the folder.'),
  folder_id: folderIdField,
  app_id: described(z.string(), 'The id of the app or agent.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'), // as sent
});

export const DeletedFolder = answer('DeletedFolder', {
  deleted: described(z.literal(true), 'Always true.'),
  folder_id: folderIdField,
});

export interface FolderRow {
  id: string;
  workspace_id: string;
  scope: 'workspace' | 'personal';
  owner_id: string | null;
  app_type: 'user_app' | 'user_agent';
  parent_folder_id: string | null;
  name: string;
  position: number;
  color: string | null;
  icon: string | null;
  created_date: Date;
  updated_date: Date;
}

export const presentFolder = (folder: FolderRow & { item_count: number }): z.input<typeof Folder> => ({
  id: folder.id,
  name: folder.name,
  scope: folder.scope,
  parent_folder_id: folder.parent_folder_id,
  position: folder.position,
  color: folder.color,
  icon: folder.icon,
  app_type: folder.app_type,
  item_count: folder.item_count,
  created_date: folder.created_date.toISOString(),
  updated_date: folder.updated_date.toISOString(),
});
