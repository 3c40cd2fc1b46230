// Owns the shapes of the builder chat (docs/api/builder-chat.md).
import { z } from 'zod';
import { App, AppStatus } from '../../core/identity/app-shapes.ts';
import { messageFields, presentMessageOf } from '../../core/turns/messages.ts';
import { answer, pageQuery, query } from '../../kit/http/shapes.ts';
import type { MessageRow } from './store/messages.ts';
import type { TurnRow } from './store/turns.ts';

export const ChatMessage = answer('ChatMessage', messageFields);

export const ChatTurn = answer('ChatTurn', {
  app: App,
  conversation: answer('ChatConversation', { messages: z.array(ChatMessage) }),
  status: AppStatus,
});

export const ChatQuery = query(pageQuery);

export const ChatStopped = answer('ChatStopped', { stopped: z.boolean() });

/** There is one conversation per app, so the app's id is the conversation's. */
export const presentMessage = (row: MessageRow): z.input<typeof ChatMessage> =>
  presentMessageOf(row.app_id, { ...row, hidden: false, updated_date: row.created_date });

/** How a turn has ended, whatever has happened in the app since. */
export const presentTurnStatus = ({ error_source, error_message }: TurnRow): z.input<typeof AppStatus> =>
  error_source === null
    ? { state: 'ready', message: '', error_source: null }
    : { state: 'error', message: error_message ?? '', error_source };
