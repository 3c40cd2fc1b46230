// Image colours: shades of one colour in OKLCH, where equal lightness looks the same for every hue.

export interface Oklch {
  readonly lightness: number;
  readonly chroma: number;
  /** In radians. */
  readonly hue: number;
}

const toLinear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const toGamma = (value: number): number => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

/** Converts red, green and blue values from 0 to 255, with the coefficients from Björn Ottosson's Oklab definition. */
export function toOklch(red: number, green: number, blue: number): Oklch {
  const [r, g, b] = [toLinear(red / 255), toLinear(green / 255), toLinear(blue / 255)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const x = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const y = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return {
    lightness: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    chroma: Math.hypot(x, y),
    hue: Math.atan2(y, x),
  };
}

export function parseHex(hex: string): Oklch {
  const digits = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, '$&$&') : hex;
  const channel = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16);
  return toOklch(channel(1), channel(3), channel(5));
}

/** Formats a colour as `#rrggbb`. If it is outside the sRGB gamut, its chroma is reduced until it fits. */
export function toHex({ lightness, chroma, hue }: Oklch): string {
  for (let paler = chroma; ; paler = Math.max(0, paler - 0.01)) {
    const channels = toChannels({ lightness, chroma: paler, hue });
    if (paler === 0 || channels.every((value) => value > -0.002 && value < 1.002))
      return `#${channels.map((value) => toByte(value).toString(16).padStart(2, '0')).join('')}`;
  }
}

const toByte = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 255);

function toChannels({ lightness, chroma, hue }: Oklch): number[] {
  const [x, y] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * x + 0.2158037573 * y) ** 3;
  const m = (lightness - 0.1055613458 * x - 0.0638541728 * y) ** 3;
  const s = (lightness - 0.0894841775 * x - 1.291485548 * y) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(toGamma);
}

/** Picks a colour for an app that has none. The app's id selects one of eight hues, so the colour is stable. */
export const colourOf = (id: string): Oklch => {
  const hues = [0.45, 0.9, 2.45, 3.2, 3.95, 4.6, 5.1, 5.9];
  const sum = [...id].reduce((total, character) => (total * 31 + character.charCodeAt(0)) % 9973, 7);
  return { lightness: 0.55, chroma: 0.15, hue: hues[sum % hues.length] as number };
};
