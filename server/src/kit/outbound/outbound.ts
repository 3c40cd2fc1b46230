// Requests to URLs that a caller can influence (docs/internals/outbound-requests.md). Resolves the name, checks
// every address, connects only to a checked address, follows no redirects, uses no proxy, and enforces the request's
// time and size limits.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { hostOf } from './address.ts';
import { type ConnectionOptions, openConnections } from './connections.ts';
import { type Exchange, exchange } from './exchange.ts';
import { openNames } from './names.ts';
import type { Answered, Failed, FailureKind, Outcome, Refused } from './outcome.ts';
import { type DnsClient, resolve, systemDns } from './resolve.ts';
import { type UrlRules, type UrlVerdict, vetUrl } from './url.ts';
import { openVerdicts, type Target, toTarget } from './verdicts.ts';

export interface OutboundOptions extends Pick<UrlRules, 'allow' | 'own'>, ConnectionOptions {
  /** Opens a DNS client. The default uses the machine's DNS servers. */
  readonly dns?: () => DnsClient;
}

export interface OutboundRequest
  extends Pick<Exchange, 'method' | 'maxBodyBytes'>,
    Pick<UrlRules, 'plainHttp' | 'ownApp'> {
  /** The workspace that causes the request. Owners never share connections. */
  readonly owner: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The timeout for the whole request: resolving, connecting, sending and reading. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Outbound {
  /**
   * Checks a URL before it is saved: its text, and every address that it currently resolves to. Accepts a name that
   * does not resolve, because `send` checks again.
   */
  vet(url: string, rules?: Pick<UrlRules, 'plainHttp'>): Promise<UrlVerdict>;
  send(request: OutboundRequest): Promise<Outcome>;
  /** Closes all connections. Requests in flight fail with `aborted`. */
  close(): Promise<void>;
}

// undici sets these headers itself. A second value could allow request smuggling.
const reservedHeaders = new Set(
  'host connection keep-alive proxy-connection content-length transfer-encoding te trailer upgrade expect'.split(' '),
);

export const isReservedHeader = (name: string): boolean => reservedHeaders.has(name.toLowerCase());

export function openOutbound(options: OutboundOptions = {}): Outbound {
  const { dns = systemDns } = options;
  const connections = openConnections(options);
  const names = openNames(dns);
  const verdicts = openVerdicts(options);
  const inFlight = new Set<AbortController>();
  let closed = false;

  async function sendOnce(request: OutboundRequest, signal: AbortSignal): Promise<Answered | Refused | Failed> {
    const verdict = verdicts.vetTarget(request.url, request);
    if ('reason' in verdict) return { outcome: 'refused', reason: verdict.reason };
    if (!areValidHeaders(request.headers ?? {})) return { outcome: 'refused', reason: 'header' };
    const target = verdict.ok;

    const addresses = await names.resolve(target.host, signal);
    if (signal.aborted) return { outcome: 'failed', kind: signal.reason, sent: false };
    if (addresses === undefined) return unresolved;
    // Checked for each request, whether or not the addresses are cached. Connections are only made to checked
    // addresses.
    if (!verdicts.mayConnect(target, addresses)) return { outcome: 'refused', reason: 'address' };
    return sendTo(target, addresses, request, signal);
  }

  /**
   * If the first address refuses the connection, tries the last address, which belongs to the other family if the name
   * has both.
   */
  async function sendTo(
    target: Target,
    addresses: readonly string[],
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<Answered | Refused | Failed> {
    const { owner, method, headers = {}, body = null, maxBodyBytes } = request;
    const parts = { method, path: target.path, headers, body, maxBodyBytes };
    const first = addresses.at(0);
    const last = addresses.at(-1);
    if (first === undefined || last === undefined) return unresolved;
    const outcome = await exchange(connections.poolFor(owner, target, first), parts, signal);
    if (outcome.outcome !== 'failed' || outcome.kind !== 'refused' || last === first) return outcome;
    return exchange(connections.poolFor(owner, target, last), parts, signal);
  }

  return {
    async vet(text, rules) {
      const verdict = vetUrl(text, { ...options, ...rules });
      if ('reason' in verdict) return verdict;
      // Always looked up without the cache, because a cached address may be outdated.
      const addresses = await resolve(dns, hostOf(verdict.ok));
      const isAllowed = addresses === undefined || verdicts.mayConnect(toTarget(verdict.ok, options), addresses);
      return isAllowed ? verdict : { reason: 'address' };
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
      names.close();
      await connections.close();
    },
  };
}

const unresolved: Failed = { outcome: 'failed', kind: 'dns', sent: false };

function areValidHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      if (isReservedHeader(name)) return false;
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    return false;
  }
  return true;
}
