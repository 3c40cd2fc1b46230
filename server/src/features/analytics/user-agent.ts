// Owns what a User-Agent header says about a device. A few rules instead of a library: browsers have frozen most of the header,
// so that only these coarse facts can still be relied upon, and the tables of a library promise more. An iPad that asks for
// desktop sites says that it is a Mac; nothing in the header tells them apart.

export type DeviceType = 'desktop' | 'mobile' | 'tablet' | 'bot';

export interface Device {
  /** Null if the header doesn't say: a program rather than a browser. */
  readonly device_type: DeviceType | null;
  readonly os: string | null;
}

/** The first that matches. Android names Linux too, and iPhones name Mac OS X. */
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

/** Tablets with Android are those that don't say `Mobile`. */
function findType(text: string): DeviceType {
  if (/iPad|Tablet/.test(text) || (/Android/.test(text) && !/Mobile/.test(text))) return 'tablet';
  return /iPhone|iPod|Mobile/.test(text) ? 'mobile' : 'desktop';
}
