// Fits a text into a box: the largest font size that fits, lines of similar length, and an ellipsis if the text
// is too long even at the smallest size.
import type { SKRSContext2D } from '@napi-rs/canvas';
import { prepareText } from './fonts.ts';

export interface TextBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface TextStyle {
  readonly weight: number;
  readonly maxSize: number;
  readonly minSize: number;
  readonly maxLines: number;
  /** The line height as a multiple of the font size. */
  readonly leading: number;
  readonly language: string;
}

export interface SetText {
  readonly lines: readonly string[];
  readonly font: string;
  readonly size: number;
  readonly lineHeight: number;
  readonly height: number;
  readonly isRightToLeft: boolean;
}

/** Undefined if no part of the text can be drawn. */
export function setText(
  context: SKRSContext2D,
  raw: string,
  { width, height }: Pick<TextBox, 'width' | 'height'>,
  style: TextStyle,
): SetText | undefined {
  const { text, families } = prepareText(raw, style.language);
  if (text === '') return undefined;
  const { weight, maxSize, minSize, leading } = style;
  const toFont = (size: number) => `${weight} ${size}px ${families}`;
  const isRightToLeft = isTextRightToLeft(text);
  context.direction = isRightToLeft ? 'rtl' : 'ltr';
  // Widths are proportional to the font size, so each part is measured only once.
  context.font = toFont(measuredSize);
  const parts = splitText(text, style.language).map((part) => ({ part, width: measure(context, part) / measuredSize }));
  const maxLinesAt = (size: number) => Math.min(style.maxLines, Math.floor(height / (size * leading)));
  const finish = (size: number, lines: readonly string[]): SetText => ({
    lines,
    font: toFont(size),
    size,
    lineHeight: size * leading,
    height: lines.length * size * leading,
    isRightToLeft,
  });
  for (let size = maxSize; size >= minSize; size -= sizeStep) {
    const lines = breakLines(parts, width / size);
    if (lines === undefined || lines.length > maxLinesAt(size)) continue;
    const balanced = balance(parts, width / size, lines);
    context.font = toFont(size);
    if (balanced.every((line) => measure(context, line) <= width)) return finish(size, balanced);
  }
  context.font = toFont(minSize);
  return finish(minSize, cutLines(context, text, width, Math.max(1, maxLinesAt(minSize))));
}

/** Draws the lines from the top of the box, at its leading edge. */
export function drawText(context: SKRSContext2D, set: SetText, { x, y, width }: Omit<TextBox, 'height'>): void {
  context.font = set.font;
  context.direction = set.isRightToLeft ? 'rtl' : 'ltr';
  context.textAlign = 'start';
  context.textBaseline = 'alphabetic';
  // In these fonts, ascenders reach about 0.78 of the font size. Arabic and Vietnamese marks reach higher.
  const baseline = (set.lineHeight - set.size) / 2 + set.size * 0.86;
  for (const [index, line] of set.lines.entries()) {
    // Some letters, such as J, extend to the left of their origin.
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = context.measureText(line);
    const start = set.isRightToLeft ? x + width - Math.max(0, right) : x + Math.max(0, left);
    context.fillText(line, start, y + baseline + index * set.lineHeight);
  }
}

/** Determined by the text's first letter. */
export const isTextRightToLeft = (text: string): boolean =>
  /^[^\p{L}]*[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}]/u.test(text);

const measuredSize = 100;
const sizeStep = 2;

/** The painted width may exceed the advance width, so the larger value is returned. */
function measure(context: SKRSContext2D, text: string): number {
  const { width, actualBoundingBoxLeft, actualBoundingBoxRight } = context.measureText(text);
  return Math.max(width, Math.abs(actualBoundingBoxLeft) + Math.abs(actualBoundingBoxRight));
}

interface Part {
  readonly part: string;
  /** The width at font size 1. */
  readonly width: number;
}

/**
 * Splits the text where a line may break: into words with their trailing space, or, in scripts without spaces, into the
 * words that `Intl.Segmenter` finds. Punctuation stays with the preceding word, and an opening bracket with the
 * following word.
 */
function splitText(text: string, language: string): string[] {
  const parts: string[] = [];
  let opening = '';
  for (const { segment } of new Intl.Segmenter(language, { granularity: 'word' }).segment(text)) {
    const last = parts.at(-1);
    if (/^[\p{Ps}\p{Pi}]$/u.test(segment)) opening += segment;
    else if (last !== undefined && opening === '' && (isAttached(segment) || !mayBreakBetween(last, segment)))
      parts[parts.length - 1] = last + segment;
    else {
      parts.push(opening + segment);
      opening = '';
    }
  }
  if (opening !== '') parts.push(opening);
  return parts;
}

// Includes small kana and the long vowel mark, which never begin a line.
const isAttached = (segment: string): boolean => /^[\s\p{P}\p{S}\p{M}ーゃゅょっャュョッ]+$/u.test(segment);

const isWithoutSpaces = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

const mayBreakBetween = (before: string, after: string): boolean =>
  /[\s\p{Pd}]$/u.test(before) || isWithoutSpaces.test(before.at(-1) ?? '') || isWithoutSpaces.test(after[0] ?? '');

/** Undefined if a part is wider than the line. `width` is relative to font size 1. */
function breakLines(parts: readonly Part[], width: number): string[] | undefined {
  const lines: string[] = [];
  let [line, used] = ['', 0];
  for (const { part, width: partWidth } of parts) {
    if (partWidth > width) return undefined;
    if (line !== '' && used + partWidth > width) {
      lines.push(line.trim());
      [line, used] = ['', 0];
    }
    line += part;
    used += partWidth;
  }
  return line.trim() === '' ? lines : [...lines, line.trim()];
}

/** Finds the narrowest width with the same number of lines, so the last line is not a single word. */
function balance(parts: readonly Part[], width: number, lines: readonly string[]): readonly string[] {
  let [narrowest, widest, best] = [width / lines.length / 2, width, lines];
  for (let round = 0; round < 8 && lines.length > 1; round += 1) {
    const tried = (narrowest + widest) / 2;
    const found = breakLines(parts, tried);
    if (found !== undefined && found.length <= lines.length) [widest, best] = [tried, found];
    else narrowest = tried;
  }
  return best;
}

/** Breaks anywhere, and ends the last line with an ellipsis if the text does not fit. */
function cutLines(context: SKRSContext2D, text: string, width: number, maxLines: number): string[] {
  const characters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const lines: string[] = [];
  let from = 0;
  while (lines.length < maxLines && from < characters.length) {
    const isLast = lines.length === maxLines - 1;
    const rest = characters.slice(from);
    const end = isLast && !fits(context, rest.join(''), width) ? '…' : '';
    const count = countFitting(rest, (line) => fits(context, `${line.trim()}${end}`, width));
    if (count === 0) break;
    const taken = end === '' && count < rest.length ? backToSpace(rest, count) : count;
    lines.push(`${rest.slice(0, taken).join('').trim()}${end}`);
    from += taken;
  }
  return lines;
}

const fits = (context: SKRSContext2D, line: string, width: number): boolean => measure(context, line) <= width;

/** The number of characters that fit, found by binary search. */
function countFitting(characters: readonly string[], isFitting: (line: string) => boolean): number {
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isFitting(characters.slice(0, middle).join(''))) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Moves back to the end of the last whole word, if there is a space in the second half of the line. */
function backToSpace(characters: readonly string[], count: number): number {
  for (let at = count; at > count / 2; at -= 1) if (characters[at] === ' ' || characters[at - 1] === ' ') return at;
  return count;
}
