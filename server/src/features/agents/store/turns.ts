// The queries on turns, which form the queue of replies.
import { type Selectable, sql } from 'kysely';
import { removeDeltas } from '../../../core/turns/deltas.ts';
import { purge } from '../../../kit/background/purge.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { idOrNull, newId } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { RowKey } from './row-key.ts';

export type TurnRow = Selectable<Tables['agent_turns']> & QueueRow;

const selectTurns = (db: Db, { workspace_id, id }: RowKey) =>
  db.selectFrom('agent_turns').where('workspace_id', '=', workspace_id).where('conversation_id', '=', id);

export const findTurn = (db: Db, conversation: RowKey, id: string) =>
  selectTurns(db, conversation).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findRunningTurn = (db: Db, conversation: RowKey) =>
  selectTurns(db, conversation).where('due_at', 'is not', null).select('id').executeTakeFirst();

// Queues use the database's clock.
const dueNow = sql<Date>`clock_timestamp()`;

export const insertTurn = (
  db: Db,
  conversation: RowKey,
  turn: { message_id: string; reservation_id: string; may_save_memories: boolean },
  now: Date,
) =>
  db
    .insertInto('agent_turns')
    .values({
      ...turn,
      id: newId(),
      workspace_id: conversation.workspace_id,
      conversation_id: conversation.id,
      created_date: now,
      due_at: dueNow,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Makes a failed turn due again, as if it had never run. */
export async function restartTurn(
  db: Db,
  turn: TurnRow,
  fields: { reservation_id: string; may_save_memories: boolean },
) {
  await removeDeltas(db, turn);
  return db
    .updateTable('agent_turns')
    .set({
      ...fields,
      due_at: dueNow,
      ended_date: null,
      failed_at: null,
      last_error: null,
      failures: 0,
      crash_count: 0,
    })
    .where('workspace_id', '=', turn.workspace_id)
    .where('id', '=', turn.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function saveTurnEnd(db: Db, { workspace_id, id }: RowKey, reply_id: string | null, now: Date) {
  await db
    .updateTable('agent_turns')
    .set({ reply_id, ended_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

const turnsKeptMs = 2 * 24 * 60 * 60 * 1000;

/** Removes turns that can no longer be found by an Idempotency-Key. Returns how many were removed. */
export const removeOldTurns = (db: Db, now: Date): Promise<number> =>
  purge(db, {
    table: 'agent_turns',
    where: sql`due_at is null and created_date < ${new Date(now.getTime() - turnsKeptMs)}`,
  });
