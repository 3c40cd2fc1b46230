// The pipes between Playwright and a session's browser. They carry NUL-terminated JSON messages. The browser's
// messages contain text from the page, so their size is limited.
import type { Readable, Writable } from 'node:stream';
import type { ConnectOverCDPTransport } from 'playwright-core';

export interface TransportLimits {
  readonly messages: number;
  readonly messageLength: number;
  /** The total length of the page's own output: console messages and exceptions. */
  readonly spokenLength: number;
}

const defaultLimits: TransportLimits = {
  messages: 500_000,
  messageLength: 64 * 1024 ** 2,
  spokenLength: 16 * 1024 ** 2,
};

const spoken = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded']);

/**
 * When a limit is reached, `onExcess` is called with the reason, which is for the operator, and the transport is
 * closed.
 */
export function createTransport(
  toBrowser: Writable,
  fromBrowser: Readable,
  onExcess: (why: string) => void,
  limits: TransportLimits = defaultLimits,
): ConnectOverCDPTransport {
  /** The parts of an incomplete message. They are joined only once, because a long message has thousands of parts. */
  const unfinished: string[] = [];
  let [messages, spokenLength, unfinishedLength] = [0, 0, 0];

  function end(why: string): void {
    onExcess(why);
    fromBrowser.destroy();
  }

  function receive(text: string): void {
    const message: { readonly method?: string } = JSON.parse(text);
    messages += 1;
    if (spoken.has(message.method ?? '')) spokenLength += text.length;
    const isTooMuch = messages > limits.messages || spokenLength > limits.spokenLength;
    if (isTooMuch) end('the page sent too much data');
    // Delivers each message in its own task, because Playwright expects one message's promises to settle before the
    // next.
    else setImmediate(() => transport.onmessage?.(message));
  }

  toBrowser.on('error', () => {}); // the other pipe's `close` event handles this
  fromBrowser.on('error', () => {});
  fromBrowser.once('close', () => setImmediate(() => transport.onclose?.()));
  fromBrowser.setEncoding('utf8').on('data', (text: string) => {
    const parts = text.split('\0');
    const rest = parts.pop() ?? '';
    try {
      for (const part of parts) {
        if (fromBrowser.destroyed) return;
        receive([...unfinished.splice(0), part].join(''));
        unfinishedLength = 0;
      }
      unfinished.push(rest);
      unfinishedLength += rest.length;
      if (unfinishedLength > limits.messageLength) end('the page sent too much data at once');
    } catch (error) {
      end(`Chromium sent an unexpected message: ${(error as Error).message}`);
    }
  });

  const transport: ConnectOverCDPTransport = {
    send: (message) => void toBrowser.write(`${JSON.stringify(message)}\0`),
    close: () => void fromBrowser.destroy(),
  };
  return transport;
}
