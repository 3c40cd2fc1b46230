// Decides which addresses are public, and which non-public addresses the operator allows
// (docs/internals/outbound-requests.md).
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

const ranges = (...texts: string[]): Range[] => texts.map((text) => ipaddr.parseCIDR(text));

const refusedV4 = ranges(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

// IPv6 addresses that embed an IPv4 address (mapped, NAT64, 6to4, Teredo) are outside 2000::/3 or listed here. They are
// always blocked, because a translator in the network decides where they lead.
const globalV6 = ranges('2000::/3');
const refusedV6 = ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** An entry in `OUTBOUND_ALLOW`: an address range, or a host and port. `plainHttp` also allows `http:`. */
export type AllowEntry = { readonly plainHttp: boolean } & (
  | { readonly range: Range }
  | { readonly host: string; readonly port: number }
);

/** A request's destination. `host` is the URL's normalised host, without the brackets around an IPv6 address. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Stricter than ipaddr.js. Accepts no octal, hexadecimal or short forms, and no zone. */
const parse = (text: string) => (isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text));

const isInRange = (address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Range): boolean =>
  address.kind() === base.kind() && address.match(base, bits);

export function isPublic(text: string): boolean {
  const address = parse(text);
  if (address === undefined) return false;
  const matches = (range: Range) => isInRange(address, range);
  if (address.kind() === 'ipv4') return !refusedV4.some(matches);
  return globalV6.some(matches) && !refusedV6.some(matches);
}

export const isSameAddress = (one: string, other: string): boolean =>
  parse(one) !== undefined && parse(one)?.toNormalizedString() === parse(other)?.toNormalizedString();

/** Whether the operator allows this host and port. If so, the name, port and addresses are not checked. */
export const isAllowedEndpoint = (allow: readonly AllowEntry[], { host, port }: Endpoint): boolean =>
  allow.some((entry) => 'host' in entry && entry.host === host && entry.port === port);

export const mayConnect = (allow: readonly AllowEntry[], address: string, endpoint: Endpoint): boolean =>
  isAllowedEndpoint(allow, endpoint) || isReachable(allow, address);

/** Whether any host with this address may be called: the address is public, or in a range that the operator allows. */
export const isReachable = (allow: readonly AllowEntry[], address: string): boolean =>
  isPublic(address) || allow.some((entry) => isAllowedAddress(entry, address));

/**
 * Returns the addresses of a host that needs no DNS: an address literal, or `localhost`, which always means this
 * machine (RFC 6761). Empty for any other name.
 */
export const addressesWithoutDns = (host: string): readonly string[] =>
  host === 'localhost' ? ['127.0.0.1', '::1'] : isIP(host) === 0 ? [] : [host];

/** Whether the host needs no DNS and all its addresses are in ranges that the operator allows. */
export function isInAllowedRange(allow: readonly AllowEntry[], host: string): boolean {
  const addresses = addressesWithoutDns(host);
  const isAllowed = (address: string) => allow.some((entry) => isAllowedAddress(entry, address));
  return addresses.length > 0 && addresses.every(isAllowed);
}

/**
 * A range with `http://` allows plain HTTP to its addresses and to `localhost`, but not to names that resolve to its
 * addresses.
 */
export function mayUsePlainHttp(allow: readonly AllowEntry[], endpoint: Endpoint): boolean {
  const plain = allow.filter((entry) => entry.plainHttp);
  return isAllowedEndpoint(plain, endpoint) || isInAllowedRange(plain, endpoint.host);
}

function isAllowedAddress(entry: AllowEntry, text: string): boolean {
  const address = parse(text);
  return address !== undefined && 'range' in entry && isInRange(address, entry.range);
}

/**
 * Parses `OUTBOUND_ALLOW`: comma-separated ranges and `host:port` pairs. An entry's `http://` prefix allows plain HTTP.
 */
export function parseAllowList(text: string): AllowEntry[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter(Boolean).map(parseEntry);
}

function parseEntry(entry: string): AllowEntry {
  const plainHttp = entry.startsWith('http://');
  const target = plainHttp ? entry.slice('http://'.length) : entry;
  const [base = '', bits = ''] = target.split('/');
  if (parse(base) !== undefined && ipaddr.isValidCIDR(target))
    return { plainHttp, range: [ipaddr.parse(base), Number(bits)] };
  const [, host = '', port = ''] = /^([a-z0-9._-]+|\[[a-f0-9:]+\]):(\d{1,5})$/.exec(target.toLowerCase()) ?? [];
  const url = URL.parse(`http://${host}:${port}`);
  // The host must be spelt as `URL` normalises it. Any other spelling would never match.
  if (url === null || url.hostname !== host)
    throw new Error(
      'must be a comma-separated list of ranges (10.1.0.0/16) and host:port pairs, each optionally prefixed with http://',
    );
  return { plainHttp, host: hostOf(url), port: Number(port) };
}

/** Returns the URL's host, without the brackets around an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Whether the URL is of this machine: a loopback address, or a name that every browser resolves to one. */
export const isOnThisMachine = (url: URL): boolean => isLoopback(url) || /(^|\.)localhost$/.test(url.hostname);

/** Whether the URL's host is a loopback address of this machine. */
export const isLoopback = (url: URL): boolean => isInAllowedRange(parseAllowList('127.0.0.0/8,::1/128'), hostOf(url));
