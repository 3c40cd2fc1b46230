// The attacks' environment: a DNS server, canaries at private addresses that must receive nothing, and
// 127.20.0.0/16, which stands in for the public network.
import { Resolver } from 'node:dns/promises';
import { type Authority, type Certificate, makeAuthority } from '../../sandbox/src/certificates.ts';
import { type DnsSandbox, type DnsZone, startDnsSandbox } from '../../sandbox/src/dns.ts';
import { type RawServer, type RawServerOptions, startRawServer } from '../../sandbox/src/raw-server.ts';
import { parseAllowList } from '../../server/src/kit/outbound/address.ts';
import { type Outbound, type OutboundRequest, openOutbound } from '../../server/src/kit/outbound/outbound.ts';
import type { Outcome } from '../../server/src/kit/outbound/outcome.ts';

export const outside = '127.20.0.1';
export const connectMs = 1_500;

export interface Environment {
  readonly authority: Authority;
  readonly certificate: Certificate;
  readonly dns: DnsSandbox;
  /** A TLS server with a certificate for every host that the attacks use. */
  readonly canary: RawServer;
  /** A plain TCP server, for proxies and `http:`. */
  readonly plainCanary: RawServer;
  readonly canaries: readonly RawServer[];
  readonly skipped: readonly string[];
  /** Starts a public server with this behaviour, over TLS unless `tls` is undefined. */
  receive(options: Omit<RawServerOptions, 'address'>): Promise<RawServer>;
  client(allow: string): Outbound;
  send(url: string, more?: Partial<OutboundRequest>, by?: Outbound): Promise<Outcome>;
  close(): Promise<void>;
}

export async function openEnvironment(zone: DnsZone): Promise<Environment> {
  const authority = await makeAuthority();
  const certificate = await authority.issue(
    'DNS:*.outside.test',
    'DNS:localhost',
    `IP:${outside}`,
    'IP:127.0.0.1',
    'IP:::1',
  );
  const dns = await startDnsSandbox(zone);
  const onData: RawServerOptions['onData'] = (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret');
  const canary = await startRawServer({ address: '127.0.0.1', tls: certificate, onData });
  const plainCanary = await startRawServer({ address: '127.0.0.1', onData });
  const canary6 = await startRawServer({ address: '::1', port: canary.port, tls: certificate, onData }).catch(
    () => undefined,
  );
  const canaries = [canary, plainCanary, ...(canary6 === undefined ? [] : [canary6])];
  const receivers: RawServer[] = [];
  const clients: Outbound[] = [];

  const client = (allow: string) => {
    const askSandbox = () => {
      const resolver = new Resolver({ timeout: 800, tries: 1 });
      resolver.setServers([dns.server]);
      return resolver;
    };
    const opened = openOutbound({
      allow: parseAllowList(allow),
      dns: askSandbox,
      extraCa: authority.ca,
      connectTimeoutMs: connectMs,
    });
    clients.push(opened);
    return opened;
  };
  const usual = client('127.20.0.0/16');
  return {
    authority,
    certificate,
    dns,
    canary,
    plainCanary,
    canaries,
    skipped: canary6 === undefined ? ['a canary at ::1: this machine has no IPv6'] : [],
    client,
    async receive(options) {
      const receiver = await startRawServer({ address: outside, ...options });
      receivers.push(receiver);
      return receiver;
    },
    send: (url, more, by = usual) =>
      by.send({ owner: 'attacker', method: 'GET', url, timeoutMs: 3_000, maxBodyBytes: 4_096, ...more }),
    async close() {
      await Promise.all(clients.map((each) => each.close()));
      await Promise.all([...receivers, ...canaries].map((receiver) => receiver.close()));
      dns.close();
      await authority.close();
    },
  };
}

export interface Vector {
  readonly name: string;
  /** Returns why the attack was not contained. Undefined if it was contained. */
  run(environment: Environment): Promise<string | undefined>;
}

/**
 * Checks an outcome such as `refused:address`, `failed:timeout` or `answered:302`, and its duration. Returns what is
 * wrong, if anything.
 */
export function fault(outcome: Outcome, expected: readonly string[], withinMs = 5_000): string | undefined {
  const said = words(outcome);
  if (!expected.includes(said)) return `${said} instead of ${expected.join(' or ')}`;
  return outcome.ms > withinMs ? `${said} after ${outcome.ms} ms` : undefined;
}

function words(outcome: Outcome): string {
  if (outcome.outcome === 'answered') return `answered:${outcome.status}`;
  return outcome.outcome === 'refused' ? `refused:${outcome.reason}` : `failed:${outcome.kind}`;
}
