// Owns which addresses are public, and which others the operator allows (docs/internals/outbound-requests.md).
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
// refused whatever they embed, because a translator on the network decides where they lead.
const globalV6 = ranges('2000::/3');
const refusedV6 = ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** One entry of `OUTBOUND_ALLOW`: a range of addresses, or one host and port. `plainHttp`: `http:` is allowed too. */
export type AllowEntry = { readonly plainHttp: boolean } & (
  | { readonly range: Range }
  | { readonly host: string; readonly port: number }
);

/** Where a request goes. `host` is the normalised host of the URL, without the brackets of an IPv6 address. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Stricter than ipaddr.js: no octal, hexadecimal or short forms, and no zone. */
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

/** The operator allows this host and port. Its name, port and addresses are then not checked. */
export const isAllowedEndpoint = (allow: readonly AllowEntry[], { host, port }: Endpoint): boolean =>
  allow.some((entry) => 'host' in entry && entry.host === host && entry.port === port);

export function mayConnect(allow: readonly AllowEntry[], address: string, endpoint: Endpoint): boolean {
  return (
    isPublic(address) || isAllowedEndpoint(allow, endpoint) || allow.some((entry) => isAllowedAddress(entry, address))
  );
}

/**
 * The addresses of a host that needs no DNS: an address, or `localhost`, which always means this machine (RFC 6761). Empty for
 * every other name.
 */
export const addressesWithoutDns = (host: string): readonly string[] =>
  host === 'localhost' ? ['127.0.0.1', '::1'] : isIP(host) === 0 ? [] : [host];

/** Every address of a host that needs no DNS is in a range that the operator allows. */
export function isInAllowedRange(allow: readonly AllowEntry[], host: string): boolean {
  const addresses = addressesWithoutDns(host);
  const isAllowed = (address: string) => allow.some((entry) => isAllowedAddress(entry, address));
  return addresses.length > 0 && addresses.every(isAllowed);
}

/** A range with `http://` allows plain HTTP to addresses in the URL and to `localhost`, not to names that resolve to them. */
export function mayUsePlainHttp(allow: readonly AllowEntry[], endpoint: Endpoint): boolean {
  const plain = allow.filter((entry) => entry.plainHttp);
  return isAllowedEndpoint(plain, endpoint) || isInAllowedRange(plain, endpoint.host);
}

function isAllowedAddress(entry: AllowEntry, text: string): boolean {
  const address = parse(text);
  return address !== undefined && 'range' in entry && isInRange(address, entry.range);
}

/** Parses `OUTBOUND_ALLOW`: comma-separated ranges and `host:port` pairs. A leading `http://` allows plain HTTP there. */
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
  // The host must be in the spelling that URL produces. Any other spelling would never match.
  if (url === null || url.hostname !== host)
    throw new Error(
      'must be a comma-separated list of ranges (10.1.0.0/16) and host:port pairs, each optionally after http://',
    );
  return { plainHttp, host: hostOf(url), port: Number(port) };
}

/** The host of a URL, without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** The host of the URL is this machine, seen from itself. */
export const isLoopback = (url: URL): boolean => isInAllowedRange(parseAllowList('127.0.0.0/8,::1/128'), hostOf(url));
