// Tests ad images: exact sizes, letters that stay inside their box for any script and length, and safe handling of
// untrusted files.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createCanvas, loadImage } from '@napi-rs/canvas';
import { afterAll, describe, expect, it } from 'vitest';
import { type ImageSlot, imageSizes, imageSlots } from '../../rules/slots.ts';
import { colourOf, parseHex, toHex } from './colours.ts';
import { type Ad, drawTexts, planLayout, type Style, styles, toPalette } from './draw.ts';
import { prepareText } from './fonts.ts';
import { readImageSize, readLogo } from './logo.ts';
import { createRenderer, type RenderRequest } from './renderer.ts';

const renderer = createRenderer();
afterAll(() => renderer.close());

const request: Omit<RenderRequest, 'slot'> = {
  workspace_id: 'a workspace',
  app_id: 'an app',
  style: 'deep',
  language: 'en',
  name: 'Harbour Coffee',
  headline: 'Freshly roasted today',
  description: 'Beans from the harbour roastery, delivered in Hamburg.',
  accent: '#0f766e',
  logo: undefined,
};

const toAd = (slot: ImageSlot, texts: Partial<Ad> = {}): Ad => ({
  ...request,
  ...imageSizes[slot],
  colour: parseHex('#0f766e'),
  logo: undefined,
  ...texts,
});

/** The bounding box of all painted text pixels, or undefined if there are none. */
function findPainted(ad: Ad) {
  const context = createCanvas(ad.width, ad.height).getContext('2d');
  drawTexts(context, ad);
  const pixels = new Uint32Array(context.getImageData(0, 0, ad.width, ad.height).data.buffer);
  let [left, right, top, bottom] = [ad.width, -1, ad.height, -1];
  for (let at = 0; at < pixels.length; at += 1) {
    if (pixels[at] === 0) continue;
    const [x, y] = [at % ad.width, Math.floor(at / ad.width)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  return right < 0 ? undefined : { left, right, top, bottom };
}

const repeat = (text: string, length: number) => [...text.repeat(length)].slice(0, length).join('');

/**
 * The maximum lengths: names with 200 characters, headlines with 30 and descriptions with 90, with and without spaces.
 */
const longest: Record<string, Pick<Ad, 'name' | 'headline' | 'description' | 'language'>> = {
  'Latin words': of('Extraordinary Handmade Jewellery ', 'en'),
  'one Latin word': of('Ẃ', 'de'),
  Japanese: of('珈琲工房の焙煎したての豆、', 'ja'),
  Korean: of('갓볶은커피 ', 'ko'),
  Chinese: of('新鲜烘焙咖啡豆', 'en'),
  Arabic: of('متجر القهوة المحمصة ', 'en'),
  Hebrew: of('קפה טרי מהקלייה ', 'he'),
  'Arabic with Latin': of('قهوة Coffee ', 'en'),
  Thai: of('กาแฟคั่วใหม่ที่นี่', 'en'),
  'stacked marks': of(`Cafe${'\u0301'.repeat(60)}`, 'fr'),
};
function of(text: string, language: string) {
  return { language, name: repeat(text, 200), headline: repeat(text, 30), description: repeat(text, 90) };
}

describe('the texts of an image', () => {
  it.each(Object.entries(longest))('stay in their place with the longest texts: %s', (_script, texts) => {
    for (const slot of imageSlots) {
      const ad = toAd(slot, texts);
      const { text: box, art } = planLayout(ad);
      const painted = findPainted(ad);
      expect(painted).toBeDefined();
      expect(painted?.left).toBeGreaterThanOrEqual(box.x - 2);
      expect(painted?.right).toBeLessThanOrEqual(box.x + box.width + 2);
      expect(painted?.top).toBeGreaterThanOrEqual(box.y - 2);
      expect(painted?.bottom).toBeLessThanOrEqual(box.y + box.height + 2);
      const isBeside = box.x >= art.x + art.size / 2 || box.x + box.width <= art.x - art.size / 2;
      expect(isBeside || box.y >= art.y + art.size / 2).toBe(true);
    }
  });

  it('begin at the right in scripts that are read from there, and the tile is at the left', () => {
    const ad = toAd('LANDSCAPE_IMAGE', { name: 'קפה', headline: 'טרי', language: 'he' });
    const { text: box, art } = planLayout(ad);
    expect(art.x).toBeLessThan(box.x);
    expect(findPainted(ad)?.right).toBeGreaterThan(box.x + box.width - 20);
  });

  it('are not drawn as empty boxes: what no font has is left out', () => {
    expect(prepareText('Kaffee 😀 ☕️ ist da', 'de').text).toBe('Kaffee ist da');
    expect(prepareText('😀', 'en').text).toBe('');
    expect(findPainted(toAd('SQUARE_IMAGE', { name: '😀', headline: '😀', description: '' }))).toBeUndefined();
  });

  it('keep their accents, however these are encoded, and are left out if a letter cannot be drawn', () => {
    expect(prepareText('Čajovna Ça va'.normalize('NFD'), 'cs').text).toBe('Čajovna Ça va');
    expect(prepareText('Café ᚠ', 'en').text).toBe(''); // a rune
    expect(prepareText('X\u0302', 'en').text).toBe(''); // no font has this mark, and no precomposed letter exists
    expect(prepareText(`e${'\u0301'.repeat(60)}`, 'en').text).toBe(`é${'\u0301'.repeat(3)}`);
  });

  it.each(['', '-arabic', '-hebrew', '-thai'])('have every letter of the font noto-sans%s', (name) => {
    const lists = createRequire(import.meta.url)(`@fontsource-variable/noto-sans${name}/unicode.json`);
    const { symbols: _symbols, math: _math, ...subsets } = lists as Record<string, string>;
    const letters = Object.values(subsets).flatMap(listLetters);
    expect(letters.length).toBeGreaterThan(100);
    expect(letters.filter((letter) => prepareText(letter, 'en').text === '')).toEqual([]);
  });

  it('are drawn by one font if they are in one script', () => {
    const { families } = prepareText('„Łódź“ – świeżo…', 'pl');
    expect(families).toBe('"noto-sans-latin", "noto-sans-latin-ext"');
  });
});

describe('an image', () => {
  it.each(imageSlots)('has exactly the size of its slot, and is small enough for the ad platform: %s', async (slot) => {
    const file = await render({ ...request, slot, style: 'light' });
    expect(readImageSize(file)).toEqual(imageSizes[slot]);
    expect(file.length).toBeLessThan(1_000_000);
  });

  it('has text that can be read on its ground, in every style and colour', () => {
    for (const style of styles)
      for (const hex of ['#ffff00', '#0000ff', '#ff0000', '#00ff00', '#777777', '#000000', '#ffffff'])
        expect(measureContrast(style, hex)).toBeGreaterThan(4.5);
  });

  it('shows the logo, and takes its colour', async () => {
    const logo = await createLogo();
    const image = await loadImage(await render({ ...request, slot: 'SQUARE_IMAGE', logo }));
    const context = createCanvas(1200, 1200).getContext('2d');
    context.drawImage(image, 0, 0);
    const { art } = planLayout(toAd('SQUARE_IMAGE'));
    const [red = 0, green = 0] = context.getImageData(art.x, art.y, 1, 1).data;
    expect(red).toBeGreaterThan(200);
    expect(green).toBeLessThan(60);
    const [groundRed = 0, groundGreen = 0] = context.getImageData(20, 20, 1, 1).data;
    expect(groundRed).toBeGreaterThan(groundGreen * 2);
  });

  it('is drawn without the logo if that is no image, or larger than may be decoded', async () => {
    const bomb = Buffer.from(await createLogo());
    bomb.writeUInt32BE(60_000, 16); // the width in the PNG header
    for (const logo of [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), bomb, Buffer.alloc(0)]) {
      expect(await readLogo(logo)).toBeUndefined();
      expect(await renderer.render({ ...request, slot: 'LANDSCAPE_IMAGE', logo })).toMatchObject({ hasLogo: false });
    }
  });

  it('that takes too long is given up, and ends the process', async () => {
    const impatient = createRenderer({ maxImageMs: 1, maxRssBytes: 1, maxIdleMs: 1_000 });
    await expect(impatient.render({ ...request, slot: 'SQUARE_IMAGE' })).rejects.toThrow('timed out');
    impatient.close();
  });

  it('is drawn by another process if one has crashed, and without the logo if it has crashed with it', async () => {
    const logo = await createLogo();
    expect(await renderer.render({ ...request, slot: 'SQUARE_IMAGE', logo })).toMatchObject({ hasLogo: true });
    const [withLogo, without] = [{ ...request, logo }, request].map((each) =>
      renderer.render({ ...each, slot: 'SQUARE_IMAGE' }),
    );
    await killRenderer();
    expect(await withLogo).toMatchObject({ hasLogo: false });
    expect(await without).toMatchObject({ hasLogo: false });
    const crashed = renderer.render({ ...request, slot: 'SQUARE_IMAGE' });
    await killRenderer();
    await expect(crashed).rejects.toThrow('the process exited');
    expect(await renderer.render({ ...request, slot: 'SQUARE_IMAGE' })).toMatchObject({ hasLogo: false });
  });

  it('that cannot be drawn leaves no process behind', async () => {
    const brief = createRenderer({ maxImageMs: 15_000, maxRssBytes: 1, maxIdleMs: 60_000 });
    const before = listRenderers();
    await expect(brief.render({ ...request, slot: 'NO_IMAGE' as ImageSlot })).rejects.toThrow('image not drawn');
    await expect.poll(listRenderers).toEqual(before);
  });
});

it.runIf(process.getuid?.() === 0)('images are decoded and drawn as nobody, and without privileges', async () => {
  await render({ ...request, slot: imageSlots[0] as ImageSlot });
  for (const id of listRenderers()) {
    const status = readFileSync(`/proc/${id}/status`, 'utf8');
    expect(status).toMatch(/\nUid:\t65534\t65534\t65534\t65534\n/);
    expect(status).toMatch(/\nNoNewPrivs:\t1\n/);
  }
  expect(listRenderers().length).toBeGreaterThan(0);
});

const render = async (of: RenderRequest) => Buffer.from((await renderer.render(of)).image);

/** The ids of the render processes started by this process. */
const listRenderers = (): number[] =>
  readdirSync('/proc/self/task')
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number))
    .filter((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('render/process.ts'));

/** Kills the render process as soon as it has started. */
async function killRenderer(): Promise<void> {
  await new Promise(setImmediate);
  for (const id of listRenderers()) process.kill(id, 'SIGKILL');
}

/** Parses a list such as `U+0000-00FF,U+0131`. */
function listLetters(list: string): string[] {
  const all = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range
      .replace('U+', '')
      .split('-')
      .map((hex) => Number.parseInt(hex, 16));
    return Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));
  });
  return all.filter((each) => /\p{L}/u.test(each));
}

describe('the size of an image', () => {
  it.each(['jpeg', 'webp', 'png'] as const)('is read from the header: %s', async (format) => {
    const canvas = createCanvas(123, 45);
    canvas.getContext('2d').fillRect(0, 0, 60, 45);
    const file = await (format === 'png' ? canvas.encode('png') : canvas.encode(format, 80));
    expect(readImageSize(file)).toEqual({ width: 123, height: 45 });
    for (let length = 0; length < 64; length += 1) readImageSize(file.subarray(0, length)); // must not throw
  });
});

describe('colours', () => {
  it('survive the way to OKLCH and back', () => {
    for (const hex of ['#0f766e', '#ff0000', '#ffffff', '#123456']) expect(toHex(parseHex(hex))).toBe(hex);
    expect(parseHex('#abc')).toEqual(parseHex('#aabbcc'));
    expect(colourOf('a')).not.toEqual(colourOf('b'));
  });
});

async function createLogo(): Promise<Buffer> {
  const canvas = createCanvas(64, 64);
  const context = canvas.getContext('2d');
  context.fillStyle = '#ff0000';
  context.fillRect(0, 0, 64, 64);
  return canvas.encode('png');
}

/** The lowest contrast between a text and the background, including the parts that the glow makes lighter. */
function measureContrast(style: Style, hex: string): number {
  const { text, quiet, ground, glow } = toPalette({ style, colour: parseHex(hex) });
  const grounds = ground.flatMap((each) => [toChannels(each), blend(toChannels(each), toChannels(glow), 0.28)]);
  const contrasts = [text, quiet].flatMap((each) => grounds.map((behind) => contrastOf(toChannels(each), behind)));
  return Math.min(...contrasts);
}

const toChannels = (hex: string): number[] => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
const blend = (under: readonly number[], over: readonly number[], part: number) =>
  under.map((value, index) => value * (1 - part) + (over[index] ?? 0) * part);

/** The contrast ratio as defined by the WCAG. */
function contrastOf(one: readonly number[], other: readonly number[]): number {
  const toLuminance = (channels: readonly number[]) => {
    const [r = 0, g = 0, b = 0] = channels.map((each) =>
      each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [light = 0, dark = 0] = [toLuminance(one), toLuminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}
