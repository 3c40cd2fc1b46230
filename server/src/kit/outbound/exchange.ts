// A single HTTP request and its response on a vetted connection: how much of the response is read, and when the
// request is aborted.
import type { Dispatcher, Pool } from 'undici';
import { DialError } from './dial.ts';
import type { Answered, Failed, FailureKind, Refused } from './outcome.ts';

export interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
  /** The maximum number of bytes to read from the response body. */
  readonly maxBodyBytes: number;
}

/** When `signal` aborts, its reason becomes the failure's `kind`. */
export function exchange(pool: Pool, request: Exchange, signal: AbortSignal): Promise<Answered | Refused | Failed> {
  const { promise, resolve } = Promise.withResolvers<Answered | Refused | Failed>();
  const { maxBodyBytes } = request;
  let started: Dispatcher.DispatchController | undefined;
  let head: Pick<Answered, 'status' | 'headers'> | undefined;
  const chunks: Buffer[] = [];
  let receivedBytes = 0;

  const finish = (outcome: Answered | Refused | Failed) => {
    signal.removeEventListener('abort', onAbort);
    resolve(outcome);
  };
  const onAbort = () => {
    finish({ outcome: 'failed', kind: signal.reason, sent: started !== undefined });
    started?.abort(new Error('aborted'));
  };
  const finishAnswered = (truncated: boolean) => {
    if (head !== undefined)
      finish({ outcome: 'answered', ...head, body: Buffer.concat(chunks).subarray(0, maxBodyBytes), truncated });
  };

  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  pool.dispatch(request, {
    // Called once a connection exists, before anything is written. From here on, bytes may have been sent.
    onRequestStart(controller) {
      if (signal.aborted) controller.abort(new Error('aborted'));
      else started = controller;
    },
    onResponseStart(_controller, status, headers) {
      if (status >= 200) head = { status, headers: joinValues(headers) };
    },
    onResponseData(controller, chunk) {
      chunks.push(chunk);
      receivedBytes += chunk.length;
      if (receivedBytes <= maxBodyBytes) return;
      finishAnswered(true);
      controller.abort(new Error('response body limit reached'));
    },
    onResponseEnd: () => finishAnswered(false),
    onResponseError: (_controller, error) => finish(errorOutcome(error, started !== undefined)),
  });
  return promise;
}

function errorOutcome(error: Error, sent: boolean): Refused | Failed {
  if (!(error instanceof DialError)) return { outcome: 'failed', kind: failureKind(error), sent };
  if (error.kind === 'address') return { outcome: 'refused', reason: 'address' };
  return { outcome: 'failed', kind: error.kind, sent };
}

const kindByCode: Readonly<Record<string, FailureKind>> = {
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
  // In TLS 1.3, the server may reject the client after the client has finished its part of the handshake.
  if (code.startsWith('ERR_SSL')) return 'tls';
  // With "bad response" and "bad upgrade", the connection was closed by undici, not by the server.
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) return 'protocol';
  return kindByCode[code] ?? 'protocol';
}

/** Returns one string per header name. The null prototype makes a header named `__proto__` an ordinary key. */
function joinValues(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const joined: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    joined[name] = typeof value === 'string' ? value : [value].flat().join(', ');
  return joined;
}
