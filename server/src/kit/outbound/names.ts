// Resolves the names that requests are sent to. Each name has at most one lookup at a time, and results are
// cached for at most five seconds. The cache contains DNS results, not verdicts, so callers must check every address
// (docs/internals/outbound-requests.md#names).
import { LatestMap } from '../latest-map.ts';
import { type AddressRecords, type DnsClient, listAddressesWithoutDns, lookUp } from './resolve.ts';

export interface Names {
  /**
   * Returns a host's addresses, IPv4 first. Undefined if there are none, if the lookup fails, or if `signal` aborts.
   * The lookup continues for any other callers that are waiting for it.
   */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[] | undefined>;
  /** Makes lookups in progress fail. */
  close(): void;
}

interface KeptAddresses {
  readonly addresses: readonly string[];
  readonly untilMs: number;
}

interface OpenResolver {
  readonly dns: DnsClient;
  readonly openedAtMs: number;
}

const maxKeptMs = 5_000;
const maxNames = 10_000;
// Larger results are not cached, because a hostile server can return thousands of addresses for each of its names.
const maxKeptAddresses = 32;
const maxIdleResolvers = 16;
// A resolver reads the DNS servers' addresses only once. It is replaced after this time, to notice changes.
const maxResolverAgeMs = 60_000;

/** `now` returns the time in milliseconds from a clock that never goes backwards. */
export function openNames(openDns: () => DnsClient, now: () => number = () => performance.now()): Names {
  const kept = new LatestMap<string, KeptAddresses>(maxNames);
  const lookups = new Map<string, Promise<readonly string[] | undefined>>();
  const busy = new Set<OpenResolver>();
  const idle: OpenResolver[] = [];

  function takeResolver(): OpenResolver {
    for (let resolver = idle.pop(); resolver !== undefined; resolver = idle.pop())
      if (now() - resolver.openedAtMs < maxResolverAgeMs) return resolver;
    return { dns: openDns(), openedAtMs: now() };
  }

  /** Uses a resolver that no other lookup is using. A resolver is not reused after a failure. */
  async function lookUpApart(host: string): Promise<AddressRecords | undefined> {
    const resolver = takeResolver();
    busy.add(resolver);
    const answer = await lookUp(resolver.dns, host);
    busy.delete(resolver);
    if (answer !== undefined && idle.length < maxIdleResolvers) idle.push(resolver);
    return answer;
  }

  async function lookUpAndKeep(host: string): Promise<readonly string[] | undefined> {
    try {
      const answer = await lookUpApart(host);
      if (answer === undefined || answer.addresses.length === 0) return undefined;
      const { addresses, ttlSeconds } = answer;
      if (ttlSeconds > 0 && addresses.length <= maxKeptAddresses)
        kept.set(host, { addresses, untilMs: now() + Math.min(ttlSeconds * 1_000, maxKeptMs) });
      return addresses;
    } finally {
      lookups.delete(host);
    }
  }

  function joinLookup(host: string): Promise<readonly string[] | undefined> {
    const lookup = lookups.get(host) ?? lookUpAndKeep(host);
    lookups.set(host, lookup);
    return lookup;
  }

  return {
    async resolve(host, signal) {
      const known = listAddressesWithoutDns(host);
      if (known.length > 0) return known;
      const before = kept.get(host);
      if (before !== undefined && now() < before.untilMs) return before.addresses;
      if (signal.aborted) return undefined;
      return waitUnlessAborted(joinLookup(host), signal);
    },
    close() {
      for (const { dns } of busy) dns.cancel();
    },
  };
}

async function waitUnlessAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const stopWaiting = () => aborted.resolve(undefined);
  signal.addEventListener('abort', stopWaiting);
  try {
    return await Promise.race([result, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stopWaiting);
  }
}
