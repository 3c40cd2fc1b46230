// Owns the limit on open connections per client address, so that one client can't use up the process's sockets. Trusted
// proxies are exempt: many clients connect through one.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { nameClient } from './client-address.ts';

export interface ConnectionLimit {
  readonly maxConnectionsPerAddress: number;
  readonly trustedProxies: readonly string[];
  /** Called at most once a minute while connections are refused. */
  readonly onConnectionRefused?: (address: string) => void;
}

const reportEveryMs = 60_000;

export function limitConnections(server: Server, options: ConnectionLimit): void {
  const proxies = toBlockList(options.trustedProxies);
  const openByClient = new Map<string, number>();
  let reportedAt = -reportEveryMs;
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) return;
    const address = ipaddr.process(socket.remoteAddress); // ::ffff:192.0.2.1 is 192.0.2.1
    if (proxies.check(address.toString(), address.kind())) return;
    const client = nameClient(socket.remoteAddress);
    const open = openByClient.get(client) ?? 0;
    if (open >= options.maxConnectionsPerAddress) {
      socket.destroy();
      if (performance.now() - reportedAt < reportEveryMs) return;
      reportedAt = performance.now();
      return options.onConnectionRefused?.(client);
    }
    openByClient.set(client, open + 1);
    socket.once('close', () => {
      const left = (openByClient.get(client) ?? 1) - 1;
      if (left === 0) openByClient.delete(client);
      else openByClient.set(client, left);
    });
  });
}

/** Names that the setting of trusted proxies may have in place of ranges. */
const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

function toBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges.flatMap((range) => namedRanges[range] ?? [range])) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
