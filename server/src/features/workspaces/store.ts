// Owns the queries an operator asks over all workspaces.
import { sql } from 'kysely';
import type { SelfAccess } from '../../access/proofs.ts';
import { operatedWorkspaces } from '../../access/workspaces.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';

export function listOperated(db: Db, access: SelfAccess, limit: number, after: Position | undefined) {
  let found = operatedWorkspaces(db, access)
    .orderBy('workspaces.id', 'desc')
    .limit(limit + 1);
  if (after) found = found.where(sql<boolean>`workspaces.id < ${after[0]}::uuid`);
  return found.execute();
}

export const findOperated = (db: Db, access: SelfAccess, id: string) =>
  operatedWorkspaces(db, access).where('workspaces.id', '=', idOrNull(id)).executeTakeFirst();
