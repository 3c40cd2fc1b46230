// Owns requests to addresses a caller can influence (contract §4.6): resolve, vet every address, connect to a vetted
// one, never follow, never through a proxy, never longer or larger than asked for.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { bareHost, mayConnect } from './address.ts';
import { type ConnectionOptions, openConnections } from './connections.ts';
import { type Exchange, exchange } from './exchange.ts';
import type { Answered, Failed, FailureKind, Outcome, Refused } from './outcome.ts';
import { type AsksDns, machineDns, resolve } from './resolve.ts';
import { portOf, type UrlRules, type UrlVerdict, vetUrl } from './url.ts';

export interface OutboundOptions extends Pick<UrlRules, 'allow' | 'ownHosts'>, ConnectionOptions {
  /** Who is asked for addresses, at each request. The machine's DNS servers unless told otherwise. */
  readonly dns?: () => AsksDns;
}

export interface OutboundRequest extends Pick<Exchange, 'method' | 'bodyBytes'>, Pick<UrlRules, 'plainHttp'> {
  /** Whose request it is (a workspace): connections are never shared between owners. */
  readonly owner: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole of it: resolving, connecting, sending, reading. */
  readonly totalMs: number;
  readonly signal?: AbortSignal;
}

export interface Outbound {
  /** For URLs about to be saved: refused by form, or by any address it resolves to now. Unresolvable is no reason. */
  vet(url: string, rules?: Pick<UrlRules, 'plainHttp'>): Promise<UrlVerdict>;
  send(request: OutboundRequest): Promise<Outcome>;
  /** What is under way ends as `aborted`. */
  close(): Promise<void>;
}

// The client frames the message and manages the connection itself; a second opinion is how requests are smuggled.
const ownHeaders = new Set(
  'host connection keep-alive proxy-connection content-length transfer-encoding te trailer upgrade expect'.split(' '),
);

export function openOutbound(options: OutboundOptions = {}): Outbound {
  const { allow = [], dns = machineDns } = options;
  const connections = openConnections(options);
  /** What is under way: each ends with a word, which is then the kind of failure. */
  const underWay = new Set<AbortController>();
  let closed = false;

  const vetted = (url: URL, addresses: readonly string[]): boolean =>
    addresses.every((address) => mayConnect(allow, address, { host: bareHost(url), port: portOf(url) }));

  async function attempt(request: OutboundRequest, signal: AbortSignal): Promise<Answered | Refused | Failed> {
    const { owner, method, bodyBytes, headers = {}, body = null, plainHttp } = request;
    const verdict = vetUrl(request.url, { ...options, plainHttp });
    if ('reason' in verdict) return { outcome: 'refused', reason: verdict.reason };
    if (!soundHeaders(headers)) return { outcome: 'refused', reason: 'header' };
    const url = verdict.ok;

    const addresses = signal.aborted ? undefined : await resolve(dns, bareHost(url), signal);
    if (signal.aborted) return { outcome: 'failed', kind: signal.reason, sent: false };
    if (addresses === undefined) return unresolved;
    if (!vetted(url, addresses)) return { outcome: 'refused', reason: 'address' };

    const asked = { method, path: url.pathname + url.search, headers, body, bodyBytes };
    let outcome: Answered | Refused | Failed = unresolved;
    // When nobody listens at the first address, the last one, of the other family if there is one, gets its chance.
    for (const address of new Set([...addresses.slice(0, 1), ...addresses.slice(-1)])) {
      outcome = await exchange(connections.to(owner, url, address), asked, signal);
      if (outcome.outcome !== 'failed' || outcome.kind !== 'refused') break;
    }
    return outcome;
  }

  return {
    async vet(text, rules) {
      const verdict = vetUrl(text, { ...options, ...rules });
      if ('reason' in verdict) return verdict;
      const addresses = await resolve(dns, bareHost(verdict.ok));
      return addresses === undefined || vetted(verdict.ok, addresses) ? verdict : { reason: 'address' };
    },
    async send(request) {
      const startedAt = performance.now();
      const ending = new AbortController();
      const end = (kind: FailureKind) => ending.abort(kind);
      const calledOff = () => end('aborted');
      const timer = setTimeout(end, request.totalMs, 'timeout');
      request.signal?.addEventListener('abort', calledOff);
      if (closed || request.signal?.aborted) calledOff();
      underWay.add(ending);
      try {
        const outcome = await attempt(request, ending.signal);
        return { ...outcome, ms: Math.round(performance.now() - startedAt) };
      } finally {
        underWay.delete(ending);
        request.signal?.removeEventListener('abort', calledOff);
        clearTimeout(timer);
      }
    },
    async close() {
      closed = true;
      for (const ending of underWay) ending.abort('aborted');
      await connections.close();
    },
  };
}

const unresolved: Failed = { outcome: 'failed', kind: 'dns', sent: false };

function soundHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    return false;
  }
  return !Object.keys(headers).some((name) => ownHeaders.has(name.toLowerCase()));
}
