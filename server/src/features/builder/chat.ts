// An app's chat: starting a turn with a person's message, stopping it, and reading the messages
// (docs/api/builder-chat.md). A worker runs the turn (turn.ts).
import type { AppAccess } from '../../core/auth/proofs.ts';
import { saveAppStatus } from '../../core/identity/apps.ts';
import type { NewMessage } from '../../core/turns/messages.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { stopTurn } from './end.ts';
import { insertMessage, toChatKey, toChatTopic } from './store/messages.ts';
import { findRunningTurn, insertTurn, type TurnRow } from './store/turns.ts';

/** The name of both the turn queue's table and its wake-up topic. */
export const turnQueue = 'chat_turns';

export interface ChatDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** Writes the message, the turn and the app's status in one transaction. */
export function startTurn(
  db: Db,
  { wake }: ChatDeps,
  access: AppAccess,
  sent: NewMessage,
  now: Date,
): Promise<TurnRow> {
  const { content, file_urls = [] } = sent;
  return transaction(db, async (db) => {
    const chat = toChatKey(access);
    // Locks the app's row. If two messages are sent concurrently, the second finds the first one's turn.
    await saveAppStatus(db, chat, { status_state: 'processing', status_message: '', status_error_source: null });
    if ((await findRunningTurn(db, chat)) !== undefined) throw appBusy();
    const id = newId();
    const turn = await insertTurn(db, access, id, now);
    await insertMessage(db, turn, { id, role: 'user', content, file_urls }, now);
    afterCommit(db, () => {
      wake.notify(turnQueue);
      wake.notify(toChatTopic(chat.app_id));
    });
    return turn;
  });
}

const appBusy = () =>
  new Problem(
    'conflict',
    'app_busy',
    'The assistant is still working on this app. Wait until it has finished, or stop it with stopChat.',
  );

/** Ends the running turn. After this, none of the turn's changes can be saved. */
export async function stopChat(db: Db, deps: ChatDeps, access: AppAccess, now: Date) {
  const turn = await findRunningTurn(db, toChatKey(access));
  const stopped = turn !== undefined && (await stopTurn(db, deps, turn, now));
  return stopped ? { stopped } : unchanged({ stopped });
}
