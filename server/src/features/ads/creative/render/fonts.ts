// The image fonts: which bundled files a text needs, and which characters can be drawn.
//
// The fonts come in many small files, each covering a few character ranges. Only the files that a text needs are
// loaded, because loading all of them takes half a second and 40 MB. Fonts installed on the machine are never used.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { GlobalFonts } from '@napi-rs/canvas';

interface FontPackage {
  readonly name: string;
  readonly folder: string;
  /** Maps each code point to its subset. */
  readonly subsets: ReadonlyMap<number, string>;
}

const resolve = createRequire(import.meta.url).resolve;

// Skips the subsets `symbols` and `math`, because they list characters that are missing from their files.
function readPackage(name: string): FontPackage {
  const folder = dirname(resolve(`@fontsource-variable/${name}/package.json`));
  const lists: Record<string, string> = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8'));
  const subsets = new Map<number, string>();
  for (const [key, list] of Object.entries(lists)) {
    if (/^(symbols|math)$/.test(key)) continue;
    const subset = key.replace(/[[\]]/g, '');
    // Subsets overlap. `latin` wins, because it is always loaded.
    for (const codePoint of listCodePoints(list))
      if (subset === 'latin' || !subsets.has(codePoint)) subsets.set(codePoint, subset);
  }
  return { name, folder, subsets };
}

/** Parses a list such as `U+0000-00FF,U+0131`. */
function* listCodePoints(list: string): Generator<number> {
  for (const range of list.split(',')) {
    const [first = '', last = first] = range.trim().replace('U+', '').split('-');
    for (let at = Number.parseInt(first, 16); at <= Number.parseInt(last, 16); at += 1) yield at;
  }
}

const packages = new Map<string, FontPackage>();

function getPackage(name: string): FontPackage {
  const found = packages.get(name) ?? readPackage(name);
  packages.set(name, found);
  return found;
}

const alphabets = ['noto-sans', 'noto-sans-arabic', 'noto-sans-hebrew', 'noto-sans-thai'];

/**
 * The same character looks different in Chinese, Japanese and Korean, so the font for the text's own language comes
 * first.
 */
function listPackages(text: string, language: string): FontPackage[] {
  const [jp, kr, sc] = ['noto-sans-jp', 'noto-sans-kr', 'noto-sans-sc'];
  const isJapanese =
    /[\p{sc=Hiragana}\p{sc=Katakana}]/u.test(text) || (language === 'ja' && !/\p{sc=Hangul}/u.test(text));
  const isKorean = language === 'ko' || /\p{sc=Hangul}/u.test(text);
  const eastern = isJapanese ? [jp, sc, kr] : isKorean ? [kr, sc, jp] : [sc, jp, kr];
  const names = /[\u1100-\u11ff\u2e80-\uffef\u{20000}-\u{3ffff}]/u.test(text) ? [...alphabets, ...eastern] : alphabets;
  return names.map(getPackage);
}

const registered = new Set<string>();

/** Returns the font's family name on the canvas. */
function register({ name, folder }: FontPackage, subset: string): string {
  const family = `${name}-${subset}`;
  if (!registered.has(family)) {
    if (!GlobalFonts.registerFromPath(join(folder, 'files', `${family}-wght-normal.woff2`), family))
      throw new Error(`the font ${family} can't be read`);
    registered.add(family);
  }
  return family;
}

// Omits pictographs, because some fonts have only a few of them, in black.
const isOmitted = (character: string): boolean =>
  /\p{Extended_Pictographic}|\p{Variation_Selector}/u.test(character) && !'©®™'.includes(character);

/** No language needs more than three marks in a row. Further marks would be stacked far above the line. */
const moreThanThreeMarks = /(\p{M}{3})\p{M}+/gu;

export interface DrawableText {
  /**
   * The text without emoji or symbols that no font has, which would be drawn as empty boxes. Empty if a letter is
   * missing from all fonts, because omitting a letter would change a name.
   */
  readonly text: string;
  /** A font family list for `context.font`. */
  readonly families: string;
}

export function prepareText(text: string, language: string): DrawableText {
  const composed = text.normalize('NFC').replace(moreThanThreeMarks, '$1');
  const fonts = listPackages(composed, language);
  const families = new Set<string>([register(getPackage('noto-sans'), 'latin')]); // contains the ellipsis
  let drawable = '';
  for (const character of composed) {
    const codePoint = character.codePointAt(0) as number;
    if (isOmitted(character)) continue;
    const font = fonts.find(({ subsets }) => subsets.has(codePoint));
    if (font === undefined && /[\p{L}\p{M}]/u.test(character)) return { text: '', families: '' };
    if (font === undefined) continue;
    families.add(register(font, font.subsets.get(codePoint) as string));
    drawable += character;
  }
  return { text: drawable.replace(/\s+/g, ' ').trim(), families: [...families].map((each) => `"${each}"`).join(', ') };
}
