// Tests how a name is written in e-mails.
import { describe, expect, it } from 'vitest';
import { toNameInMail } from './name-in-mail.ts';

describe('the name of an app in a mail', () => {
  it.each([
    ['Shop', 'Shop'],
    ['Ann & Bob’s shop: the best, No. 1', 'Ann & Bob’s shop: the best, No. 1'],
    ['店 🛒', '店 🛒'],
    ['https://evil.example/win?a=1', 'https evil example win?a=1'],
    ['mail me@evil.example', 'mail me evil example'],
    ['evil。example', 'evil example'],
    ['a\r\nBcc: b\u0000\u200Bc', 'a Bcc: b c'],
    [' \u202E ', 'an app'],
    ['x'.repeat(60), 'x'.repeat(60)],
    ['x'.repeat(61), `${'x'.repeat(59)}…`],
  ])('%j is %j', (name, written) => {
    expect(toNameInMail(name, 'an app')).toBe(written);
  });
});
