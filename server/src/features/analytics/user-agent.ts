// Derives device facts from a User-Agent header, with a few rules instead of a library. Browsers have frozen most
// of the header, so only these coarse facts are still reliable, and a library's tables would promise more. An iPad that
// requests desktop sites identifies itself as a Mac, and nothing in the header tells the two apart.

export type DeviceType = 'desktop' | 'mobile' | 'tablet' | 'bot';

export interface Device {
  /** Null if the header does not identify the device type, as with programs that are not browsers. */
  readonly device_type: DeviceType | null;
  readonly os: string | null;
}

/** The first match wins. Android headers also contain `Linux`, and iPhone headers also contain `Mac OS X`. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad|iPod/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux|X11/, 'Linux'],
];

const maxLength = 1_000;

export function readUserAgent(header: string | undefined): Device {
  const text = header?.slice(0, maxLength) ?? '';
  if (/bot\b|crawler|spider|HeadlessChrome/i.test(text)) return { device_type: 'bot', os: findSystem(text) };
  if (!text.startsWith('Mozilla/')) return { device_type: null, os: null };
  const os = findSystem(text);
  return { device_type: os === null ? null : findType(text), os };
}

const findSystem = (text: string): string | null => systems.find(([expression]) => expression.test(text))?.[1] ?? null;

/** An Android device is a tablet if its header does not contain `Mobile`. */
function findType(text: string): DeviceType {
  if (/iPad|Tablet/.test(text) || (/Android/.test(text) && !/Mobile/.test(text))) return 'tablet';
  return /iPhone|iPod|Mobile/.test(text) ? 'mobile' : 'desktop';
}
