// Tests the checks on URL text: each hostile example is rejected for the right reason, and ordinary URLs are accepted.
import { describe, expect, it } from 'vitest';
import { refusedUrls } from '../../../test/support/outbound-vectors.ts';
import { parseAllowList } from './address.ts';
import { type UrlRules, urlFaults, vetUrl } from './url.ts';

const verdict = (text: string, rules?: UrlRules) => {
  const got = vetUrl(text, rules);
  return 'ok' in got ? got.ok.href : got.reason;
};

describe('a URL', () => {
  it.each(refusedUrls(8443))('%j is refused', (text, ...reasons) => {
    expect(reasons).toContain(verdict(text));
  });

  it.each([
    ['https://example.com', 'https://example.com/'],
    ['https://example.com/hook?a=b&c=\\d', 'https://example.com/hook?a=b&c=\\d'],
    ['HTTPS://EXAMPLE.com:443/', 'https://example.com/'],
    ['https://example.com.:8443/', 'https://example.com:8443/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://example。com/', 'https://example.com/'],
    ['https://_dmarc.example.com:1024/', 'https://_dmarc.example.com:1024/'],
    ['https://93.184.215.14/', 'https://93.184.215.14/'],
    ['https://[2606:2800:21f:cb07::1]:65535/', 'https://[2606:2800:21f:cb07::1]:65535/'],
    ['https://notlocalhost.com/', 'https://notlocalhost.com/'],
    [`https://example.com/${'a'.repeat(2028)}`, `https://example.com/${'a'.repeat(2028)}`],
  ])('%j is taken, in its normal form', (text, normal) => expect(verdict(text)).toBe(normal));

  it('may be plain http where landing pages are read, and is vetted all the same', () => {
    const rules = { plainHttp: true };
    expect(verdict('http://example.com/', rules)).toBe('http://example.com/');
    expect(verdict('http://example.com:8080/', rules)).toBe('http://example.com:8080/');
    expect(verdict('http://example.com:81/', rules)).toBe('port');
    expect(verdict('http://localhost/', rules)).toBe('host');
    expect(verdict('http://10.0.0.1/', rules)).toBe('address');
    expect(verdict('ftp://example.com/', rules)).toBe('scheme');
  });

  it('does not name this installation itself', () => {
    const rules = { own: { host: 'plinth.example.com', port: 443 } };
    expect(verdict('https://plinth.example.com/api', rules)).toBe('host');
    expect(verdict('https://PLINTH.example.com.:8443/', rules)).toBe('host');
    expect(verdict('https://example.com/', rules)).toBe('https://example.com/');
  });

  it('may be on the host of this installation, or on an internal one, if it is that of an app published here', () => {
    const rules = { own: { host: 'plinth.internal', port: 8080 }, ownApp: true, plainHttp: true };
    expect(verdict('http://plinth.internal:8080/p/shop/', rules)).toBe('http://plinth.internal:8080/p/shop/');
    expect(verdict('http://shop.apps.localhost:8080/', rules)).toBe('http://shop.apps.localhost:8080/');
    expect(verdict('http://shop.apps.localhost:5432/', rules)).toBe('port');
  });

  it('may go where the operator allows: a range keeps the other rules, a host and port does not', () => {
    const rules = { allow: parseAllowList('10.0.0.0/8,http://queue:80,wiki.internal:22') };
    expect(verdict('https://10.2.3.4/', rules)).toBe('https://10.2.3.4/');
    expect(verdict('https://10.2.3.4:5432/', rules)).toBe('port');
    expect(verdict('https://0xa.2.3.4/', rules)).toBe('host');
    expect(verdict('http://10.2.3.4/', rules)).toBe('scheme');
    expect(verdict('http://queue/', rules)).toBe('http://queue/');
    expect(verdict('https://queue/', rules)).toBe('host');
    expect(verdict('https://wiki.internal:22/', rules)).toBe('https://wiki.internal:22/');
    expect(verdict('http://wiki.internal:22/', rules)).toBe('scheme');
    expect(verdict('https://user@wiki.internal:22/', rules)).toBe('credentials');
  });

  it('may name this machine if the operator allows loopback, except for this installation itself', () => {
    const own = { host: '127.0.0.1', port: 8080 };
    const rules = { own, allow: parseAllowList('http://127.0.0.0/8,http://::1/128') };
    expect(verdict('http://127.0.0.1:3000/hook', rules)).toBe('http://127.0.0.1:3000/hook');
    expect(verdict('http://localhost:3000/hook', rules)).toBe('http://localhost:3000/hook');
    expect(verdict('http://127.0.0.1:8080/', rules)).toBe('host');
    expect(verdict('http://127.0.0.1:5432/', rules)).toBe('port');
    expect(verdict('http://api.localhost:3000/', rules)).toBe('scheme');
    expect(verdict('https://api.localhost:3000/', rules)).toBe('host');
    // localhost also means ::1, which this list does not allow.
    expect(verdict('https://localhost:3000/', { allow: parseAllowList('127.0.0.0/8') })).toBe('host');
    expect(verdict('https://127.0.0.1:3000/', { own })).toBe('host');
  });

  it("is refused with the contract's fault types", () => {
    expect(new Set(Object.values(urlFaults).map(({ type }) => type))).toEqual(
      new Set(['url_parsing', 'url_too_long', 'url_scheme', 'url_not_public']),
    );
  });

  it.each([
    ['ftp://example.com/', 'https'],
    ['http://example.com/', 'https'],
    ['https://example.com:22/', 'port'],
    ['https://ann@example.com/', 'user name'],
    ['https://10.0.0.1/', 'address'],
    ['https://intranet/', 'host name'],
    ['https://example.com/#top', 'fragment'],
    [`https://example.com/${'x'.repeat(2048)}`, '2048 characters'],
    ['example.com', 'URL'],
  ])('is refused with the part that is at fault: %s', (text, part) => {
    const verdict = vetUrl(text);
    expect('reason' in verdict && urlFaults[verdict.reason].msg).toContain(part);
  });
});
