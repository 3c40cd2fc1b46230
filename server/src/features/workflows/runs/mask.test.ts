// Tests how a step records a value: storable, without secrets, and cut if it is long.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMask } from './mask.ts';
import { writeRecorded, writeValue } from './recorded.ts';

describe('createMask', () => {
  const secret = 'a b"c/\\ü+9';
  const mask = createMask([secret]);

  it.each([
    ['as it is', secret],
    ['in a URL', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams({ q: secret }).toString().slice(2)],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in base 64', Buffer.from(secret).toString('base64').slice(0, -2)],
    ['in base 64 after one byte', Buffer.from(`x${secret}`).toString('base64').slice(4)],
    ['in base 64 after two bytes', Buffer.from(`xx${secret}`).toString('base64').slice(4, -4)],
  ])('hides a secret %s', (_form, text) => {
    expect(mask(`before ${text} after`)).not.toContain(text);
    expect(mask(`before ${text} after`)).toMatch(/^before .*\*\*\*.* after$/);
  });

  it.each(['bob:hunter2', 'b:hunter2', 'hunter2', 'bo:hunter2:more', 'ünder:hunter2'])(
    'hides the word that says %s in base 64',
    (credentials) => {
      const plain = Buffer.from(credentials).toString('base64');
      const url = Buffer.from(credentials).toString('base64url');
      const mask = createMask(['hunter2', 'a long secret of another service']);
      expect(mask(`Basic ${plain.replaceAll('=', '')}, other words`)).toBe('Basic ***, other words');
      expect(mask(`"${plain}"`)).toMatch(/^"\*\*\*=*"$/);
      expect(mask(`https://example.com/ab/c/${url}?x=1`)).not.toContain(url.slice(0, 6));
    },
  );

  it('decodes long texts in little time', () => {
    const mask = createMask(['hunter2', 'aaaa']);
    for (const text of [
      'a'.repeat(250_000),
      'abcdefg '.repeat(31_000),
      'ab/cdef '.repeat(31_000),
      'YWFhYWFh'.repeat(31_000),
    ]) {
      const before = process.threadCpuUsage();
      mask(text);
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1000).toBeLessThan(800);
    }
  });

  it('hides secrets in names, lists and numbers', () => {
    const digits = createMask(['123456']);
    expect(digits({ x123456: [{ n: 91234567, m: 5 }] })).toEqual({ 'x***': [{ n: '9***7', m: 5 }] });
  });

  it('hides the longer of two secrets whole', () => {
    expect(createMask(['pass', 'password'])('password pass')).toBe('*** ***');
  });

  it('hides secrets that overlap, whole', () => {
    expect(createMask(['word1234', '1234SECRET'])('a word1234SECRET b')).toBe('a *** b');
    expect(createMask(['aaaab'])('x aaaaaab y')).toBe('x aa*** y');
  });

  it('hides what a search for each secret would find', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b', '1'), minLength: 4, maxLength: 9 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1'), maxLength: 60 });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), text, (secrets, text) => {
        const hidden = [...text].map((_, at) =>
          secrets.some((secret) =>
            [...secret].some((_, before) => at >= before && text.startsWith(secret, at - before)),
          ),
        );
        const shown = [...text].filter((_, at) => !hidden[at]).join('');
        expect(createMask(secrets)(text).replaceAll('***', '')).toBe(shown);
      }),
    );
  });

  it('takes little time for secrets and texts that were made to take much', () => {
    const long = Array.from({ length: 100 }, (_, n) => `${'a'.repeat(4_000)}b${'a'.repeat(4_000 + n)}`);
    const short = Array.from({ length: 100 }, (_, n) => `${'a'.repeat(8 + (n % 10))}${n}`);
    const mask = createMask([...long, ...short]);
    for (const value of ['a'.repeat(250_000), Array.from({ length: 12_000 }, () => 'a'.repeat(20))]) {
      const before = process.threadCpuUsage();
      mask(value);
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1000).toBeLessThan(800);
    }
    // Hiding too much is better than hiding too little.
    expect(mask(`x ${long[7]} y`)).toBe('x ***');
    expect(mask(`x ${short[7]} y`)).toBe('x *** y');
  });

  it('leaves short values alone', () => {
    const value = { a: 'abc' };
    expect(createMask(['abc', ''])(value)).toBe(value);
  });
});

describe('writeRecorded', () => {
  const none = createMask([]);

  it('cuts what is longer than 16 KiB, and stays JSON', () => {
    for (const text of [
      'x'.repeat(20_000),
      '"\\'.repeat(10_000),
      '€'.repeat(9_000),
      '😀'.repeat(9_000),
      '\u0001'.repeat(9_000),
    ]) {
      const written = writeRecorded(writeValue({ text }), none);
      expect(Buffer.byteLength(written)).toBeLessThanOrEqual(16 * 1024);
      const shown = JSON.parse(written);
      expect(shown).toMatch(/^\{"text":".*…$/s);
      expect(shown.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(written)).toBeGreaterThan(12 * 1024);
    }
  });

  it('masks before it cuts, so no part of a secret is left at the end', () => {
    const secret = 'S'.repeat(40);
    const written = writeRecorded(writeValue(`${'x'.repeat(16 * 1024 - 30)}${secret}`), createMask([secret]));
    expect(written).not.toContain('SSSS');
  });

  it('refuses values that are nested too deeply', () => {
    const nest = (depth: number) => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
    expect(writeValue(nest(64)).text).toHaveLength(129);
    expect(() => writeValue(nest(65))).toThrow('nested deeper than 64 levels');
    expect(() => writeValue(nest(100_000))).toThrow('nested');
  });

  it('refuses values above 256 KiB, and removes what PostgreSQL cannot store', () => {
    expect(() => writeValue('x'.repeat(256 * 1024))).toThrow('256 KiB');
    expect(writeValue({ 'a\0': ['b\0\ud800', '\\u0000'] }).value).toEqual({ a: ['b\ufffd', '\\u0000'] });
  });
});
