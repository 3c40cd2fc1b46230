// Owns the connection to a browser: the Chrome DevTools Protocol over a pipe, JSON messages that end with a NUL character.
// What the browser sends contains what a page says, so it is bounded.
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

export interface BrowserEvent {
  readonly method: string;
  readonly params: unknown;
  /** The page or worker that the event is about. */
  readonly sessionId: string | undefined;
}

export interface Connection {
  /** Rejects if the browser refuses the command, and with BrowserGone if it exits before it answers. */
  send(method: string, params?: object, sessionId?: string): Promise<unknown>;
  onEvent(listener: (event: BrowserEvent) => void): void;
  /** Rejects with BrowserGone when the connection ends. */
  readonly gone: Promise<never>;
}

/** The browser or the page crashed, or sent something that ends the check. The message is for the operator. */
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
  gone.catch(() => {}); // every command is rejected, too
  let [lastId, received] = [0, 0];
  /** The parts of a message that has no end yet. Joined once, because a long one has thousands. */
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

  toBrowser.on('error', () => {}); // as `close` of the other one
  fromBrowser.on('error', () => {});
  fromBrowser.once('close', () => end('Chromium exited'));
  fromBrowser.setEncoding('utf8').on('data', (text: string) => {
    received += text.length;
    if (received > maxReceived) return end('the page said too much');
    const parts = text.split('\0');
    const rest = parts.pop() ?? '';
    try {
      for (const part of parts) receive([...unfinished.splice(0), part].join(''));
      unfinished.push(rest);
    } catch (error) {
      end(`Chromium sent what was not expected: ${(error as Error).message}`);
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
