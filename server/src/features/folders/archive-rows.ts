// Describes how folders and the apps in them are stored in an archive.
import { z } from 'zod';
import { type ArchiveTable, mayReferTo, newRowId, owner, refersTo, time } from '../../kit/archive/columns.ts';
import { name, oneOf, text } from '../../kit/http/shapes.ts';
import { folderColor } from './contract.ts';
import { maxFolders } from './folder.ts';

export const folderArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  folders: {
    columns: {
      workspace_id: owner,
      id: newRowId,
      scope: oneOf('workspace', 'personal'),
      owner_id: mayReferTo('people'),
      app_type: oneOf('user_app', 'user_agent'),
      parent_folder_id: mayReferTo('folders'),
      name: name(1, 100),
      position: z.int().min(0).max(10_000),
      color: folderColor.nullable(),
      icon: text(0, 40).nullable(),
      created_date: time,
      updated_date: time,
    },
    atMost: { rows: maxFolders },
  },
  folder_items: {
    columns: {
      workspace_id: owner,
      folder_id: refersTo('folders'),
      app_id: refersTo('apps'),
      owner_id: mayReferTo('people'),
      created_date: time,
    },
  },
};
