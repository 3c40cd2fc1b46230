// Client addresses, and which addresses count as one client.
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createProxyCheck } from './proxies.ts';

/**
 * Reads the client's address: the socket's peer, or the address that a trusted proxy reports. The router applies the
 * same rule for operations.
 */
export function createAddressReader(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrustedProxy = createProxyCheck(trustedProxies);
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? '';
    const forwarded = headers['x-forwarded-for'];
    if (trustedProxies.length === 0 || forwarded === undefined) return peer;
    // Each proxy appends its peer's address.
    const hops = [...String(forwarded).split(','), peer].map((hop) => hop.trim()).reverse();
    return hops.find((hop) => !ipaddr.isValid(hop) || !isTrustedProxy(hop)) ?? peer;
  };
}

/**
 * Returns an IPv4 address unchanged, or the /64 of an IPv6 address, because one client usually has a whole /64. Other
 * text is returned unchanged.
 */
export function nameClient(text: string): string {
  if (isIPv4(text) || !ipaddr.isValid(text)) return text; // checked first, because this runs for every request
  const address = ipaddr.process(text); // ::ffff:192.0.2.1 is 192.0.2.1
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
