// Owns resolving names: all addresses of a name or none. A DNS error is never treated as "no addresses of this family".
import { Resolver } from 'node:dns/promises';
import { addressesWithoutDns } from './address.ts';

export type DnsClient = Pick<Resolver, 'resolve4' | 'resolve6' | 'cancel'>;

/**
 * Asks the machine's DNS servers. Create one per lookup: a malformed response fails every query in flight on the same
 * resolver.
 */
export const systemDns = (): DnsClient => new Resolver({ timeout: 2_000, tries: 2 });

/** All addresses, IPv4 first. Undefined if there are none, or if one of the two queries (A, AAAA) failed. */
export async function resolve(
  openDns: () => DnsClient,
  host: string,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  // Names below `localhost` mean this machine too, as browsers have it. Most callers may not use them (url.ts).
  const known = addressesWithoutDns(host.endsWith('.localhost') ? 'localhost' : host);
  if (known.length > 0) return known;
  const dns = openDns();
  const cancel = () => dns.cancel();
  signal?.addEventListener('abort', cancel);
  const [v4, v6] = await Promise.all([emptyIfNoRecords(dns.resolve4(host)), emptyIfNoRecords(dns.resolve6(host))]);
  signal?.removeEventListener('abort', cancel);
  if (v4 === undefined || v6 === undefined) return undefined;
  return v4.length + v6.length === 0 ? undefined : [...v4, ...v6];
}

/** ENODATA and ENOTFOUND mean that there are no records of this type. Any other error leaves the answer unknown. */
const emptyIfNoRecords = (query: Promise<string[]>): Promise<string[] | undefined> =>
  query.catch((error) => (error.code === 'ENODATA' || error.code === 'ENOTFOUND' ? [] : undefined));
