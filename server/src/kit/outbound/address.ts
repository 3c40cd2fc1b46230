// Owns which addresses are public, and what the operator allows besides (contract §4.6).
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

// Forms that embed an IPv4 address lie outside 2000::/3 or are listed: refused whatever they embed, because what
// stands behind them is decided by a translator on the way.
const globalV6 = ranges('2000::/3');
const refusedV6 = ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** The operator's exception: a range of addresses, or one host and port. `plain`: over `http:` too. */
export type Allowed = { readonly plain: boolean } & (
  | { readonly range: Range }
  | { readonly host: string; readonly port: number }
);

/** Where a request is to go: the host as the URL has it, normalised, without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Strict where the library is not: no octal, hex or short forms, no zone. */
const parse = (text: string) => (isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text));

const within = (address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Range): boolean =>
  address.kind() === base.kind() && address.match(base, bits);

export function isPublic(text: string): boolean {
  const address = parse(text);
  if (address === undefined) return false;
  const inside = (range: Range) => within(address, range);
  if (address.kind() === 'ipv4') return !refusedV4.some(inside);
  return globalV6.some(inside) && !refusedV6.some(inside);
}

export const sameAddress = (one: string, other: string): boolean =>
  parse(one) !== undefined && parse(one)?.toNormalizedString() === parse(other)?.toNormalizedString();

/** The operator vouches for this host and port: any address, any port, any name. */
export const vouchedFor = (allow: readonly Allowed[], { host, port }: Endpoint): boolean =>
  allow.some((entry) => 'host' in entry && entry.host === host && entry.port === port);

export function mayConnect(allow: readonly Allowed[], address: string, endpoint: Endpoint): boolean {
  return isPublic(address) || vouchedFor(allow, endpoint) || allow.some((entry) => covers(entry, address));
}

/** Plain `http:` where the operator says so. A range says it of addresses in the URL, not of names. */
export const mayGoPlain = (allow: readonly Allowed[], endpoint: Endpoint): boolean =>
  allow.some((entry) => entry.plain && (vouchedFor([entry], endpoint) || covers(entry, endpoint.host)));

function covers(entry: Allowed, text: string): boolean {
  const address = parse(text);
  return address !== undefined && 'range' in entry && within(address, entry.range);
}

/** Reads `OUTBOUND_ALLOW`: a comma list of ranges and `host:port`, each with `http://` before it where that is allowed. */
export function parseAllowed(text: string): Allowed[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter(Boolean).map(parseEntry);
}

function parseEntry(entry: string): Allowed {
  const plain = entry.startsWith('http://');
  const bare = plain ? entry.slice('http://'.length) : entry;
  const [base = '', bits = ''] = bare.split('/');
  if (parse(base) !== undefined && ipaddr.isValidCIDR(bare))
    return { plain, range: [ipaddr.parse(base), Number(bits)] };
  const [, host = '', port = ''] = /^([a-z0-9._-]+|\[[a-f0-9:]+\]):(\d{1,5})$/.exec(bare.toLowerCase()) ?? [];
  const url = URL.parse(`http://${host}:${port}`);
  // As a URL will have it: an entry in another spelling would never match.
  if (url === null || url.hostname !== host)
    throw new Error('must be a comma list of ranges (10.1.0.0/16) and host:port, each with http:// before it or not');
  return { plain, host: bareHost(url), port: Number(port) };
}

/** The host of a URL without the brackets of an IPv6 address. */
export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
