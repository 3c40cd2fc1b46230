// Tests how long a name's addresses are cached and which callers share a lookup, with a real DNS server and real
// resolvers. The tests control the clock.
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type DnsAnswer, type DnsSandbox, startDnsSandbox } from '../../../../sandbox/src/dns.ts';
import { openNames } from './names.ts';
import type { DnsClient } from './resolve.ts';

type Answer = DnsAnswer | 'silence';

/** The responses to A and AAAA queries, by name. The last response in each list is repeated. */
const zone: Record<string, { A?: Answer[]; AAAA?: Answer[] }> = {};
let dns: DnsSandbox;
let lastName = 0;

beforeAll(async () => {
  dns = await startDnsSandbox((name, type, asked) => {
    const answers = zone[name]?.[type] ?? [];
    return answers[Math.min(asked, answers.length - 1)] ?? {};
  });
});
afterAll(() => dns.close());

function addName(answers: { A?: Answer[]; AAAA?: Answer[] }): string {
  lastName += 1;
  const name = `name-${lastName}.outside.test`;
  zone[name] = answers;
  return name;
}

const a = (ttlSeconds: number, ...addresses: string[]): DnsAnswer => ({ addresses, ttlSeconds });
const patient = new AbortController().signal;

/** c-ares waits at most 5 seconds per attempt. */
const tireless = { timeout: 5_000, tries: 4 };

function open(waiting = { timeout: 5_000, tries: 1 }) {
  const clock = { ms: 0 };
  const opened: DnsClient[] = [];
  const openDns = () => {
    const resolver = new Resolver(waiting);
    resolver.setServers([dns.server]);
    opened.push(resolver);
    return resolver;
  };
  const names = openNames(openDns, () => clock.ms);
  onTestFinished(() => names.close());
  const resolve = (name: string, signal = patient) => names.resolve(name, signal);
  return { clock, opened, names, resolve };
}

describe('a lookup', () => {
  it('is shared by all who ask for the same name meanwhile, even if nothing may be kept', async () => {
    const { resolve } = open();
    const name = addName({ A: [a(0, '192.0.2.1')], AAAA: [a(0, '2001:db8::1')] });
    const answers = await Promise.all(Array.from({ length: 50 }, () => resolve(name)));
    for (const answer of answers) expect(answer).toEqual(['192.0.2.1', '2001:db8::1']);
    expect(dns.queryCount(name)).toBe(2);
  });

  it('is not shared by those who ask for another name', async () => {
    const { resolve } = open();
    const [one, other] = [addName({ A: [a(0, '192.0.2.1')] }), addName({ A: [a(0, '192.0.2.2')] })];
    expect(await Promise.all([resolve(one), resolve(other)])).toEqual([['192.0.2.1'], ['192.0.2.2']]);
  });

  it('answers the last of 50 callers if the other 49 give up', async () => {
    const { resolve } = open();
    const name = addName({ A: [a(0, '192.0.2.1')] });
    const callers = Array.from({ length: 50 }, () => new AbortController());
    const answers = callers.map(({ signal }) => resolve(name, signal));
    for (const caller of callers.slice(0, 49)) caller.abort();
    expect((await Promise.all(answers)).slice(0, 49)).toEqual(Array(49).fill(undefined));
    expect(await answers[49]).toEqual(['192.0.2.1']);
    expect(dns.queryCount(name)).toBe(2);
  });

  it('continues when everybody has given up, and its answer is kept for the next caller', async () => {
    const { resolve } = open();
    const name = addName({ A: [a(60, '192.0.2.1')] });
    const caller = new AbortController();
    const given = resolve(name, caller.signal);
    caller.abort();
    expect(await given).toBeUndefined();
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    expect(dns.queryCount(name)).toBe(2);
  });

  it('does not hold up a caller that gives up', async () => {
    const { resolve } = open();
    const name = addName({ A: ['silence'] });
    const caller = new AbortController();
    let isLookedUp = false;
    const lookedUp = resolve(name).then(() => {
      isLookedUp = true;
    });
    const given = resolve(name, caller.signal);
    caller.abort();
    expect(await given).toBeUndefined();
    expect(isLookedUp).toBe(false);
    await lookedUp;
  });

  it('does not begin for a caller that has given up before', async () => {
    const { resolve } = open();
    const name = addName({ A: [a(60, '192.0.2.1')] });
    expect(await resolve(name, AbortSignal.abort())).toBeUndefined();
    expect(dns.queryCount(name)).toBe(0);
  });

  it('fails after two seconds, however long its resolver would wait', async () => {
    const { resolve } = open(tireless);
    const name = addName({ A: ['silence'] });
    const startedAt = performance.now();
    expect(await resolve(name)).toBeUndefined();
    const ms = performance.now() - startedAt;
    expect(ms).toBeGreaterThan(1_900);
    expect(ms).toBeLessThan(10_000);
  });

  it('fails when the client is closed', async () => {
    const name = addName({ A: ['silence'] });
    const [closed, waiting] = [open(tireless), open(tireless)];
    const failed: string[] = [];
    const answers = [
      waiting.resolve(name).then(() => failed.push('open')),
      closed.resolve(name).then(() => failed.push('closed')),
    ];
    closed.names.close();
    await Promise.all(answers);
    expect(failed).toEqual(['closed', 'open']);
  });
});

describe('the addresses of a name', () => {
  it('are kept for their time to live', async () => {
    const { clock, resolve } = open();
    const name = addName({ A: [a(3, '192.0.2.1'), a(3, '192.0.2.2')] });
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    clock.ms = 2_999;
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    expect(dns.queryCount(name)).toBe(2);
    clock.ms = 3_000;
    expect(await resolve(name)).toEqual(['192.0.2.2']);
    expect(dns.queryCount(name)).toBe(4);
  });

  it('are kept for at most five seconds, and then asked for again: nothing below keeps them longer', async () => {
    const { clock, resolve, opened } = open();
    const name = addName({ A: [a(86_400, '192.0.2.1'), a(86_400, '192.0.2.2')] });
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    clock.ms = 4_999;
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    clock.ms = 5_000;
    expect(await resolve(name)).toEqual(['192.0.2.2']);
    expect(opened).toHaveLength(1); // the same resolver was used
  });

  it.for<[string, { A?: Answer[]; AAAA?: Answer[] }]>([
    ['an address', { A: [a(60, '192.0.2.1')], AAAA: [a(1, '2001:db8::1')] }],
    ['a CNAME', { A: [{ ...a(60, '192.0.2.1'), cname: 'other.outside.test', cnameTtlSeconds: 1 }] }],
  ])('are kept for the shortest time to live of the answer: that of %s', async ([, answers]) => {
    const { clock, resolve } = open();
    const name = addName(answers);
    await resolve(name);
    clock.ms = 999;
    await resolve(name);
    expect(dns.queryCount(name)).toBe(2);
    clock.ms = 1_000;
    await resolve(name);
    expect(dns.queryCount(name)).toBe(4);
  });

  it('are not kept if their time to live is 0', async () => {
    const { resolve } = open();
    const name = addName({ A: [a(0, '192.0.2.1'), a(0, '192.0.2.2')] });
    expect(await resolve(name)).toEqual(['192.0.2.1']);
    expect(await resolve(name)).toEqual(['192.0.2.2']);
  });

  it('are not kept if there are more than 32', async () => {
    const { resolve } = open();
    const many = Array.from({ length: 33 }, (_, n) => `192.0.2.${n}`);
    const name = addName({ A: [a(60, ...many), a(60, ...many.slice(1)), a(60, '192.0.2.99')] });
    expect(await resolve(name)).toHaveLength(33);
    expect(await resolve(name)).toHaveLength(32);
    expect(await resolve(name)).toHaveLength(32);
    expect(dns.queryCount(name)).toBe(4);
  });

  const good = a(60, '192.0.2.1');
  it.for<[string, { A?: Answer[]; AAAA?: Answer[] }]>([
    ['a server failure', { A: [{ code: 2 }, good] }],
    ['a server failure for one of the two families', { A: [good], AAAA: [{ code: 2 }, {}] }],
    ['no such name', { A: [{ code: 3 }, good], AAAA: [{ code: 3 }, {}] }],
    ['no addresses', { A: [{}, good] }],
    ['silence', { A: ['silence', good] }],
    ['garbage', { A: [{ garbage: true }, good], AAAA: [{ garbage: true }, {}] }],
  ])('are asked for again after %s', async ([, answers]) => {
    const { resolve } = open();
    const name = addName(answers);
    expect(await resolve(name)).toBeUndefined();
    expect(await resolve(name)).toEqual(['192.0.2.1']);
  });

  it('are kept for at most 10,000 names, those that were looked up last', async () => {
    const asked: string[] = [];
    const client: DnsClient = {
      resolve4: async (host) => {
        asked.push(host);
        return [{ address: '192.0.2.1', ttl: 60 }];
      },
      resolve6: async () => [],
      cancel: () => {},
    };
    const names = openNames(
      () => client,
      () => 0,
    );
    for (let n = 0; n <= 10_000; n += 1) await names.resolve(`name-${n}.test`, patient);
    asked.length = 0;
    await names.resolve('name-1.test', patient);
    await names.resolve('name-10000.test', patient);
    expect(asked).toEqual([]);
    await names.resolve('name-0.test', patient);
    expect(asked).toEqual(['name-0.test']);
  });
});

describe('a resolver', () => {
  it('is used again, by one lookup at a time', async () => {
    const { resolve, opened } = open(tireless);
    const nameAnswer = { A: [a(0, '192.0.2.1')] };
    for (let n = 0; n < 10; n += 1) await resolve(addName(nameAnswer));
    expect(opened).toHaveLength(1);
    const three = [addName(nameAnswer), addName(nameAnswer), addName(nameAnswer)];
    await Promise.all(three.map((name) => resolve(name)));
    expect(opened).toHaveLength(3);
    await Promise.all(three.map((name) => resolve(name)));
    expect(opened).toHaveLength(3);
  });

  it('queries from another port at each lookup', async () => {
    const { resolve, opened } = open(tireless);
    const name = addName({ A: [a(0, '192.0.2.1')] });
    for (let n = 0; n < 10; n += 1) await resolve(name);
    expect(opened).toHaveLength(1);
    expect(dns.listSourcePorts(name).length).toBeGreaterThan(5);
  });

  it('is not used again after a failure, nor when it is a minute old', async () => {
    const { clock, resolve, opened } = open();
    const failing = addName({ A: [{ code: 2 }] });
    const name = addName({ A: [a(0, '192.0.2.1')] });
    await resolve(failing);
    await resolve(name);
    expect(opened).toHaveLength(2);
    clock.ms = 59_999;
    await resolve(name);
    expect(opened).toHaveLength(2);
    clock.ms = 60_000;
    await resolve(name);
    expect(opened).toHaveLength(3);
  });
});
