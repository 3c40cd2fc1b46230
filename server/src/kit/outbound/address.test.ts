// Tests that the blocked ranges match the table in docs/internals/outbound-requests.md#addresses.
import { readFileSync } from 'node:fs';
import { BlockList, type IPVersion } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someOf } from '../../../test/support/cases.ts';
import { isPublic, isSameAddress, mayConnect, mayUsePlainHttp, parseAllowList } from './address.ts';

const page = readFileSync(new URL('../../../../docs/internals/outbound-requests.md', import.meta.url), 'utf8');
const row = (name: string) => new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(page)?.[1] ?? '';

/** Reads `100.64/10` as `100.64.0.0/10`. */
function parseRanges(family: IPVersion, text: string): BlockList {
  const list = new BlockList();
  const ranges = text.matchAll(family === 'ipv4' ? /([\d.]+)\/(\d+)/g : /([\da-f:]+::)\/(\d+)/g);
  for (const [, base = '', bits] of ranges) {
    const whole = family === 'ipv4' ? [...base.split('.'), '0', '0', '0'].slice(0, 4).join('.') : base;
    list.addSubnet(whole, Number(bits), family);
  }
  expect(list.rules.length).toBeGreaterThan(3);
  return list;
}

describe('public addresses', () => {
  it('are all IPv4 addresses outside the documented ranges', () => {
    const refused = parseRanges('ipv4', row('IPv4'));
    const nearBorders = refused.rules.map((rule) => /(\d+)\./.exec(rule)?.[1] ?? '0').map(Number);
    const first = fc.oneof(fc.constantFrom(...nearBorders), fc.integer({ min: 0, max: 255 }));
    const byte = fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0, 15, 16, 31, 32, 63, 64, 127, 128, 168, 254, 255),
    );
    fc.assert(
      fc.property(first, byte, byte, byte, (...bytes) => {
        expect(isPublic(bytes.join('.'))).toBe(!refused.check(bytes.join('.'), 'ipv4'));
      }),
      { numRuns: someOf(20_000) },
    );
  });

  it('are all IPv6 addresses in 2000::/3 outside the documented ranges', () => {
    const refused = parseRanges('ipv6', row('IPv6').replace('2000::/3', ''));
    const group = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(
        0,
        1,
        0x64,
        0x1ff,
        0x200,
        0xdb8,
        0xdb9,
        0x1fff,
        0x2001,
        0x2002,
        0x3fff,
        0x4000,
        0x5f00,
        0xff9b,
        0xffff,
      ),
    );
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const address = groups.map((each) => each.toString(16)).join(':');
        const global = (groups[0] ?? 0) >> 13 === 1;
        expect(isPublic(address), address).toBe(global && !refused.check(address, 'ipv6'));
      }),
      { numRuns: someOf(20_000) },
    );
  });

  it.each(['', 'localhost', '127.1', '0x8.8.8.8', '010.8.8.8', '8.8.8', '134744072', '2600::1%eth0', '8.8.8.8 '])(
    'must be written in full: %j is refused',
    (text) => expect(isPublic(text)).toBe(false),
  );

  it('are compared by value, not by spelling', () => {
    expect(isSameAddress('2600:0:0::1', '2600::1')).toBe(true);
    expect(isSameAddress('127.0.0.1', '::ffff:127.0.0.1')).toBe(false);
    expect(isSameAddress('', '')).toBe(false);
  });
});

describe('an entry of OUTBOUND_ALLOW', () => {
  const allow = parseAllowList(
    ' 10.1.0.0/16, fd00:1::/32 , hooks.corp.internal:8443, http://[::1]:8080, http://127.0.0.0/8',
  );

  it('may be a range, which allows its addresses for any name', () => {
    const at = { host: 'example.com', port: 443 };
    expect(mayConnect(allow, '10.1.255.255', at)).toBe(true);
    expect(mayConnect(allow, '10.2.0.0', at)).toBe(false);
    expect(mayConnect(allow, 'fd00:1::5', at)).toBe(true);
    expect(mayConnect(allow, 'fd00:2::5', at)).toBe(false);
    expect(mayConnect(allow, '::ffff:10.1.0.1', at)).toBe(false);
  });

  it('may be a host and port, whatever it resolves to', () => {
    expect(mayConnect(allow, '192.168.0.1', { host: 'hooks.corp.internal', port: 8443 })).toBe(true);
    expect(mayConnect(allow, '192.168.0.1', { host: 'hooks.corp.internal', port: 443 })).toBe(false);
    expect(mayConnect(allow, '192.168.0.1', { host: 'other.corp.internal', port: 8443 })).toBe(false);
  });

  it('allows plain http only with http:// before it', () => {
    expect(mayUsePlainHttp(allow, { host: '::1', port: 8080 })).toBe(true);
    expect(mayUsePlainHttp(allow, { host: '::1', port: 8081 })).toBe(false);
    expect(mayUsePlainHttp(allow, { host: '127.4.4.4', port: 9 })).toBe(true);
    expect(mayUsePlainHttp(allow, { host: '10.1.0.1', port: 80 })).toBe(false);
    expect(mayUsePlainHttp(allow, { host: 'hooks.corp.internal', port: 8443 })).toBe(false);
  });

  it.each([
    '10.1/16',
    '10.1.0.0/33',
    'example.com',
    'example.com:0x50',
    'example.com:70000',
    'https://a.b:1',
    '*:443',
    'a b:1',
    '10.1.0.0/',
    '2130706433:80',
    'EXAMPLE.com:443/x',
  ])('is refused if it cannot be parsed: %j', (text) =>
    expect(() => parseAllowList(text)).toThrow('comma-separated list'),
  );

  it('may be missing: an empty list allows nothing', () => expect(parseAllowList('')).toEqual([]));
});
