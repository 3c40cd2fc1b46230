// Tests encrypted secrets: a secret can only be decrypted in its own location, and master keys can be rotated at any
// time.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSecrets, type SecretLocation } from './secrets.ts';

const key = (id: string) => ({ id, key: randomBytes(32) });
const [first, second] = [key('a'), key('b')];
const location = ['app_secrets', 'app/NAME', 'sealed'] as const;

describe('a sealed secret', () => {
  const secrets = createSecrets([first]);

  it('decrypts to the original text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        (plain) => secrets.open(secrets.seal(plain, location), location) === plain,
      ),
    );
  });

  it('differs each time and does not contain the plain text', () => {
    const [one, two] = [secrets.seal('hunter2 hunter2', location), secrets.seal('hunter2 hunter2', location)];
    expect(one).not.toBe(two);
    expect(Buffer.from(one, 'base64url').includes('hunter2')).toBe(false);
  });

  it('cannot be decrypted in another table, row or column', () => {
    const sealed = secrets.seal('x', location);
    for (const other of [
      ['other', location[1], location[2]],
      [location[0], 'other', location[2]],
      [location[0], location[1], 'other'],
    ] as const) {
      expect(() => secrets.open(sealed, other as SecretLocation)).toThrow();
    }
  });

  it('cannot be decrypted after any character was changed', () => {
    const sealed = secrets.seal('a secret', location);
    for (let at = 5; at < sealed.length; at += 1) {
      if (sealed[at] === '.') continue;
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      // The last base64 character may contain unused bits.
      if (
        Buffer.from(changed.split('.')[3] ?? '', 'base64url').equals(
          Buffer.from(sealed.split('.')[3] ?? '', 'base64url'),
        ) &&
        changed.split('.')[2] === sealed.split('.')[2]
      )
        continue;
      if (
        Buffer.from(changed.split('.')[2] ?? '', 'base64url').equals(
          Buffer.from(sealed.split('.')[2] ?? '', 'base64url'),
        ) &&
        changed.split('.')[3] === sealed.split('.')[3]
      )
        continue;
      expect(() => secrets.open(changed, location)).toThrow();
    }
  });
});

describe('rotating the master key', () => {
  const before = createSecrets([first]);
  const during = createSecrets([second, first]);
  const after = createSecrets([second]);

  it('keeps old secrets readable with both keys; after a rewrap only the new key is needed', () => {
    const sealed = before.seal('kept', location);
    expect(during.open(sealed, location)).toBe('kept');
    const rewrapped = during.rewrap(sealed, location) as string;
    expect(after.open(rewrapped, location)).toBe('kept');
    expect(during.rewrap(rewrapped, location)).toBeUndefined();
    expect(() => after.open(sealed, location)).toThrow('master key a');
  });
});
