// Owns the names of browsers, for people who look at their sessions. A browser says of itself what it likes, so a name is a
// hint and decides nothing else.

// In this order, because most browsers also name others: Edge says Chrome, and Chrome says Safari.
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

/** `Firefox on Linux`: without versions, so that an update makes no other browser. `unknown browser` for programs. */
export function describeBrowser(userAgent: string | undefined): string {
  const family = findName(families, userAgent ?? '');
  if (family === undefined) return 'unknown browser';
  const system = findName(systems, userAgent ?? '');
  return system === undefined ? family : `${family} on ${system}`;
}
