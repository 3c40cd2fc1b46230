// A single HTTP request to the ad platform, which is limited in time and size and is never repeated. The operator
// sets the addresses, so requests bypass the guard for caller-supplied addresses.
import { Pool } from 'undici';
import { exchange } from '../../kit/outbound/exchange.ts';
import { parseJson } from './json.ts';

/** Each purpose has its own connections, so slow reads can't delay a pause. */
export type Purpose = 'changes' | 'reads';

export interface RestRequest {
  readonly purpose: Purpose;
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
}

export type RestAnswer =
  /** `body` is undefined if it is not JSON or exceeds the limit. */
  | { readonly outcome: 'answered'; readonly status: number; readonly requestId: string | null; readonly body: unknown }
  | { readonly outcome: 'failed'; readonly kind: string; readonly sent: boolean };

export type Send = (request: RestRequest) => Promise<RestAnswer>;

/** A page of 10,000 rows takes a few MiB. */
const maxBodyBytes = 32 * 1024 * 1024;
/** Connections per process. A process's workers send at most 64 changes at a time. */
const maxConnections: Readonly<Record<Purpose, number>> = { changes: 64, reads: 32 };

export function openRest(): { readonly send: Send; close(): Promise<void> } {
  const pools = new Map<string, Pool>();
  const poolFor = (origin: string, purpose: Purpose): Pool => {
    const key = `${purpose} ${origin}`;
    const connections = maxConnections[purpose];
    const pool = pools.get(key) ?? new Pool(origin, { connections, connect: { timeout: 5_000 } });
    pools.set(key, pool);
    return pool;
  };

  return {
    async send({ purpose, method, url, headers, body, timeoutMs }) {
      const { origin, pathname, search } = new URL(url);
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort('timeout'), timeoutMs);
      const request = { method, path: pathname + search, headers, body: body ?? null, maxBodyBytes };
      const outcome = await exchange(poolFor(origin, purpose), request, stop.signal);
      clearTimeout(timer);
      if (outcome.outcome === 'refused') return { outcome: 'failed', kind: outcome.reason, sent: false };
      if (outcome.outcome === 'failed') return outcome;
      const requestId = outcome.headers['request-id'] ?? null;
      const text = outcome.truncated ? '' : outcome.body.toString('utf8');
      return { outcome: 'answered', status: outcome.status, requestId, body: parseJson(text) };
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}
