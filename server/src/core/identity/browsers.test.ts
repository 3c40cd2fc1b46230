// Tests browser names with headers that real browsers send.
import { describe, expect, it } from 'vitest';
import { describeBrowser } from './browsers.ts';

const webKit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0';

describe('describeBrowser', () => {
  it.each([
    ['Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0', 'Firefox on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36`, 'Chrome on Windows'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/141.0.0.0`, 'Edge on Windows'],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webKit} Version/18.5 Safari/605.1.15`, 'Safari on macOS'],
    [
      `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webKit} CriOS/141.0 Mobile Safari/604.1`,
      'Chrome on iOS',
    ],
    [`Mozilla/5.0 (Linux; Android 15) ${chrome} Mobile Safari/537.36`, 'Chrome on Android'],
    ['Firefox/143.0', 'Firefox'],
    ['curl/8.14.1', 'unknown browser'],
    [undefined, 'unknown browser'],
  ])('%s is %s', (userAgent, name) => {
    expect(describeBrowser(userAgent)).toBe(name);
  });

  it('does not change with the version', () => {
    const version = (number: number) =>
      describeBrowser(`Mozilla/5.0 (X11; Linux x86_64; rv:${number}.0) Gecko/20100101 Firefox/${number}.0`);
    expect(version(143)).toBe(version(150));
  });
});
