// The queries on conversations. Callers can access only their own conversations.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { idOrNull, newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { ConversationRow } from '../contract.ts';
import type { RowKey } from './row-key.ts';

export type ConversationAccess = AppAccess & { readonly conversation: ConversationRow };

/** The caller's own conversations with the agent. */
const selectConversations = (db: Db, { app, caller }: AppAccess) =>
  db
    .selectFrom('agent_conversations')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('user_id', '=', caller.user_id)
    .selectAll();

export const listConversations = (db: Db, access: AppAccess) => selectConversations(db, access).orderBy('id').execute();

export const findConversation = (db: Db, access: AppAccess, id: string) =>
  selectConversations(db, access).where('id', '=', idOrNull(id)).executeTakeFirst();

/** Returns undefined if the conversation already exists. */
export const insertConversation = (db: Db, { app, caller }: AppAccess, metadata: object, now: Date) =>
  db
    .insertInto('agent_conversations')
    .values({
      workspace_id: app.workspace_id,
      id: newId(),
      app_id: app.id,
      user_id: caller.user_id as string,
      metadata: JSON.stringify(metadata),
      created_date: now,
      updated_date: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id', 'user_id']).doNothing())
    .returningAll()
    .executeTakeFirst();

const selectConversation = (db: Db, { workspace_id, id }: RowKey) =>
  db.selectFrom('agent_conversations').where('workspace_id', '=', workspace_id).where('id', '=', id).selectAll();

export const findConversationById = (db: Db, conversation: RowKey) =>
  selectConversation(db, conversation).executeTakeFirst();

/**
 * Every transaction that starts or ends a turn takes this lock before locking the credit pool, so they can't deadlock.
 */
export const lockConversation = (db: Db, conversation: RowKey) =>
  selectConversation(db, conversation).forUpdate().executeTakeFirst();
