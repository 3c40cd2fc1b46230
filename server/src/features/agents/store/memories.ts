// The queries on agents' memories.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { ConversationRow, MemoryRow } from '../contract.ts';

/** The agent's memories about a user, and its global memories. */
const selectMemories = (db: Db, workspace_id: string, app_id: string, user_id: string) =>
  db
    .selectFrom('agent_memories')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where((is) => is.or([is('user_id', 'is', null), is('user_id', '=', user_id)]))
    .selectAll();

const selectCallersMemories = (db: Db, { app, caller }: AppAccess) =>
  selectMemories(db, app.workspace_id, app.id, caller.user_id as string);

export function listMemories(db: Db, access: AppAccess, limit: number, after: Position | undefined) {
  const page = selectCallersMemories(db, access)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  return (after === undefined ? page : page.where('id', '<', String(after[0]))).execute();
}

export const findMemory = (db: Db, access: AppAccess, id: string) =>
  selectCallersMemories(db, access).where('id', '=', idOrNull(id)).executeTakeFirst();

export const listMemoriesFor = (db: Db, { workspace_id, app_id, user_id }: ConversationRow) =>
  selectMemories(db, workspace_id, app_id, user_id).orderBy('id').execute();

/** The agent's global memories. */
export const listSharedMemories = (
  db: Db,
  { workspace_id, id }: { readonly workspace_id: string; readonly id: string },
) =>
  db
    .selectFrom('agent_memories')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', id)
    .where('user_id', 'is', null)
    .select(['id', 'content'])
    .orderBy('id')
    .execute();

export async function insertMemories(db: Db, rows: readonly MemoryRow[]): Promise<void> {
  if (rows.length > 0)
    await db
      .insertInto('agent_memories')
      .values([...rows])
      .execute();
}

export async function removeMemories(db: Db, workspace_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('agent_memories').where('workspace_id', '=', workspace_id).where('id', 'in', ids).execute();
}
