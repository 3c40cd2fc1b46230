// Sends a message to the assistant of an app: from its chat, and from whatever asks the assistant something.
import { useRef, useState } from 'react';
import { isPlinthError, newKey, type PlinthError, send, useCaller } from './client.ts';

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
  const intent = useRef({ content: '', key: '' });
  const sendMessage = async (content: string): Promise<boolean> => {
    if (intent.current.content !== content) intent.current = { content, key: newKey() };
    setSending(true);
    setProblem(undefined);
    const leaving = new AbortController();
    try {
      const options = { idempotencyKey: intent.current.key, signal: leaving.signal };
      for await (const _ of send(caller, 'sendChatMessage', { app_id, content }, options).stream()) break;
      intent.current = { content: '', key: '' };
      return true;
    } catch (error) {
      if (!isPlinthError(error)) throw error;
      const title = error.outcomeUnknown ? 'Your message may not have arrived' : 'Your message was not sent';
      // The key is the same, so the server sends it only once.
      const againIfUnknown = 'Check, and send if it did not arrive';
      setProblem({ error, title, onAgain: () => void sendMessage(content), againIfUnknown });
      return false;
    } finally {
      leaving.abort();
      setSending(false);
    }
  };
  return { isSending, problem, send: sendMessage };
}
