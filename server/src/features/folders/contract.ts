// Owns the schemas of folders (docs/api/folders.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
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
  timestamp,
} from '../../kit/http/shapes.ts';

export const Folder = answer('Folder', {
  id,
  name: z.string(),
  scope: oneOf('workspace', 'personal'),
  parent_folder_id: id.nullable(),
  position: count,
  color: z.string().nullable(),
  icon: z.string().nullable(),
  app_type: oneOf('user_app', 'user_agent'),
  item_count: count.meta({ description: 'How many apps in the folder the caller can see.' }),
  created_date: timestamp,
  updated_date: timestamp,
});

export const folderColor = pattern(/^#[0-9A-Fa-f]{6}$/, 7);

const fields = {
  position: optional(integer(0, 10_000)),
  color: clearable(folderColor),
  icon: clearable(text(0, 40)),
  parent_folder_id: clearable(z.string()),
};

export const NewFolder = body({
  name: name(1, 100),
  scope: optional(oneOf('workspace', 'personal')),
  app_type: optional(oneOf('user_app', 'user_agent')),
  ...fields,
});
export type NewFolder = z.output<typeof NewFolder>;

export const FolderChange = body({ name: optional(name(1, 100)), ...fields });
export type FolderChange = z.output<typeof FolderChange>;

export const FolderQuery = query({ ...pageQuery, app_type: oneOf('user_app', 'user_agent').default('user_app') });
export type FolderQuery = z.output<typeof FolderQuery>;

export const NewItems = body({ app_ids: list(z.string(), 1, 500) });

export const AddedItems = answer('AddedFolderItems', {
  linked: count,
  moved: count,
  folder_id: id,
  ignored_app_ids: z.array(z.string()),
});

export const RemovedItem = answer('RemovedFolderItem', {
  unlinked: z.literal(true),
  folder_id: id,
  app_id: z.string(), // as it was sent
});

export const DeletedFolder = answer('DeletedFolder', { deleted: z.literal(true), folder_id: id });

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
