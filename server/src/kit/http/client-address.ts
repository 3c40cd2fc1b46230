// Owns which addresses count as one client.
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IPv4 address, or the /64 of an IPv6 address, because one client usually has a whole /64. Other text stays as it is. */
export function nameClient(text: string): string {
  if (isIPv4(text) || !ipaddr.isValid(text)) return text; // the usual case comes first: this runs in every request
  const address = ipaddr.process(text); // ::ffff:192.0.2.1 is 192.0.2.1
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
