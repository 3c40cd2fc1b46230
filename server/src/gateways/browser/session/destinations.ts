// Decides where a session's page may connect to: the app's own origin, the origins that it needs, and public addresses.
// Each name is resolved once per session, so changing a name's address later can't redirect it to another host.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Endpoint, hostOf, isPublic, isSameAddress } from '../../../kit/outbound/address.ts';
import { type DnsClient, resolve, systemDns } from '../../../kit/outbound/resolve.ts';
import { portOf, vetUrl } from '../../../kit/outbound/url.ts';

/** `address` is undefined if the name has no address or could not be resolved. */
export type Destination = { readonly address: string | undefined } | 'blocked';

export interface Destinations {
  find(endpoint: Endpoint): Promise<Destination>;
  /** Whether a request to this URL's host and port was blocked. */
  isBlocked(url: URL): boolean;
  /** Example entry: `localhost:5432`. */
  listBlocked(): readonly string[];
}

const maxHosts = 500;
const maxBlockedListed = 20;

/** `origins` may have private addresses, because their host and port must match exactly. */
export function createDestinations(origins: readonly string[], openDns: () => DnsClient = systemDns): Destinations {
  const allowed = new Set(origins.map((origin) => keyOf(endpointOf(new URL(origin)))));
  const found = new Map<string, Promise<Destination>>();
  /** Each host's addresses, for all its ports. */
  const resolved = new Map<string, Promise<readonly string[] | undefined>>();
  const blocked = new Set<string>();

  function resolveOnce(host: string): Promise<readonly string[] | undefined> {
    const addresses = resolved.get(host) ?? resolve(openDns, host);
    resolved.set(host, addresses);
    return addresses;
  }

  async function findPublic({ host, port }: Endpoint): Promise<Destination> {
    const verdict = vetUrl(`http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`, { plainHttp: true });
    if ('reason' in verdict) return 'blocked';
    const addresses = await resolveOnce(hostOf(verdict.ok));
    if (addresses === undefined) return { address: undefined };
    return addresses.every(isForeign) ? { address: addresses[0] } : 'blocked';
  }

  async function findOnce(endpoint: Endpoint): Promise<Destination> {
    const isOwn = allowed.has(keyOf(endpoint));
    const destination = isOwn ? { address: await findOwnAddress(endpoint.host) } : await findPublic(endpoint);
    if (destination === 'blocked') blocked.add(keyOf(endpoint));
    return destination;
  }

  return {
    find(endpoint) {
      const key = keyOf(endpoint);
      const known = found.get(key);
      if (known === undefined && found.size >= maxHosts) return Promise.resolve('blocked');
      const destination = known ?? findOnce(endpoint);
      found.set(key, destination);
      return destination;
    },
    isBlocked: (url) => blocked.has(keyOf(endpointOf(url))),
    listBlocked: () => [...blocked].slice(0, maxBlockedListed),
  };
}

export const endpointOf = (url: URL): Endpoint => ({ host: hostOf(url), port: portOf(url) });

const keyOf = ({ host, port }: Endpoint): string => `${host.toLowerCase()}:${port}`;

/**
 * Resolves the name as this machine does, using its hosts file. Names ending in `.localhost` resolve to this machine,
 * as in browsers.
 */
async function findOwnAddress(host: string): Promise<string | undefined> {
  if (host === 'localhost' || host.endsWith('.localhost')) return '127.0.0.1';
  if (isIP(host) !== 0) return host;
  const [first] = await lookup(host, { all: true, order: 'ipv4first' }).catch(() => []);
  return first?.address;
}

/**
 * Excludes this machine's own public addresses, because they lead to services that a firewall hides from everyone else.
 */
function isForeign(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return isPublic(address) && !own.some((each) => isSameAddress(each.address, address));
}
