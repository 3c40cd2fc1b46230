// Entry point for folders: a tree of workspace folders and each person's personal folders, which contain apps and
// agents.

import { listenInTransaction } from '../../events.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { removeFoldersOfMember } from './folder.ts';
import { folderRoutes } from './routes.ts';

export { folderArchiveTables } from './archive-rows.ts';

export const folders = ({ cursors }: { cursors: Cursors }) => ({
  routes: folderRoutes(cursors),
  listeners: [listenInTransaction('member.removed', removeFoldersOfMember)],
});
