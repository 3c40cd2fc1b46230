// Owns the pipes between Playwright and a session's browser: JSON messages that end with a NUL character. What the browser sends
// contains what a page says, so it is bounded.
import type { Readable, Writable } from 'node:stream';
import type { ConnectOverCDPTransport } from 'playwright-core';

export interface TransportLimits {
  readonly messages: number;
  readonly messageLength: number;
  /** Of what the page itself writes: to the console, and as exceptions. */
  readonly spokenLength: number;
}

const defaultLimits: TransportLimits = {
  messages: 500_000,
  messageLength: 64 * 1024 ** 2,
  spokenLength: 16 * 1024 ** 2,
};

const spoken = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded']);

/** `onExcess` is called with the reason, for the operator, when a limit is reached. The transport is then closed. */
export function createTransport(
  toBrowser: Writable,
  fromBrowser: Readable,
  onExcess: (why: string) => void,
  limits: TransportLimits = defaultLimits,
): ConnectOverCDPTransport {
  /** The parts of a message that has no end yet. Joined once, because a long one has thousands. */
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
    if (isTooMuch) end('the page said too much');
    // Each in a task of its own: Playwright expects that promises of one message are settled before the next.
    else setImmediate(() => transport.onmessage?.(message));
  }

  toBrowser.on('error', () => {}); // as `close` of the other one
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
      if (unfinishedLength > limits.messageLength) end('the page said too much at once');
    } catch (error) {
      end(`Chromium sent what was not expected: ${(error as Error).message}`);
    }
  });

  const transport: ConnectOverCDPTransport = {
    send: (message) => void toBrowser.write(`${JSON.stringify(message)}\0`),
    close: () => void fromBrowser.destroy(),
  };
  return transport;
}
