// The browser names that people see in their list of sessions. A browser can send any user agent, so the name is
// only a hint, and no decision depends on it.

// The order matters, because most user agents also contain other browsers' names: Edge's contains Chrome, and Chrome's
// contains Safari.
const families: readonly [name: string, mark: RegExp][] = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\b(OPR|Opera)\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
];
const systems: readonly [name: string, mark: RegExp][] = [
  ['Windows', /\bWindows\b/],
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
];

const findName = (names: typeof families, userAgent: string): string | undefined =>
  names.find(([, mark]) => mark.test(userAgent))?.[0];

/**
 * Example: `Firefox on Linux`. Versions are left out, so a browser keeps its name after an update. Programs are named
 * `unknown browser`.
 */
export function describeBrowser(userAgent: string | undefined): string {
  const family = findName(families, userAgent ?? '');
  if (family === undefined) return 'unknown browser';
  const system = findName(systems, userAgent ?? '');
  return system === undefined ? family : `${family} on ${system}`;
}
