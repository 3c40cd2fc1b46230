// The limit on open connections per client address, so one client can't use up the process's sockets. Trusted
// proxies are exempt, because many clients connect through the same proxy.
import type { Server, Socket } from 'node:net';
import { atMostOncePer } from '../../recent.ts';
import { nameClient } from './client-address.ts';
import { createProxyCheck } from './proxies.ts';

export interface ConnectionLimit {
  readonly maxConnectionsPerAddress: number;
  readonly trustedProxies: readonly string[];
  /** Called when a connection is refused, at most once a minute. */
  readonly onConnectionRefused?: (address: string) => void;
}

export function limitConnections(server: Server, options: ConnectionLimit): void {
  const isTrustedProxy = createProxyCheck(options.trustedProxies);
  const reportRefused = atMostOncePer(60_000, (address: string) => options.onConnectionRefused?.(address));
  const openByClient = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined || isTrustedProxy(socket.remoteAddress)) return;
    const client = nameClient(socket.remoteAddress);
    const open = openByClient.get(client) ?? 0;
    if (open >= options.maxConnectionsPerAddress) {
      socket.destroy();
      return reportRefused(client);
    }
    openByClient.set(client, open + 1);
    socket.once('close', () => {
      const left = (openByClient.get(client) ?? 1) - 1;
      if (left === 0) openByClient.delete(client);
      else openByClient.set(client, left);
    });
  });
}
