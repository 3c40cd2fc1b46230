// Owns an API client that retries at any process, under one idempotency key, until it gets a final answer.
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../server/src/kit/ids.ts';
import { type CallResult, call } from '../../server/test/support/client.ts';

export type Call = (method: string, path: string, body?: object) => Promise<CallResult>;

/** Conflicts that go away by themselves. */
const transientConflicts = new Set(['idempotency_in_progress', 'conversation_busy']);

/**
 * Returns a 2xx, or a 409 that is final. Any other refusal is a mistake in the drill. Throws once the signal is aborted.
 */
export function retryingClient(apis: readonly string[], token: string, signal?: AbortSignal): Call {
  return async (method, path, body) => {
    const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': newId() } : {};
    for (let tries = 0; ; tries += 1) {
      signal?.throwIfAborted();
      const got = await call(apis[tries % apis.length] as string, method, path, { as: token, body, headers }).catch(
        () => undefined, // its process is gone, or was killed over it
      );
      if (got !== undefined && got.status < 300) return got;
      if (got?.status === 409 && !transientConflicts.has(got.body.code)) return got;
      if (got !== undefined && got.status < 500 && got.status !== 409 && got.status !== 429)
        throw new Error(`${method} ${path} answered ${got.status}: ${got.text}`);
      await sleep(got?.status === 429 ? Number(got.headers['retry-after']) * 1000 : 100);
    }
  };
}
