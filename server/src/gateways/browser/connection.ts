// The connection to a browser. It uses the Chrome DevTools Protocol over a pipe, with NUL-terminated JSON
// messages. The messages contain text from the page, so their size is limited.
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

export interface BrowserEvent {
  readonly method: string;
  readonly params: unknown;
  /** The page or worker that the event belongs to. */
  readonly sessionId: string | undefined;
}

export interface Connection {
  /**
   * Rejects with an error if the browser refuses the command, or with BrowserGone if the browser exits before it
   * replies.
   */
  send(method: string, params?: object, sessionId?: string): Promise<unknown>;
  onEvent(listener: (event: BrowserEvent) => void): void;
  /** Rejects with BrowserGone when the connection ends. */
  readonly gone: Promise<never>;
}

/**
 * Thrown if the browser or the page crashed, or sent something that ends the check. The message is for the operator.
 */
export class BrowserGone extends Error {}

const maxReceived = 32 * 1024 ** 2;

const Message = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  sessionId: z.string().optional(),
});

export function connect(toBrowser: Writable, fromBrowser: Readable): Connection {
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  const listeners: ((event: BrowserEvent) => void)[] = [];
  const { promise: gone, reject: endWith } = Promise.withResolvers<never>();
  gone.catch(() => {}); // every pending command is rejected too
  let [lastId, received] = [0, 0];
  /** The parts of an incomplete message. They are joined only once, because a long message has thousands of parts. */
  const unfinished: string[] = [];

  function receive(text: string): void {
    const { id, result, error, method, params, sessionId } = Message.parse(JSON.parse(text));
    if (method !== undefined) for (const listener of listeners) listener({ method, params, sessionId });
    if (id === undefined) return;
    if (error === undefined) pending.get(id)?.resolve(result);
    else pending.get(id)?.reject(new Error(error.message));
    pending.delete(id);
  }

  function end(reason: string): void {
    fromBrowser.destroy();
    const error = new BrowserGone(reason);
    endWith(error);
    for (const command of pending.values()) command.reject(error);
    pending.clear();
  }

  toBrowser.on('error', () => {}); // the other pipe's `close` event handles this
  fromBrowser.on('error', () => {});
  fromBrowser.once('close', () => end('Chromium exited'));
  fromBrowser.setEncoding('utf8').on('data', (text: string) => {
    received += text.length;
    if (received > maxReceived) return end('the page sent too much data');
    const parts = text.split('\0');
    const rest = parts.pop() ?? '';
    try {
      for (const part of parts) receive([...unfinished.splice(0), part].join(''));
      unfinished.push(rest);
    } catch (error) {
      end(`Chromium sent an unexpected message: ${(error as Error).message}`);
    }
  });

  return {
    gone,
    onEvent: (listener) => void listeners.push(listener),
    send(method, params = {}, sessionId) {
      if (fromBrowser.destroyed) return Promise.reject(new BrowserGone('Chromium exited'));
      lastId += 1;
      const command = Promise.withResolvers<unknown>();
      pending.set(lastId, command);
      toBrowser.write(`${JSON.stringify({ id: lastId, method, params, sessionId })}\0`);
      return command.promise;
    },
  };
}
