// Hides secrets in a run's recorded data: every string that a definition could have derived from a secret with a
// common encoding.
import { createBudget, createFinder, type Finder, mergePlaces } from './finder.ts';

const masked = '***';
/** Shorter values would match ordinary words and numbers everywhere. */
const minLength = 4;

export type Mask = <Value>(value: Value) => Value;

export const unmasked: Mask = (value) => value;

export function createMask(secrets: Iterable<string>): Mask {
  const values = [...secrets].filter(({ length }) => length >= minLength);
  if (values.length === 0) return unmasked;
  const findForms = createFinder(new Set(values.flatMap(listForms)));
  const short = values.filter((value) => Buffer.byteLength(value) < minBytesOfBase64Form);
  const findWords = createWordFinder(createFinder(short));
  const find: Finder =
    short.length === 0 ? findForms : (text, budget) => mergePlaces([findForms(text, budget), findWords(text, budget)]);
  return <Value>(value: Value) => maskValue(value, createTextMask(find)) as Value;
}

/** Creates a function that masks the strings in one value. */
function createTextMask(find: Finder): (text: string) => string {
  const budget = createBudget();
  return (text) => {
    let shown = '';
    let end = 0;
    for (const place of find(text, budget)) {
      shown += text.slice(end, place.start) + masked;
      end = place.end;
    }
    return end === 0 ? text : shown + text.slice(end);
  };
}

function maskValue(value: unknown, maskText: (text: string) => string): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'number') {
    // A number that contains a numeric secret becomes a string.
    const text = maskText(String(value));
    return text === String(value) ? value : text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => maskValue(inner, maskText));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [maskText(name), maskValue(inner, maskText)]));
}

/**
 * Lists a secret's forms: unchanged, URL-encoded, escaped as JSON, and in base64. Characters that depend on
 * neighbouring text are left out.
 */
function listForms(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const inUrl = encodeURIComponent(wellFormed);
  const bytes = Buffer.from(wellFormed);
  return [
    secret,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    // The encodings that jq's @uri and URLSearchParams produce.
    inUrl.replace(/[!'()*]/g, toPercent),
    inUrl.replace(/[!'()~]/g, toPercent).replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    ...[0, 1, 2].flatMap((offset) => toBase64At(bytes, offset)),
  ].filter(({ length }) => length >= minLength);
}

const toPercent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

// ---- base64

const minBase64Length = 8;

/**
 * Returns the base64 characters that depend only on the secret. `offset` is the number of bytes before the secret,
 * modulo 3. Example: in `user:secret` the offset is 2, so only the encoding of `ecr` is fixed.
 */
function toBase64At(bytes: Buffer, offset: number): string[] {
  const whole = bytes.subarray((3 - offset) % 3);
  const text = whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
  return text.length < minBase64Length ? [] : [text, text.replaceAll('+', '-').replaceAll('/', '_')];
}

/**
 * A shorter secret's base64 form depends too much on the bytes around it. Instead, words that look like base64 are
 * decoded and searched.
 */
const minBytesOfBase64Form = 16;

/** The encoded length of four bytes or more. */
const base64Words = /[\w+/-]{6,}/g;
/**
 * These characters occur in base64, but also between words, as in a path. The text before them may not belong to the
 * encoded word.
 */
const base64Separator = /[+/_-]/;

/**
 * Finds words whose decoded form contains one of the wanted strings. Example: in `Basic Ym9iOmh1bnRlcjI=` the second
 * word decodes to `bob:hunter2`.
 */
function createWordFinder(find: Finder): Finder {
  return (text, budget) =>
    Array.from(text.matchAll(base64Words))
      .filter(([word]) =>
        (base64Separator.test(word) ? [0, 1, 2, 3] : [0]).some(
          (offset) => find(Buffer.from(word.slice(offset), 'base64').toString(), budget).length > 0,
        ),
      )
      .map(({ 0: word, index }) => ({ start: index, end: index + word.length }));
}
