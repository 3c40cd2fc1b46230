// DNS lookups, which return either all of a name's addresses or none. A DNS error is never treated as "no
// addresses of this family".
import type { RecordWithTtl } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { addressesWithoutDns } from './address.ts';

/** The part of `Resolver` that a lookup needs. */
export interface DnsClient {
  resolve4(host: string, options: { ttl: true }): Promise<RecordWithTtl[]>;
  resolve6(host: string, options: { ttl: true }): Promise<RecordWithTtl[]>;
  cancel(): void;
}

/** All of a name's addresses, IPv4 first, and their shortest time to live. */
export interface AddressRecords {
  readonly addresses: readonly string[];
  readonly ttlSeconds: number;
}

/** The timeout for the A and AAAA queries together, including all attempts. */
const lookupMs = 2_000;

/**
 * Queries the machine's DNS servers. Use a client for one lookup at a time, because a malformed response makes all of a
 * resolver's queries in flight fail. After fast responses, a resolver waits only 250 ms for the first attempt,
 * regardless of `timeout`. There are enough tries to fill the time available for a lookup.
 */
export const systemDns = (): DnsClient => new Resolver({ timeout: 600, tries: 4 });

/**
 * Looks up the name without a cache. Undefined if it has no addresses, or if one of the two queries (A and AAAA) fails.
 */
export async function resolve(openDns: () => DnsClient, host: string): Promise<readonly string[] | undefined> {
  const known = listAddressesWithoutDns(host);
  if (known.length > 0) return known;
  const answer = await lookUp(openDns(), host);
  return answer === undefined || answer.addresses.length === 0 ? undefined : answer.addresses;
}

/** As in browsers, names that end with `.localhost` also mean this machine. Most callers can't use them (url.ts). */
export const listAddressesWithoutDns = (host: string): readonly string[] =>
  addressesWithoutDns(host.endsWith('.localhost') ? 'localhost' : host);

/**
 * Returns undefined if one of the two queries fails or takes too long. An empty list means that the name has no
 * addresses.
 */
export async function lookUp(dns: DnsClient, host: string): Promise<AddressRecords | undefined> {
  const limit = setTimeout(() => dns.cancel(), lookupMs);
  const queries = [dns.resolve4(host, { ttl: true }), dns.resolve6(host, { ttl: true })];
  const [v4, v6] = await Promise.all(queries.map(emptyIfNoRecords));
  clearTimeout(limit);
  if (v4 === undefined || v6 === undefined) return undefined;
  const records = [...v4, ...v6];
  return {
    addresses: records.map(({ address }) => address),
    ttlSeconds: records.reduce((least, { ttl }) => Math.min(least, ttl), Number.POSITIVE_INFINITY),
  };
}

/**
 * ENODATA and ENOTFOUND mean that the name has no records of this type. After any other error, the result is unknown.
 */
const emptyIfNoRecords = (query: Promise<RecordWithTtl[]>): Promise<RecordWithTtl[] | undefined> =>
  query.catch((error) => (error.code === 'ENODATA' || error.code === 'ENOTFOUND' ? [] : undefined));
