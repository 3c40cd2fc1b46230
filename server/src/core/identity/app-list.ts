// The query behind `listApps` and `listAgents`: the apps that the caller can see, sorted and filtered.
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { AppRow, WorkspaceAccess } from '../auth/proofs.ts';
import type { appList } from './app-shapes.ts';
import { selectVisibleApps } from './apps.ts';

type AppList = z.output<z.ZodObject<typeof appList>>;
type SortColumn = 'updated_date' | 'created_date' | 'name';

const sortKeys = {
  updated_date: sql<Date>`apps.updated_date`,
  created_date: sql<Date>`apps.created_date`,
  name: sql<string>`lower(apps.name) collate "C"`,
};

/** Selects apps of all types. Returns one row more than the limit. */
export function selectAppList(db: Db, access: WorkspaceAccess, query: AppList, after: Position | undefined) {
  const { column, descending } = sortOf(query.sort);
  const key = sortKeys[column];
  let apps = selectVisibleApps(db, access, { deleted: query.deleted ?? false })
    .innerJoin('users as owner', 'owner.id', 'apps.owner_id')
    .selectAll('apps')
    .select(['owner.email as owner_email', sql<Date | string>`${key}`.as('sort_key')])
    .orderBy(key, descending ? 'desc' : 'asc')
    .orderBy('apps.id', descending ? 'desc' : 'asc')
    .limit(query.limit + 1);
  if (query.search) apps = apps.where('apps.name', 'ilike', `%${query.search.replace(/[\\%_]/g, '\\$&')}%`);
  if (query.folder_id !== undefined) apps = apps.where('apps.id', 'in', appsInFolder(db, access, query.folder_id));
  if (after !== undefined) {
    const [value, id] = after;
    const comparison = descending ? sql`<` : sql`>`;
    apps = apps.where(sql<boolean>`(${key}, apps.id) ${comparison} (${value}, ${id}::uuid)`);
  }
  return apps;
}

/** Uses the sort key from the database, because PostgreSQL and JavaScript convert to lower case differently. */
export const getListPosition = ({ sort_key, id }: Pick<AppListRow, 'sort_key' | 'id'>): Position => [
  sort_key instanceof Date ? sort_key.toISOString() : sort_key,
  id,
];

export type AppListRow = AppRow & { sort_key: Date | string };

const sortOf = (sort: AppList['sort']) => ({
  column: sort.replace('-', '') as SortColumn,
  descending: sort.startsWith('-'),
});

const appsInFolder = (db: Db, access: WorkspaceAccess, folderId: string) =>
  db
    .selectFrom('apps_in_folders')
    .where('workspace_id', '=', access.workspace_id)
    .where('folder_id', '=', idOrNull(folderId))
    .where((is) => is.or([is('owner_id', 'is', null), is('owner_id', '=', access.caller.user_id)]))
    .select('app_id');
