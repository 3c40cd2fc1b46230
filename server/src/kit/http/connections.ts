// Owns the limit on open connections per client address, so that one client can't use up the process's sockets. Trusted
// proxies are exempt: many clients connect through one.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';

export function limitConnections(server: Server, maxPerAddress: number, trustedProxies: readonly string[]): void {
  const proxies = toBlockList(trustedProxies);
  const openByAddress = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress;
    if (address === undefined || proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
    const open = openByAddress.get(address) ?? 0;
    if (open >= maxPerAddress) return void socket.destroy();
    openByAddress.set(address, open + 1);
    socket.once('close', () => {
      const left = (openByAddress.get(address) ?? 1) - 1;
      if (left === 0) openByAddress.delete(address);
      else openByAddress.set(address, left);
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
