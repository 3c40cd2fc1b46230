// The message that every event in this measurement contains, both in Plinth and in the bare programs.
import { newId } from '../../server/src/kit/ids.ts';

export function newMessage() {
  const date = new Date().toISOString();
  const content = 'A message of a usual length, so its bytes count. '.repeat(6);
  return {
    conversation_id: newId(),
    data: {
      message: { id: newId(), role: 'user', content, file_urls: [], created_date: date, updated_date: date },
      user: { id: newId(), email: 'somebody@example.com' },
    },
  } as const;
}

/** Builds a delivery's body, as Plinth would send it. */
export const bodyOf = (event_id: string, agent_id: string): string =>
  JSON.stringify({
    id: event_id,
    type: 'message.created',
    created_at: new Date().toISOString(),
    agent_id,
    ...newMessage(),
  });
