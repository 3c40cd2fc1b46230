// Tests that remembered verdicts on URLs and addresses are never used with different rules.
import { describe, expect, it } from 'vitest';
import { parseAllowList } from './address.ts';
import { openVerdicts } from './verdicts.ts';

const own = { host: 'plinth.example.com', port: 443 };
const plain = 'http://hook.example.com/path?q=1';
const ownUrl = 'https://plinth.example.com/';

describe('a verdict on a URL', () => {
  it('has the parts that a request needs', () => {
    const { vetTarget } = openVerdicts({});
    expect(vetTarget('https://Hook.Example.com.:8443/path?q=1', {})).toEqual({
      ok: {
        origin: 'https://hook.example.com:8443',
        host: 'hook.example.com',
        port: 8443,
        path: '/path?q=1',
        mayHaveAnyAddress: false,
      },
    });
    expect(vetTarget('https://[2606:4700::1]/', {})).toMatchObject({ ok: { host: '2606:4700::1', port: 443 } });
  });

  it('is remembered, unless the URL is long', () => {
    const { vetTarget } = openVerdicts({});
    const short = 'https://hook.example.com/';
    const long = short + 'x'.repeat(300);
    expect(vetTarget(short, {})).toBe(vetTarget(short, { plainHttp: false, ownApp: false }));
    expect(vetTarget(long, {})).not.toBe(vetTarget(long, {}));
    expect(vetTarget(long, {})).toEqual(vetTarget(long, {}));
  });

  it('is not remembered for requests that may use http, nor taken from others by them', () => {
    const { vetTarget } = openVerdicts({ own });
    for (let n = 0; n < 2; n += 1) {
      expect(vetTarget(plain, { plainHttp: true })).toHaveProperty('ok');
      expect(vetTarget(plain, {})).toEqual({ reason: 'scheme' });
    }
  });

  it('is not remembered for addresses of published apps, nor taken from others by them', () => {
    const { vetTarget } = openVerdicts({ own });
    for (let n = 0; n < 2; n += 1) {
      expect(vetTarget(ownUrl, { ownApp: true })).toHaveProperty('ok');
      expect(vetTarget(ownUrl, {})).toEqual({ reason: 'host' });
    }
  });

  it('is remembered by each client for itself', () => {
    const strict = openVerdicts({});
    const lenient = openVerdicts({ allow: parseAllowList('http://hook.example.com:80') });
    expect(lenient.vetTarget(plain, {})).toMatchObject({ ok: { mayHaveAnyAddress: true } });
    expect(strict.vetTarget(plain, {})).toEqual({ reason: 'scheme' });
  });

  it('stays correct when more URLs are asked for than are remembered', () => {
    const { vetTarget } = openVerdicts({ own });
    const first = vetTarget(ownUrl, {});
    for (let n = 0; n < 10_000; n += 1) vetTarget(`https://hook.example.com/${n}`, {});
    expect(vetTarget(ownUrl, {})).toEqual(first);
    expect(vetTarget(ownUrl, {})).not.toBe(first);
  });
});

describe('a verdict on addresses', () => {
  it('depends on all of them, each time', () => {
    const { mayConnect } = openVerdicts({ allow: parseAllowList('10.1.0.0/16') });
    const target = { mayHaveAnyAddress: false };
    for (let n = 0; n < 2; n += 1) {
      expect(mayConnect(target, ['93.184.215.14', '10.1.2.3'])).toBe(true);
      expect(mayConnect(target, ['93.184.215.14', '10.2.2.3'])).toBe(false);
      expect(mayConnect(target, ['10.2.2.3', '93.184.215.14'])).toBe(false);
      expect(mayConnect({ mayHaveAnyAddress: true }, ['10.2.2.3'])).toBe(true);
    }
  });
});
