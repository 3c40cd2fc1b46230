// The queries on turns, whose table also serves as the turn queue. A turn counts as running until its end is
// written.
import { type Selectable, sql } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { purge } from '../../../kit/background/purge.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import { idOrNull, newId } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import { type ChatKey, toChatKey } from './messages.ts';

export type TurnRow = Selectable<Tables['chat_turns']> & QueueRow;

const selectTurns = (db: Db, { workspace_id, app_id }: ChatKey) =>
  db.selectFrom('chat_turns').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

export const findTurn = (db: Db, chat: ChatKey, id: string): Promise<TurnRow | undefined> =>
  selectTurns(db, chat).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findRunningTurn = (db: Db, chat: ChatKey): Promise<TurnRow | undefined> =>
  selectTurns(db, chat).where('ended_date', 'is', null).selectAll().executeTakeFirst();

/** Locks a running turn, whichever worker runs it. Returns undefined if the turn has ended. */
export const lockRunningTurn = (db: Db, { id, ...chat }: ChatKey & { readonly id: string }) =>
  selectTurns(db, chat)
    .where('id', '=', id)
    .where('ended_date', 'is', null)
    .selectAll()
    .forNoKeyUpdate()
    .executeTakeFirst();

/** Like `lockRunningTurn`, but for the turn's worker. Also returns undefined if the worker has lost its claim. */
export const lockClaimedTurn = (db: Db, { id, claims, ...chat }: TurnRow) =>
  selectTurns(db, chat)
    .where('id', '=', id)
    .where('ended_date', 'is', null)
    .where('claims', '=', claims)
    .where('claimed_slot', 'is not', null)
    .select('id')
    .forNoKeyUpdate()
    .executeTakeFirst();

/** Starts a turn on behalf of the caller, who must be a person. */
export function insertTurn(db: Db, access: AppAccess, message_id: string, now: Date): Promise<TurnRow> {
  const { credential_id, request_id, ip, user_id } = access.caller;
  return db
    .insertInto('chat_turns')
    .values({
      ...toChatKey(access),
      id: newId(),
      message_id,
      user_id: user_id as string,
      credential_id,
      request_id,
      ip,
      created_date: now,
      due_at: sql<Date>`clock_timestamp()`, // queues use the database's clock
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function saveTurnStart(db: Db, { workspace_id, id }: TurnRow, started_date: Date): Promise<void> {
  await db
    .updateTable('chat_turns')
    .set({ started_date })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

export async function saveTurnEnd(
  db: Db,
  { workspace_id, id }: Pick<TurnRow, 'workspace_id' | 'id'>,
  end: Pick<TurnRow, 'ended_date' | 'error_source' | 'error_message'>,
): Promise<void> {
  await db.updateTable('chat_turns').set(end).where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

// This query runs about once a second for each running turn.
const selectHasEnded = prepared<{ has_ended: boolean }, [workspaceId: string, id: string]>(
  'find whether chat turn has ended',
  'select ended_date is not null as has_ended from chat_turns where workspace_id = $1 and id = $2',
);

/** Also true if the turn has been removed. */
export const hasTurnEnded = async (db: Db, { workspace_id, id }: TurnRow): Promise<boolean> =>
  (await selectHasEnded(db, workspace_id, id))[0]?.has_ended ?? true;

const turnsKeptMs = 2 * 24 * 60 * 60 * 1000;

/**
 * Removes turns that no Idempotency-Key can refer to any longer, and their steps. Returns the number of turns removed.
 */
export const removeOldTurns = (db: Db, now: Date): Promise<number> =>
  purge(db, {
    table: 'chat_turns',
    where: sql`due_at is null and created_date < ${new Date(now.getTime() - turnsKeptMs)}`,
    batchSize: 1_000, // each has many steps
  });
