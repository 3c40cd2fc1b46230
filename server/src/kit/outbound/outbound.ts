// Owns requests to addresses that a caller can influence (docs/internals/outbound-requests.md): resolve the name, check
// every address, connect to a checked one, follow no redirect, use no proxy, keep to the request's time and size limits.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { hostOf, mayConnect } from './address.ts';
import { type ConnectionOptions, openConnections } from './connections.ts';
import { type Exchange, exchange } from './exchange.ts';
import type { Answered, Failed, FailureKind, Outcome, Refused } from './outcome.ts';
import { type DnsClient, resolve, systemDns } from './resolve.ts';
import { portOf, type UrlRules, type UrlVerdict, vetUrl } from './url.ts';

export interface OutboundOptions extends Pick<UrlRules, 'allow' | 'own'>, ConnectionOptions {
  /** Opens a DNS client, once per request. Default: the machine's DNS servers. */
  readonly dns?: () => DnsClient;
}

export interface OutboundRequest
  extends Pick<Exchange, 'method' | 'maxBodyBytes'>,
    Pick<UrlRules, 'plainHttp' | 'ownApp'> {
  /** The workspace that causes the request. Owners never share a connection. */
  readonly owner: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole request: resolving, connecting, sending and reading. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Outbound {
  /**
   * Checks a URL that is about to be saved: its text, and every address it resolves to now. A name that does not resolve
   * is accepted, because `send` checks again.
   */
  vet(url: string, rules?: Pick<UrlRules, 'plainHttp'>): Promise<UrlVerdict>;
  send(request: OutboundRequest): Promise<Outcome>;
  /** Requests in flight fail with `aborted`. */
  close(): Promise<void>;
}

// undici sets these itself. A second value could let a caller smuggle a request.
const reservedHeaders = new Set(
  'host connection keep-alive proxy-connection content-length transfer-encoding te trailer upgrade expect'.split(' '),
);

export const isReservedHeader = (name: string): boolean => reservedHeaders.has(name.toLowerCase());

export function openOutbound(options: OutboundOptions = {}): Outbound {
  const { allow = [], dns = systemDns } = options;
  const connections = openConnections(options);
  const inFlight = new Set<AbortController>();
  let closed = false;

  const areAllowed = (url: URL, addresses: readonly string[]): boolean =>
    addresses.every((address) => mayConnect(allow, address, { host: hostOf(url), port: portOf(url) }));

  async function sendOnce(request: OutboundRequest, signal: AbortSignal): Promise<Answered | Refused | Failed> {
    const { owner, method, maxBodyBytes, headers = {}, body = null, plainHttp, ownApp } = request;
    const verdict = vetUrl(request.url, { ...options, plainHttp, ownApp });
    if ('reason' in verdict) return { outcome: 'refused', reason: verdict.reason };
    if (!areValidHeaders(headers)) return { outcome: 'refused', reason: 'header' };
    const url = verdict.ok;

    const addresses = signal.aborted ? undefined : await resolve(dns, hostOf(url), signal);
    if (signal.aborted) return { outcome: 'failed', kind: signal.reason, sent: false };
    if (addresses === undefined) return unresolved;
    if (!areAllowed(url, addresses)) return { outcome: 'refused', reason: 'address' };

    const parts = { method, path: url.pathname + url.search, headers, body, maxBodyBytes };
    let outcome: Answered | Refused | Failed = unresolved;
    // If the first address refuses the connection, try the last one. It is of the other family if the name has both.
    for (const address of new Set([...addresses.slice(0, 1), ...addresses.slice(-1)])) {
      outcome = await exchange(connections.poolFor(owner, url, address), parts, signal);
      if (outcome.outcome !== 'failed' || outcome.kind !== 'refused') break;
    }
    return outcome;
  }

  return {
    async vet(text, rules) {
      const verdict = vetUrl(text, { ...options, ...rules });
      if ('reason' in verdict) return verdict;
      const addresses = await resolve(dns, hostOf(verdict.ok));
      return addresses === undefined || areAllowed(verdict.ok, addresses) ? verdict : { reason: 'address' };
    },
    async send(request) {
      const startedAt = performance.now();
      const controller = new AbortController();
      const stop = (kind: FailureKind) => controller.abort(kind);
      const abort = () => stop('aborted');
      const timer = setTimeout(stop, request.timeoutMs, 'timeout');
      request.signal?.addEventListener('abort', abort);
      if (closed || request.signal?.aborted) abort();
      inFlight.add(controller);
      try {
        const outcome = await sendOnce(request, controller.signal);
        return { ...outcome, ms: Math.round(performance.now() - startedAt) };
      } finally {
        inFlight.delete(controller);
        request.signal?.removeEventListener('abort', abort);
        clearTimeout(timer);
      }
    },
    async close() {
      closed = true;
      for (const controller of inFlight) controller.abort('aborted');
      await connections.close();
    },
  };
}

const unresolved: Failed = { outcome: 'failed', kind: 'dns', sent: false };

function areValidHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    return false;
  }
  return !Object.keys(headers).some(isReservedHeader);
}
