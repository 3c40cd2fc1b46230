// The operators' queries on all workspaces.
import { sql } from 'kysely';
import type { SelfAccess } from '../../../core/auth/proofs.ts';
import { selectAllWorkspaces } from '../../../core/identity/workspaces.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';

export function listOperatorWorkspaces(db: Db, access: SelfAccess, limit: number, after: Position | undefined) {
  let found = selectAllWorkspaces(db, access)
    .orderBy('workspaces.id', 'desc')
    .limit(limit + 1);
  if (after) found = found.where(sql<boolean>`workspaces.id < ${after[0]}::uuid`);
  return found.execute();
}

export const findOperatorWorkspace = (db: Db, access: SelfAccess, id: string) =>
  selectAllWorkspaces(db, access).where('workspaces.id', '=', idOrNull(id)).executeTakeFirst();

export const getOperatorWorkspace = (db: Db, access: SelfAccess, id: string) =>
  selectAllWorkspaces(db, access).where('workspaces.id', '=', id).executeTakeFirstOrThrow();

/** Locks the workspace until the transaction ends, so it can be compared with a change. */
export async function lockOperatorWorkspace(db: Db, access: SelfAccess, id: string) {
  await sql`/* operator */ select 1 from workspaces where id = ${id} for no key update`.execute(db);
  return getOperatorWorkspace(db, access, id);
}
