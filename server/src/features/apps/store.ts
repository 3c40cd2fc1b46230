// Owns the app list's query. The rows themselves belong to access.
import { sql } from 'kysely';
import { visibleApps } from '../../access/apps.ts';
import type { AppRow, WorkspaceAccess } from '../../access/proofs.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { AppQuery } from './contract.ts';

type SortColumn = 'updated_date' | 'created_date' | 'name';

const sortKeys = {
  updated_date: sql<Date>`apps.updated_date`,
  created_date: sql<Date>`apps.created_date`,
  name: sql<string>`lower(apps.name) collate "C"`,
};

export async function listApps(
  db: Db,
  access: WorkspaceAccess,
  query: AppQuery,
  after: Position | undefined,
): Promise<AppRow[]> {
  const { column, descending } = sortOf(query.sort);
  const key = sortKeys[column];
  let apps = visibleApps(db, access, { deleted: query.deleted ?? false })
    .innerJoin('users as owner', 'owner.id', 'apps.owner_id')
    .selectAll('apps')
    .select('owner.email as owner_email')
    .orderBy(key, descending ? 'desc' : 'asc')
    .orderBy('apps.id', descending ? 'desc' : 'asc')
    .limit(query.limit + 1);
  apps = query.app_type
    ? apps.where('apps.app_type', 'in', query.app_type)
    : apps.where('apps.app_type', '<>', 'user_agent');
  if (query.search) apps = apps.where('apps.name', 'ilike', `%${query.search.replace(/[\\%_]/g, '\\$&')}%`);
  if (query.folder_id !== undefined) apps = apps.where('apps.id', 'in', appsInFolder(db, access, query.folder_id));
  if (after !== undefined) {
    const [value, id] = after;
    const beyond = descending ? sql`<` : sql`>`;
    apps = apps.where(sql<boolean>`(${key}, apps.id) ${beyond} (${value}, ${id}::uuid)`);
  }
  return apps.execute();
}

export function positionOf(sort: AppQuery['sort'], app: AppRow): Position {
  const { column } = sortOf(sort);
  return [column === 'name' ? app.name.toLowerCase() : app[column].toISOString(), app.id];
}

const sortOf = (sort: AppQuery['sort']) => ({
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
