// Decides which peers are trusted proxies, and the warning about other peers that send forwarding headers. Either the
// caller has forged these headers, or the operator has not listed a proxy. In the latter case, all callers behind the
// proxy count as one address.
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { atMostOncePer } from '../../recent.ts';

export function createProxyCheck(trustedProxies: readonly string[]): (address: string) => boolean {
  const proxies = toBlockList(trustedProxies);
  return (text) => {
    const address = ipaddr.process(text); // ::ffff:192.0.2.1 is 192.0.2.1
    return proxies.check(address.toString(), address.kind());
  };
}

/** Calls `report` with the sender's address, at most once a minute. */
export function reportUntrustedForwarding(
  server: FastifyInstance,
  trustedProxies: readonly string[],
  report: (address: string) => void,
): void {
  const isTrustedProxy = createProxyCheck(trustedProxies);
  const reportOnce = atMostOncePer(60_000, report);
  server.addHook('onRequest', (request: FastifyRequest, _reply, done) => {
    const { headers, socket } = request.raw;
    const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
    if (isForwarded && socket.remoteAddress !== undefined && !isTrustedProxy(socket.remoteAddress))
      reportOnce(socket.remoteAddress);
    done();
  });
}

/** Removes these headers from requests that do not come from a trusted proxy, because a caller could forge them. */
export function dropUntrustedHeaders(
  server: FastifyInstance,
  trustedProxies: readonly string[],
  names: readonly string[],
): void {
  const isTrustedProxy = createProxyCheck(trustedProxies);
  server.addHook('onRequest', (request: FastifyRequest, _reply, done) => {
    const { headers, socket } = request.raw;
    if (names.some((name) => name in headers) && !isTrustedProxy(socket.remoteAddress ?? '0.0.0.0'))
      for (const name of names) delete headers[name];
    done();
  });
}

/** Names that may be used instead of ranges in the trusted proxies setting. */
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
