// Sealed secrets: opened only where they belong, under keys that can be changed at any time.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSecrets } from './secrets.ts';

const key = (id: string) => ({ id, key: randomBytes(32) });
const [first, second] = [key('a'), key('b')];
const place = ['app_secrets', 'app/NAME', 'sealed'] as const;

describe('a sealed secret', () => {
  const secrets = createSecrets([first]);

  it('opens to what was sealed, whatever that was', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        (plain) => secrets.open(secrets.seal(plain, place), place) === plain,
      ),
    );
  });

  it('never looks the same twice, and does not show what it holds', () => {
    const [one, two] = [secrets.seal('hunter2 hunter2', place), secrets.seal('hunter2 hunter2', place)];
    expect(one).not.toBe(two);
    expect(Buffer.from(one, 'base64url').includes('hunter2')).toBe(false);
  });

  it('does not open in another table, row or column', () => {
    const sealed = secrets.seal('x', place);
    for (const other of [
      ['other', place[1], place[2]],
      [place[0], 'other', place[2]],
      [place[0], place[1], 'other'],
    ] as const) {
      expect(() => secrets.open(sealed, other)).toThrow();
    }
  });

  it('does not open after a single character was changed', () => {
    const sealed = secrets.seal('a secret', place);
    for (let at = 5; at < sealed.length; at += 1) {
      if (sealed[at] === '.') continue;
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      // The last character of base64 may carry bits that are not part of the value.
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
      expect(() => secrets.open(changed, place)).toThrow();
    }
  });
});

describe('rotating the master key', () => {
  const before = createSecrets([first]);
  const during = createSecrets([second, first]);
  const after = createSecrets([second]);

  it('old secrets open under both keys; rewrapped they need only the new one', () => {
    const sealed = before.seal('kept', place);
    expect(during.open(sealed, place)).toBe('kept');
    const rewrapped = during.rewrap(sealed, place) as string;
    expect(after.open(rewrapped, place)).toBe('kept');
    expect(during.rewrap(rewrapped, place)).toBeUndefined();
    expect(() => after.open(sealed, place)).toThrow('master key a');
  });
});
