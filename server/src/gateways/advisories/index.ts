// The client for an advisory database that speaks the OSV protocol. It finds and reads the advisories for
// packages. The operator configures the database's address. Missing responses are returned as results, not thrown.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { z } from 'zod';
import { exchange } from '../../kit/outbound/exchange.ts';
import { Advisory, advisoryId } from './advisory.ts';

export type { Advisory, AdvisoryRange } from './advisory.ts';

/** A version of an npm package. */
export interface PackageVersion {
  readonly name: string;
  readonly version: string;
}

/** An advisory's id, and the time of its last change. */
export interface AdvisoryReference {
  readonly id: string;
  readonly modified: string;
}

export interface Unavailable {
  readonly outcome: 'unavailable';
  /** `off` means that no database is configured. */
  readonly reason: string;
}

export type FoundAdvisories =
  /** One list per package, in the same order. `isComplete` is false if there were more pages than the client reads. */
  | {
      readonly outcome: 'read';
      readonly lists: readonly (readonly AdvisoryReference[])[];
      readonly isComplete: boolean;
    }
  | Unavailable;

export type ReadAdvisory =
  | { readonly outcome: 'read'; readonly advisory: Advisory }
  | { readonly outcome: 'missing' }
  | Unavailable;

export interface Advisories {
  readonly isOffline: boolean;
  find(packages: readonly PackageVersion[], signal?: AbortSignal): Promise<FoundAdvisories>;
  read(reference: AdvisoryReference, signal?: AbortSignal): Promise<ReadAdvisory>;
  close(): Promise<void>;
}

export interface AdvisorySettings {
  /** If undefined, no database is queried. */
  readonly url: string | undefined;
  readonly timeoutMs?: number;
  /** Called after a request has failed twice. */
  readonly onFailure?: (failure: { readonly reason: string }) => void;
}

/** The protocol's limit. */
const maxQueries = 1_000;
const maxPages = 10;
const maxConnections = 8;
const maxBatchBytes = 32 * 1024 * 1024;
const maxAdvisoryBytes = 4 * 1024 * 1024;
const retryPauseMs = 200;

const Batch = z.object({
  results: z.array(
    z
      .object({
        vulns: z.array(z.object({ id: advisoryId, modified: z.string().max(64) })).nullish(),
        next_page_token: z.string().max(4096).nullish(),
      })
      .nullable(),
  ),
});

const off: Unavailable = { outcome: 'unavailable', reason: 'off' };

export function openAdvisories(settings: AdvisorySettings): Advisories {
  const { url } = settings;
  if (url === undefined)
    return { isOffline: true, find: async () => off, read: async () => off, close: async () => {} };
  const { request, close } = openRequests(url, settings);
  const cache = createCache(maxCachedBytes);

  /** Requests one page for each query. */
  async function findPage(queries: readonly Query[], signal: AbortSignal | undefined) {
    const body = JSON.stringify({
      queries: queries.map(({ name, version, pageToken }) => ({
        package: { name, ecosystem: 'npm' },
        version,
        ...(pageToken !== undefined && { page_token: pageToken }),
      })),
    });
    const answer = await request('POST', '/v1/querybatch', body, maxBatchBytes, signal);
    if ('reason' in answer) return answer;
    const batch = Batch.safeParse(answer.body);
    if (answer.status !== 200 || batch.data?.results.length !== queries.length) return unreadable(answer.status);
    return batch.data;
  }

  return {
    isOffline: false,
    async find(packages, signal) {
      const lists = packages.map((): AdvisoryReference[] => []);
      let open: Query[] = packages.map((each, index) => ({ ...each, index, pageToken: undefined }));
      for (let page = 0; page < maxPages && open.length > 0; page += 1) {
        const next: Query[] = [];
        for (let start = 0; start < open.length; start += maxQueries) {
          const queries = open.slice(start, start + maxQueries);
          const answer = await findPage(queries, signal);
          if ('reason' in answer) return answer;
          for (const [at, query] of queries.entries()) {
            const { vulns, next_page_token } = answer.results[at] ?? {};
            lists[query.index]?.push(...(vulns ?? []));
            if (next_page_token) next.push({ ...query, pageToken: next_page_token });
          }
        }
        open = next;
      }
      return { outcome: 'read', lists, isComplete: open.length === 0 };
    },
    async read({ id, modified }, signal) {
      const key = `${id} ${modified}`;
      const cached = cache.get(key);
      if (cached !== undefined) return { outcome: 'read', advisory: cached };
      const answer = await request('GET', `/v1/vulns/${encodeURIComponent(id)}`, null, maxAdvisoryBytes, signal);
      if ('reason' in answer) return answer;
      if (answer.status === 404) return { outcome: 'missing' };
      const advisory = Advisory.safeParse(answer.body).data;
      if (answer.status !== 200 || advisory === undefined || advisory.id !== id) return unreadable(answer.status);
      cache.set(key, advisory);
      return { outcome: 'read', advisory };
    },
    close,
  };
}

type Query = PackageVersion & { readonly index: number; readonly pageToken: string | undefined };

const unreadable = (status: number): Unavailable => ({
  outcome: 'unavailable',
  reason: status === 200 ? 'unreadable' : `status_${status}`,
});

type Answer = { readonly status: number; readonly body: unknown } | Unavailable;

/** A request without a response is repeated once, which is safe because requests change nothing. */
function openRequests(base: string, { timeoutMs = 20_000, onFailure }: AdvisorySettings) {
  const { origin, pathname } = new URL(base);
  const prefix = pathname.replace(/\/$/, '');
  const pool = new Pool(origin, { connections: maxConnections, connect: { timeout: 5_000 } });

  async function requestOnce(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    maxBodyBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const stop = new AbortController();
    const abort = () => stop.abort('aborted');
    const timer = setTimeout(() => stop.abort('timeout'), timeoutMs);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    const headers = { accept: 'application/json', ...(body !== null && { 'content-type': 'application/json' }) };
    const outcome = await exchange(pool, { method, path: prefix + path, headers, body, maxBodyBytes }, stop.signal);
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    if (outcome.outcome === 'refused') return { outcome: 'unavailable', reason: outcome.reason };
    if (outcome.outcome === 'failed') return { outcome: 'unavailable', reason: outcome.kind };
    if (outcome.truncated) return { outcome: 'unavailable', reason: 'too_large' };
    if (outcome.status >= 500 || outcome.status === 429) return unreadable(outcome.status);
    return { status: outcome.status, body: parseJson(outcome.body) };
  }

  return {
    async request(...args: Parameters<typeof requestOnce>): Promise<Answer> {
      const first = await requestOnce(...args);
      if (!('reason' in first) || args[4]?.aborted) return first;
      await sleep(retryPauseMs);
      const second = await requestOnce(...args);
      if ('reason' in second) onFailure?.({ reason: second.reason });
      return second;
    },
    close: () => pool.destroy(),
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const maxCachedBytes = 16 * 1024 * 1024;

/**
 * Caches advisories by id and modification time. Entries never become stale, because a changed advisory has a new
 * modification time. The least recently used entries are dropped first.
 */
function createCache(maxBytes: number) {
  const entries = new Map<string, { readonly advisory: Advisory; readonly bytes: number }>();
  let total = 0;
  return {
    get(key: string): Advisory | undefined {
      const found = entries.get(key);
      if (found === undefined) return undefined;
      entries.delete(key);
      entries.set(key, found);
      return found.advisory;
    },
    set(key: string, advisory: Advisory): void {
      const bytes = JSON.stringify(advisory).length * 2;
      total += bytes - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { advisory, bytes });
      for (const [oldest, entry] of entries) {
        if (total <= maxBytes) break;
        entries.delete(oldest);
        total -= entry.bytes;
      }
    },
  };
}
