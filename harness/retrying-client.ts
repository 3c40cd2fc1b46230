// An API client that retries on any API process, with the same idempotency key, until it gets a final response.
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../server/src/kit/ids.ts';
import { type CallResult, call } from '../server/test/support/client.ts';

export type Call = (method: string, path: string, body?: object) => Promise<CallResult>;

/** Conflicts that resolve without intervention. */
const transientConflicts = new Set(['idempotency_in_progress', 'conversation_busy']);

/**
 * Returns a 2xx response or a final 409. Throws once the signal is aborted, and on any other error response, which
 * indicates a mistake in the drill.
 */
export function retryingClient(apis: readonly string[], token: string, signal?: AbortSignal): Call {
  return async (method, path, body) => {
    const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': newId() } : {};
    for (let tries = 0; ; tries += 1) {
      signal?.throwIfAborted();
      const got = await call(apis[tries % apis.length] as string, method, path, { as: token, body, headers }).catch(
        () => undefined, // the process has ended, or was killed during the request
      );
      if (got !== undefined && got.status < 300) return got;
      if (got?.status === 409 && !transientConflicts.has(got.body.code)) return got;
      if (got !== undefined && got.status < 500 && got.status !== 409 && got.status !== 429)
        throw new Error(`${method} ${path} answered ${got.status}: ${got.text}`);
      await sleep(got?.status === 429 ? Number(got.headers['retry-after']) * 1000 : 100);
    }
  };
}
