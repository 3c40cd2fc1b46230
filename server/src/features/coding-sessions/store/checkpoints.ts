// The queries on session checkpoints. When a row is removed, a trigger queues its object for removal from the
// object storage.
import { type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';
import type { SessionKey } from './sessions.ts';

export type CheckpointRow = Selectable<Tables['coding_checkpoints']>;

export const findCheckpoint = (
  db: Db,
  { workspace_id, id }: SessionKey,
  tree: string,
): Promise<CheckpointRow | undefined> =>
  db
    .selectFrom('coding_checkpoints')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('tree', '=', tree)
    .orderBy('id', 'desc')
    .selectAll()
    .executeTakeFirst();

export const findNewestCheckpoint = (db: Db, { workspace_id, id }: SessionKey): Promise<CheckpointRow | undefined> =>
  db
    .selectFrom('coding_checkpoints')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .orderBy('id', 'desc')
    .selectAll()
    .executeTakeFirst();

export async function insertCheckpoint(
  db: Db,
  { workspace_id, id: session_id }: SessionKey,
  checkpoint: Pick<CheckpointRow, 'id' | 'turn' | 'step' | 'tree' | 'size_bytes'>,
  now: Date,
): Promise<void> {
  await db
    .insertInto('coding_checkpoints')
    .values({ workspace_id, session_id, ...checkpoint, created_date: now })
    .execute();
}

export async function removeCheckpoint(
  db: Db,
  { workspace_id, id: session_id }: SessionKey,
  id: string,
): Promise<void> {
  await db
    .deleteFrom('coding_checkpoints')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', session_id)
    .where('id', '=', id)
    .execute();
}

/** Removes the session's checkpoints, except those for the tree `exceptTree`. */
export async function removeCheckpoints(db: Db, { workspace_id, id }: SessionKey, exceptTree?: string): Promise<void> {
  let removed = db
    .deleteFrom('coding_checkpoints')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id);
  if (exceptTree !== undefined) removed = removed.where('tree', '<>', exceptTree);
  await removed.execute();
}

/** Removes the checkpoints of sessions that ended before the given time. Returns the number of checkpoints removed. */
export async function removeOldCheckpoints(db: Db, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from coding_checkpoints where id in (
    select c.id from coding_checkpoints c
    join coding_sessions s on s.workspace_id = c.workspace_id and s.id = c.session_id
    where s.ended_at < ${before} limit ${limit} for update of c skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
