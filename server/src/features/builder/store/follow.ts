// The queries for following an app's chat: where its turns are among its messages.
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { ChatKey } from './messages.ts';

/** A turn, found by the position of its first message. Positions order an app's turns, whatever their clocks said. */
export interface PlacedTurn {
  readonly id: string;
  readonly message_id: string;
  readonly message: number;
  readonly claims: number;
  readonly has_ended: boolean;
}

export interface ChatState {
  /** The app's revision. */
  readonly revision: number;
  /** The position of the last message; 0 if there is none. */
  readonly last_message: number;
  /** The first turn whose message is at the given position or after it. Turns are kept for two days. */
  readonly turn: PlacedTurn | null;
}

const selectState = prepared<ChatState, [workspaceId: string, appId: string, from: number]>(
  'find state of chat',
  `select revision, coalesce(last_message, 0) as last_message, turn
   from apps
     left join lateral (select max(position) as last_message from chat_messages
       where workspace_id = $1 and app_id = $2) last on true
     left join lateral (select json_build_object('id', t.id, 'message_id', t.message_id, 'message', m.position,
         'claims', t.claims, 'has_ended', t.ended_date is not null) as turn
       from chat_messages m join chat_turns t on t.id = m.turn_id and t.message_id = m.id
       where m.workspace_id = $1 and m.app_id = $2 and m.position >= $3 and t.workspace_id = $1
       order by m.position limit 1) next on true
   where workspace_id = $1 and id = $2 and deleted_date is null`,
);

/** Reads the chat from a message's position on. Undefined if the app was deleted. */
export const findChatState = async (db: Db, chat: ChatKey, from: number): Promise<ChatState | undefined> =>
  (await selectState(db, chat.workspace_id, chat.app_id, from))[0];

const selectRunning = prepared<{ position: number }, [workspaceId: string, appId: string]>(
  'find first message of running turn',
  `select m.position from chat_turns t join chat_messages m on m.id = t.message_id
   where t.workspace_id = $1 and t.app_id = $2 and t.ended_date is null and m.workspace_id = $1 and m.app_id = $2`,
);

/** The position of the running turn's first message. */
export const findRunningMessage = async (db: Db, chat: ChatKey): Promise<number | undefined> =>
  (await selectRunning(db, chat.workspace_id, chat.app_id))[0]?.position;
