// Sends a message to the assistant of an app: from its chat, and from whatever asks the assistant something.
import { useRef, useState } from 'react';
import { type EventOf, isPlinthError, newKey, type PlinthError, send, useCaller } from './client.ts';

export interface Sending {
  readonly isSending: boolean;
  readonly problem:
    | {
        readonly error: PlinthError;
        readonly title: string;
        readonly onAgain: () => void;
        readonly againIfUnknown: string;
      }
    | undefined;
  /** What a check has found, after it was not known whether a message had arrived. */
  readonly checked: { readonly content: string; readonly hadArrived: boolean } | undefined;
  send(content: string): Promise<boolean>;
}

/**
 * Sends a message and returns as soon as the server has stored it. What the assistant does about it is told by the
 * stream that every editor follows, so the stream of this request is left.
 */
export function useSending(app_id: string): Sending {
  const caller = useCaller();
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<Sending['problem']>();
  const [checked, setChecked] = useState<Sending['checked']>();
  const intent = useRef({ content: '', key: '' });
  const readIds = async (): Promise<readonly string[]> => {
    const chat = await send(caller, 'getChat', { app_id, limit: 10 });
    return chat.items.map(({ id }) => id);
  };
  const sendMessage = async (content: string, isCheck = false): Promise<boolean> => {
    if (intent.current.content !== content) intent.current = { content, key: newKey() };
    setSending(true);
    setProblem(undefined);
    setChecked(undefined);
    const leaving = new AbortController();
    try {
      const known = isCheck ? await readIds() : [];
      const options = { idempotencyKey: intent.current.key, signal: leaving.signal };
      let first: EventOf<'sendChatMessage'> | undefined;
      for await (const event of send(caller, 'sendChatMessage', { app_id, content }, options).stream()) {
        first = event;
        break;
      }
      // The first thing that is told of a message is that it was stored. If it is known already, it had arrived.
      const isNew = first?.event === 'message.created' && !known.includes(first.data.id);
      if (isCheck) setChecked({ content, hadArrived: !isNew });
      intent.current = { content: '', key: '' };
      return true;
    } catch (error) {
      if (!isPlinthError(error)) throw error;
      const title = error.outcomeUnknown ? 'Your message may not have arrived' : 'Your message was not sent';
      // The key is the same, so the server sends it only once.
      const againIfUnknown = 'Check, and send if it did not arrive';
      const isUnknown = isCheck || error.outcomeUnknown;
      setProblem({ error, title, onAgain: () => void sendMessage(content, isUnknown), againIfUnknown });
      return false;
    } finally {
      leaving.abort();
      setSending(false);
    }
  };
  return { isSending, problem, checked, send: (content) => sendMessage(content) };
}
