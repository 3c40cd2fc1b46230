// The queries on chat messages. Messages are inserted while the app's row is locked, so positions have no gaps.
import { type Selectable, sql } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import type { Db, Tables } from '../../../tables.ts';

export type MessageRow = Selectable<Tables['chat_messages']>;

/** The app that a chat belongs to. */
export interface ChatKey {
  readonly workspace_id: string;
  readonly app_id: string;
}

export const toChatKey = ({ app }: AppAccess): ChatKey => ({ workspace_id: app.workspace_id, app_id: app.id });

/** The wake-up topic of those who follow all turns of an app. */
export const toChatTopic = (appId: string): string => `chat:${appId}`;

const selectMessages = (db: Db, { workspace_id, app_id }: ChatKey) =>
  db.selectFrom('chat_messages').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

/** Lists messages newest first, with one row more than the limit. */
export function listMessages(db: Db, chat: ChatKey, limit: number, after: Position | undefined): Promise<MessageRow[]> {
  const page = selectMessages(db, chat)
    .selectAll()
    .orderBy('position', 'desc')
    .limit(limit + 1);
  return (after === undefined ? page : page.where('position', '<', Number(after[0]))).execute();
}

/** A turn's messages: the person's message, then the replies. */
export const listTurnMessages = (db: Db, turn: ChatKey & { readonly id: string }): Promise<MessageRow[]> =>
  selectMessages(db, turn).where('turn_id', '=', turn.id).orderBy('position').selectAll().execute();

export const findMessage = (db: Db, chat: ChatKey, id: string): Promise<MessageRow | undefined> =>
  selectMessages(db, chat).where('id', '=', id).selectAll().executeTakeFirst();

/** Returns the most recent messages up to and including position `upTo`, oldest first. */
export async function listRecentMessages(db: Db, chat: ChatKey, upTo: number, limit: number) {
  const page = selectMessages(db, chat)
    .where('position', '<=', upTo)
    .select(['role', 'content', 'file_urls', 'tool_calls'])
    .orderBy('position', 'desc')
    .limit(limit);
  return (await page.execute()).reverse();
}

export type NewMessageRow = Pick<MessageRow, 'id' | 'role' | 'content'> &
  Partial<Pick<MessageRow, 'file_urls' | 'prompt_tokens' | 'completion_tokens' | 'model'>> & {
    readonly tool_calls?: readonly object[];
  };

export async function insertMessage(
  db: Db,
  { workspace_id, app_id, id: turn_id }: ChatKey & { readonly id: string },
  { tool_calls = [], ...message }: NewMessageRow,
  now: Date,
): Promise<void> {
  const nextPosition = selectMessages(db, { workspace_id, app_id }).select(
    sql<number>`coalesce(max(position), 0) + 1`.as('position'),
  );
  const keys = { workspace_id, app_id, turn_id, created_date: now };
  await db
    .insertInto('chat_messages')
    .values({ ...message, ...keys, tool_calls: JSON.stringify(tool_calls), position: nextPosition })
    .execute();
}
