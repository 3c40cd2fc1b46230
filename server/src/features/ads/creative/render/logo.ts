// Reads an app's logo and its dominant colour. The file is untrusted, so only formats and sizes that are safe to
// decode are accepted. SVG is not supported, because an SVG file may contain anything.
import { createCanvas, type Image, loadImage } from '@napi-rs/canvas';
import { type Oklch, toOklch } from './colours.ts';

/** 16 million decoded pixels take 64 MB. */
const maxPixels = 16_000_000;
const maxSide = 8_192;

export interface Logo {
  readonly image: Image;
  /** Undefined if the logo is black, white or grey. */
  readonly colour: Oklch | undefined;
}

/** Undefined if the file is not a usable image. */
export async function readLogo(file: Buffer): Promise<Logo | undefined> {
  const size = readImageSize(file);
  if (size === undefined || Math.max(size.width, size.height) > maxSide || size.width * size.height > maxPixels)
    return undefined;
  const image = await loadImage(file).catch(() => undefined);
  return image === undefined || image.width === 0 || image.height === 0
    ? undefined
    : { image, colour: findColour(image) };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Reads the size from the file header without decoding the image. Undefined if the file is not a PNG, JPEG or WebP. */
export function readImageSize(file: Buffer): Size | undefined {
  const size = file.length < 32 ? undefined : (readPngSize(file) ?? readWebpSize(file) ?? readJpegSize(file));
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function readPngSize(file: Buffer): Size | undefined {
  if (file.readUInt32BE(0) !== 0x89504e47 || file.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

function readWebpSize(file: Buffer): Size | undefined {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  const form = file.toString('latin1', 12, 16);
  if (form === 'VP8X') return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 };
  if (form === 'VP8 ') return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
  if (form !== 'VP8L') return undefined;
  const bits = file.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/**
 * A JPEG is a chain of segments. The size is in the frame header segment, whose marker is C0 to CF except C4, C8 and
 * CC.
 */
function readJpegSize(file: Buffer): Size | undefined {
  if (file.readUInt16BE(0) !== 0xffd8) return undefined;
  let at = 2;
  while (at + 9 < file.length && file[at] === 0xff) {
    const marker = file[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}

const sampleSide = 32;
const hueCount = 24;
const minChroma = 0.05;

/** Finds the coloured pixels' most common hue, and returns the mean colour of the pixels with that hue. */
function findColour(image: Image): Oklch | undefined {
  const canvas = createCanvas(sampleSide, sampleSide);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0, sampleSide, sampleSide);
  const { data } = context.getImageData(0, 0, sampleSide, sampleSide);
  const sums = Array.from({ length: hueCount }, () => ({ weight: 0, lightness: 0, chroma: 0, hue: 0 }));
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4);
    const { lightness, chroma, hue } = toOklch(red, green, blue);
    if (alpha < 128 || chroma < minChroma) continue;
    const sum = sums[Math.floor(((hue + Math.PI) / (2 * Math.PI)) * hueCount) % hueCount];
    if (sum === undefined) continue;
    sum.weight += chroma;
    sum.lightness += lightness * chroma;
    sum.chroma += chroma * chroma;
    sum.hue += hue * chroma;
  }
  const { weight, lightness, chroma, hue } = sums.reduce((most, each) => (each.weight > most.weight ? each : most));
  return weight < 1 ? undefined : { lightness: lightness / weight, chroma: chroma / weight, hue: hue / weight };
}
