// Who created records of an app: users of the app, and members of its workspace.
import { prepared } from '../../kit/db/database.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { AppReach } from '../auth/proofs.ts';

export interface Creator {
  readonly id: string;
  readonly kind: 'app_user' | 'member';
  readonly email: string;
  readonly full_name: string;
}

const selectCreators = prepared<Creator, [workspaceId: string, appId: string, ids: string[]]>(
  'find creators of records',
  `select id, 'app_user' as kind, email, full_name from app_users where app_id = $2 and id = any($3::uuid[])
   union all
   select u.id, 'member', u.email, u.full_name from memberships m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.user_id = any($3::uuid[])`,
);

/** Finds creators by the ids in their records. Those who no longer belong to the app or the workspace are left out. */
export async function findCreators(
  db: Db,
  { app }: AppReach,
  listedIds: readonly string[],
): Promise<ReadonlyMap<string, Creator>> {
  const ids = [...new Set(listedIds)].filter((id) => idOrNull(id) !== null);
  if (ids.length === 0) return new Map();
  const creators = await selectCreators(db, app.workspace_id, app.id, ids);
  return new Map(creators.map((creator) => [creator.id, creator]));
}
