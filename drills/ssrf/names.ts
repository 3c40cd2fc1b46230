// Attacks through names: everything that a hostile DNS server can reply, and when.
import { setTimeout as pause } from 'node:timers/promises';
import type { DnsAnswer, DnsZone } from '../../sandbox/src/dns.ts';
import { httpResponse } from '../../sandbox/src/raw-server.ts';
import type { Outbound } from '../../server/src/kit/outbound/outbound.ts';
import { type Environment, fault, outside, type Vector } from './environment.ts';

type NameAnswer = DnsAnswer | 'silence' | ((queryCount: number) => DnsAnswer);

const inner = '127.0.0.1';
const a = (...addresses: string[]) => ({ addresses });
const refusedAddress = ['refused:address'];
const dnsFailure = ['failed:dns'];

interface Name {
  readonly A?: NameAnswer;
  readonly AAAA?: NameAnswer;
  readonly expected: readonly string[];
}

/** Each name gets one request. Most requests use the canary's port. */
const names: Record<string, Name> = {
  'private A': { A: a(inner), expected: refusedAddress },
  'metadata service': { A: a('169.254.169.254'), expected: refusedAddress },
  'unspecified A': { A: a('0.0.0.0'), expected: refusedAddress },
  'private AAAA': { AAAA: a('::1'), expected: refusedAddress },
  'unspecified AAAA': { AAAA: a('::'), expected: refusedAddress },
  'mapped AAAA': { AAAA: a('::ffff:7f00:1'), expected: refusedAddress },
  'compatible AAAA': { AAAA: a('::7f00:1'), expected: refusedAddress },
  'translated AAAA': { AAAA: a('::ffff:0:7f00:1'), expected: refusedAddress },
  'NAT64 AAAA': { AAAA: a('64:ff9b::7f00:1'), expected: refusedAddress },
  'NAT64 AAAA of a public address': { AAAA: a('64:ff9b::808:808'), expected: refusedAddress },
  'local NAT64 AAAA': { AAAA: a('64:ff9b:1::7f00:1'), expected: refusedAddress },
  '6to4 AAAA': { AAAA: a('2002:7f00:1::1'), expected: refusedAddress },
  'Teredo AAAA': { AAAA: a('2001:0:4136:e378:8000:63bf:80ff:fffe'), expected: refusedAddress },
  'link-local AAAA': { AAAA: a('fe80::1'), expected: refusedAddress },
  'unique local AAAA': { AAAA: a('fd00:ec2::254'), expected: refusedAddress },
  'public and private A': { A: a(outside, inner), expected: refusedAddress },
  'private last of many': { A: a(...Array<string>(12).fill(outside), inner), expected: refusedAddress },
  'public A, private AAAA': { A: a(outside), AAAA: a('::1'), expected: refusedAddress },
  'CNAME to private': { A: { cname: 'inner.outside.test', addresses: [inner] }, expected: refusedAddress },
  'CNAME to localhost': { A: { cname: 'localhost', addresses: [inner] }, expected: refusedAddress },
  'CNAME without an address': { A: { cname: 'localhost' }, expected: dnsFailure },
  'server failure': { A: { code: 2 }, AAAA: { code: 2 }, expected: dnsFailure },
  'server failure with an address': { A: { code: 2, addresses: [inner] }, expected: dnsFailure },
  'public A, server failure for AAAA': { A: a(outside), AAAA: { code: 2 }, expected: dnsFailure },
  'server failure for A, public AAAA': { A: { code: 2 }, AAAA: a('2606:4700::1'), expected: dnsFailure },
  'refused by the server': { A: { code: 5 }, AAAA: { code: 5 }, expected: dnsFailure },
  'not implemented': { A: { code: 4 }, AAAA: { code: 4 }, expected: dnsFailure },
  'no such name': { A: { code: 3 }, AAAA: { code: 3 }, expected: dnsFailure },
  'empty answer': { A: {}, AAAA: {}, expected: dnsFailure },
  silence: { A: 'silence', AAAA: 'silence', expected: dnsFailure },
  'public A, silence for AAAA': { A: a(outside), AAAA: 'silence', expected: dnsFailure },
  garbage: { A: { garbage: true }, AAAA: { garbage: true }, expected: dnsFailure },
  'cut off, and no TCP': { A: { addresses: [outside], truncated: true }, expected: dnsFailure },
};

const hostOf = (name: string) => `${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.outside.test`;
const byHost = new Map(Object.entries(names).map(([name, answer]) => [hostOf(name), answer]));

type MovingName = (type: 'A' | 'AAAA', queryCount: number) => DnsAnswer;

const move =
  (first: string, then: string, ttlSeconds = 0): MovingName =>
  (type, queryCount) =>
    type === 'A' ? { addresses: [queryCount === 0 ? first : then], ttlSeconds } : {};

const moving: Record<string, MovingName> = {
  'saved.outside.test': move(outside, inner),
  'pinned.outside.test': move(outside, inner),
  'pooled.outside.test': move(outside, inner),
  'window.outside.test': move(outside, inner, 60),
  'expired.outside.test': move(outside, inner, 1),
  'inner.outside.test': move(inner, inner, 60),
  'opened.outside.test': move(inner, outside, 60),
  'late6.outside.test': (type, queryCount) => (type === 'A' ? a(outside) : queryCount === 0 ? {} : a('::1')),
  'turns.outside.test': (type, queryCount) => (type === 'A' ? a(queryCount % 2 === 0 ? outside : inner) : {}),
  'crowd.outside.test': (type, queryCount) => (type === 'A' ? a(queryCount % 3 === 0 ? outside : inner) : {}),
};

export const zone: DnsZone = (name, type, queryCount) => {
  const answer = byHost.get(name)?.[type];
  if (typeof answer === 'function') return answer(queryCount);
  if (answer !== undefined) return answer;
  if (byHost.has(name)) return {};
  return moving[name]?.(type, queryCount) ?? (type === 'A' ? a(outside) : {});
};

/** A public server on the canary's port, so only the address differs. */
const decoy = (environment: Environment) => {
  const onData = (socket: { write(text: string): unknown }) => socket.write(httpResponse('200 OK', [], 'outside'));
  return environment.receive({ tls: environment.certificate, port: environment.canary.port, onData });
};

export const nameVectors: readonly Vector[] = Object.entries(names).map(([name, { expected }]) => ({
  name: `name: ${name}`,
  run: async (environment) =>
    fault(await environment.send(`https://${hostOf(name)}:${environment.canary.port}/`), expected),
}));

const url = (environment: Environment, name: string) => `https://${name}.outside.test:${environment.canary.port}/`;

/** Sends `count` concurrent requests from six owners. */
async function sendCrowd(
  environment: Environment,
  name: string,
  count: number,
  expected: readonly string[],
  client?: Outbound,
): Promise<string | undefined> {
  const crowd = Array.from({ length: count }, (_, n) =>
    environment.send(url(environment, name), { owner: `owner ${n % 6}` }, client),
  );
  return (await Promise.all(crowd)).map((outcome) => fault(outcome, expected)).find(Boolean);
}

function checkQueries(environment: Environment, name: string, count: number): string | undefined {
  const queries = environment.dns.queryCount(`${name}.outside.test`);
  return queries === count ? undefined : `${queries} queries instead of ${count}`;
}

/** Rebindings while a name's addresses are still cached. */
const rebindingsOfKeptNames: readonly Vector[] = [
  {
    name: 'rebinding: private while the public address is kept',
    async run(environment) {
      const client = environment.client('127.20.0.0/16');
      const server = await decoy(environment);
      const first = await sendCrowd(environment, 'window', 20, ['answered:200'], client);
      const second = await sendCrowd(environment, 'window', 20, ['answered:200'], client);
      await server.close();
      const wrong = first ?? second ?? checkQueries(environment, 'window', 2);
      if (wrong !== undefined) return wrong;
      return 'ok' in (await client.vet(url(environment, 'window'))) ? 'accepted when saved' : undefined;
    },
  },
  {
    name: 'rebinding: private when the public address has expired, with open connections to it',
    async run(environment) {
      const server = await decoy(environment);
      const first = await sendCrowd(environment, 'expired', 6, ['answered:200']);
      await pause(1_100);
      const second = await sendCrowd(environment, 'expired', 20, refusedAddress);
      await server.close();
      return first ?? second;
    },
  },
  {
    name: 'rebinding: a private address that is kept, 40 requests',
    async run(environment) {
      const first = await sendCrowd(environment, 'inner', 20, refusedAddress);
      const second = await sendCrowd(environment, 'inner', 20, refusedAddress);
      return first ?? second ?? checkQueries(environment, 'inner', 2);
    },
  },
  {
    name: 'rebinding: public when saved, while a private address is kept',
    async run(environment) {
      const client = environment.client('127.20.0.0/16');
      const first = await sendCrowd(environment, 'opened', 1, refusedAddress, client);
      if (!('ok' in (await client.vet(url(environment, 'opened'))))) return 'refused when saved';
      return first ?? (await sendCrowd(environment, 'opened', 20, refusedAddress, client));
    },
  },
];

/** These run one after another, because they share the decoy. */
export const rebindings: readonly Vector[] = [
  ...rebindingsOfKeptNames,
  {
    name: 'rebinding: public when saved, private when sent',
    async run(environment) {
      const client = environment.client('127.20.0.0/16');
      if (!('ok' in (await client.vet(url(environment, 'saved'))))) return 'refused when saved';
      return fault(await environment.send(url(environment, 'saved')), refusedAddress);
    },
  },
  {
    name: 'rebinding: public when vetted, private a moment later',
    async run(environment) {
      const server = await decoy(environment);
      const outcome = await environment.send(url(environment, 'pinned'));
      await server.close();
      // The name is resolved once per address family, so a second, different reply is never used.
      return (
        fault(outcome, ['answered:200']) ??
        (environment.dns.queryCount('pinned.outside.test') === 2 ? undefined : 'resolved again')
      );
    },
  },
  {
    name: 'rebinding: private while a connection to the public address is open',
    async run(environment) {
      const server = await decoy(environment);
      const first = await environment.send(url(environment, 'pooled'));
      const second = await environment.send(url(environment, 'pooled'));
      await server.close();
      return fault(first, ['answered:200']) ?? fault(second, refusedAddress);
    },
  },
  {
    name: 'rebinding: a private AAAA joins a public A',
    async run(environment) {
      const server = await decoy(environment);
      const first = await environment.send(url(environment, 'late6'));
      const second = await environment.send(url(environment, 'late6'));
      await server.close();
      return fault(first, ['answered:200']) ?? fault(second, refusedAddress);
    },
  },
  {
    name: 'rebinding: in turns, 40 requests',
    async run(environment) {
      const server = await decoy(environment);
      const faults: (string | undefined)[] = [];
      for (let turn = 0; turn < 40; turn += 1)
        faults.push(
          fault(await environment.send(url(environment, 'turns')), [
            turn % 2 === 0 ? 'answered:200' : 'refused:address',
          ]),
        );
      await server.close();
      return faults.find(Boolean);
    },
  },
  {
    name: 'rebinding: in a crowd, 60 requests at once by 6 owners',
    async run(environment) {
      const server = await decoy(environment);
      const wrong = await sendCrowd(environment, 'crowd', 60, ['answered:200', 'refused:address']);
      await server.close();
      return wrong;
    },
  },
];
