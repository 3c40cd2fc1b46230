// The queries on messages that people send to a session after its launch.
import type { Insertable, Selectable } from 'kysely';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { AppKey, SessionKey } from './sessions.ts';

export type MessageRow = Selectable<Tables['coding_messages']>;
export type MessageError = NonNullable<MessageRow['error_code']>;

const selectMessages = (db: Db, { workspace_id, id }: SessionKey) =>
  db.selectFrom('coding_messages').where('workspace_id', '=', workspace_id).where('session_id', '=', id);

export const findMessage = (db: Db, session: SessionKey, id: string): Promise<MessageRow | undefined> =>
  selectMessages(db, session).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findMessageByKey = (
  db: Db,
  { workspace_id, app_id }: AppKey,
  user_id: string,
  key: string,
): Promise<MessageRow | undefined> =>
  db
    .selectFrom('coding_messages')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('user_id', '=', user_id)
    .where('key', '=', key)
    .selectAll()
    .executeTakeFirst();

/** All messages, in the order they were sent. */
export const listMessages = (db: Db, session: SessionKey): Promise<MessageRow[]> =>
  selectMessages(db, session).orderBy('id').selectAll().execute();

/** The messages that the agent has not read yet, in the order they were sent. */
export const listPendingMessages = (db: Db, session: SessionKey): Promise<Pick<MessageRow, 'id'>[]> =>
  selectMessages(db, session).where('state', '=', 'pending').orderBy('id').select('id').execute();

export const insertMessage = (db: Db, message: Insertable<Tables['coding_messages']>): Promise<MessageRow> =>
  db.insertInto('coding_messages').values(message).returningAll().executeTakeFirstOrThrow();

export async function saveDelivered(
  db: Db,
  { workspace_id, id }: SessionKey,
  messageIds: readonly string[],
): Promise<void> {
  if (messageIds.length === 0) return;
  await db
    .updateTable('coding_messages')
    .set({ state: 'delivered' })
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('id', 'in', messageIds)
    .where('state', '=', 'pending')
    .execute();
}

/** Marks unread messages as failed. */
export async function failPending(db: Db, { workspace_id, id }: SessionKey, error_code: MessageError): Promise<void> {
  await db
    .updateTable('coding_messages')
    .set({ state: 'failed', error_code })
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('state', '=', 'pending')
    .execute();
}
