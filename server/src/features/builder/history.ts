// The chat history that the model sees in a turn: the newest messages, including earlier turns' outcomes.
import type { ToolCall } from '../../core/turns/deltas.ts';
import { buildHistory, historyLimits } from '../../core/turns/messages.ts';
import type { StepMessage } from '../../gateways/language-model/index.ts';
import type { Db } from '../../tables.ts';
import { findMessage, listRecentMessages } from './store/messages.ts';
import type { TurnRow } from './store/turns.ts';

interface HistoryMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** A message from a person or the assistant, without tool calls. */
type SaidMessage = Extract<StepMessage, { role: 'user' | 'assistant' }>;

/** Returns the messages up to the one that started the turn, oldest first. */
export async function readHistory(db: Db, turn: TurnRow): Promise<SaidMessage[]> {
  const message = await findMessage(db, turn, turn.message_id);
  if (message === undefined) throw new Error('the message of the turn does not exist');
  const rows = await listRecentMessages(db, turn, message.position, historyLimits.messages);
  return mergeSpeakers(buildHistory(rows.map(toHistoryMessage))).map(({ role, content }) =>
    role === 'user' ? { role, content } : { role, content, tool_calls: [] },
  );
}

type RecentMessage = Awaited<ReturnType<typeof listRecentMessages>>[number];

/** Platform messages are presented as the assistant's, so the model knows which changes were not saved. */
function toHistoryMessage({ role, content, file_urls, tool_calls }: RecentMessage) {
  if (role === 'user') return { role, content, file_urls };
  const saved = (tool_calls as ToolCall[]).find(isSavedRevision);
  const notes = saved === undefined ? [] : [`(Saved: ${saved.arguments_string})`];
  const text = role === 'system' ? `(${content})` : content;
  return {
    role: 'assistant' as const,
    content: [text, ...notes].filter((part) => part !== '').join('\n\n'),
    file_urls,
  };
}

// The model can't fake this call, because no tool has this name.
const isSavedRevision = ({ name, status }: ToolCall): boolean => name === 'save_revision' && status === 'success';

/** Models expect user and assistant messages to alternate. */
function mergeSpeakers(messages: readonly HistoryMessage[]): HistoryMessage[] {
  const merged: HistoryMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === message.role)
      merged.splice(-1, 1, { role: last.role, content: `${last.content}\n\n${message.content}` });
    else merged.push(message);
  }
  return merged;
}
