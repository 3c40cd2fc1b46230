// The queries on a conversation's messages.
import { sql } from 'kysely';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { ConversationQuery, MessageRow } from '../contract.ts';
import type { ConversationAccess } from './conversations.ts';
import type { RowKey } from './row-key.ts';

const selectMessages = (db: Db, { workspace_id, id }: RowKey) =>
  db.selectFrom('agent_messages').where('workspace_id', '=', workspace_id).where('conversation_id', '=', id);

/** Returns the newest messages, or the newest before the message `before`. The result is sorted oldest first. */
export async function listMessages(db: Db, conversation: RowKey, { limit, before }: ConversationQuery) {
  let page = selectMessages(db, conversation).selectAll().orderBy('position', 'desc').limit(limit);
  if (before !== undefined) {
    const position = selectMessages(db, conversation).where('id', '=', idOrNull(before)).select('position');
    page = page.where('position', '<', position);
  }
  return (await page.execute()).reverse();
}

export const findMessage = (db: Db, conversation: RowKey, id: string) =>
  selectMessages(db, conversation).where('id', '=', id).selectAll().executeTakeFirst();

export type NewMessageRow = Pick<MessageRow, 'id' | 'role' | 'content' | 'file_urls'> &
  Partial<Pick<MessageRow, 'prompt_tokens' | 'completion_tokens' | 'model'>> & {
    readonly tool_calls?: readonly object[];
  };

/** Inserts a message at the end of the conversation. */
export async function insertMessage(
  db: Db,
  { workspace_id, id }: RowKey,
  message: NewMessageRow,
  now: Date,
): Promise<MessageRow> {
  const { last_position } = await db
    .updateTable('agent_conversations')
    .set((is) => ({ last_position: is('last_position', '+', 1), updated_date: now }))
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returning('last_position')
    .executeTakeFirstOrThrow();
  const { tool_calls = [], ...fields } = message;
  return db
    .insertInto('agent_messages')
    .values({
      ...fields,
      workspace_id,
      conversation_id: id,
      position: last_position,
      tool_calls: JSON.stringify(tool_calls),
      created_date: now,
      updated_date: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function removeMessage(db: Db, { conversation }: ConversationAccess, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('agent_messages')
    .where('workspace_id', '=', conversation.workspace_id)
    .where('conversation_id', '=', conversation.id)
    .where('id', '=', idOrNull(id))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Returns the last visible messages up to and including position `upTo`, oldest first. */
export async function listRecentMessages(db: Db, conversation: RowKey, upTo: number, limit: number) {
  const page = selectMessages(db, conversation)
    .where('position', '<=', upTo)
    .where('hidden', '=', false)
    .select(['role', 'content', 'file_urls'])
    .orderBy('position', 'desc')
    .limit(limit);
  return (await page.execute()).reverse();
}

/** Returns the last messages' combined size without loading their content. */
export async function countRecentBytes(db: Db, conversation: RowKey, limit: number): Promise<number> {
  const recent = selectMessages(db, conversation)
    .select('content')
    .orderBy('position', 'desc')
    .limit(limit)
    .as('recent');
  const { bytes } = await db
    .selectFrom(recent)
    .select(sql<number>`coalesce(sum(octet_length(content)), 0)`.as('bytes'))
    .executeTakeFirstOrThrow();
  return bytes;
}
