// Owns one request and its answer on connections already vetted: what is read, how much of it, and when it is given up.
import type { Dispatcher, Pool } from 'undici';
import { DialError } from './dial.ts';
import type { Answered, Failed, FailureKind, Refused } from './outcome.ts';

export interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
  /** Bytes of the answer's body that are read. */
  readonly bodyBytes: number;
}

/** The signal's reason is the kind of failure it ends with. */
export function exchange(pool: Pool, request: Exchange, signal: AbortSignal): Promise<Answered | Refused | Failed> {
  const { promise, resolve } = Promise.withResolvers<Answered | Refused | Failed>();
  const { bodyBytes, ...options } = request;
  let under: Dispatcher.DispatchController | undefined;
  let head: Pick<Answered, 'status' | 'headers'> | undefined;
  const chunks: Buffer[] = [];
  let received = 0;

  const settle = (outcome: Answered | Refused | Failed) => {
    signal.removeEventListener('abort', giveUp);
    resolve(outcome);
  };
  const giveUp = () => {
    settle({ outcome: 'failed', kind: signal.reason, sent: under !== undefined });
    under?.abort(new Error('given up'));
  };
  const answer = (cut: boolean) => {
    if (head !== undefined)
      settle({ outcome: 'answered', ...head, body: Buffer.concat(chunks).subarray(0, bodyBytes), cut });
  };

  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  pool.dispatch(options, {
    // Called when a connection is there and nothing is written yet: from here on, bytes may arrive.
    onRequestStart(controller) {
      if (signal.aborted) controller.abort(new Error('given up'));
      else under = controller;
    },
    onResponseStart(_controller, status, headers) {
      if (status >= 200) head = { status, headers: flat(headers) };
    },
    onResponseData(controller, chunk) {
      chunks.push(chunk);
      received += chunk.length;
      if (received <= bodyBytes) return;
      answer(true);
      controller.abort(new Error('enough read'));
    },
    onResponseEnd: () => answer(false),
    onResponseError: (_controller, error) => settle(ending(error, under !== undefined)),
  });
  return promise;
}

function ending(error: Error, sent: boolean): Refused | Failed {
  if (!(error instanceof DialError)) return { outcome: 'failed', kind: failureKind(error), sent };
  if (error.kind === 'address') return { outcome: 'refused', reason: 'address' };
  return { outcome: 'failed', kind: error.kind, sent };
}

const kinds: Readonly<Record<string, FailureKind>> = {
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
};

function failureKind(error: Error & { code?: string }): FailureKind {
  const code = error.code ?? '';
  // In TLS 1.3 the other side may refuse us after our half of the handshake is over.
  if (code.startsWith('ERR_SSL')) return 'tls';
  // "bad response", "bad upgrade": the client hung up, not the other side.
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) return 'protocol';
  return kinds[code] ?? 'protocol';
}

/** One string per name; no name reaches a prototype. */
function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flattened: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) flattened[name] = [value].flat().join(', ');
  return flattened;
}
