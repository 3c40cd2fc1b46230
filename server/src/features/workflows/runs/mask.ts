// Owns hiding secrets in what a run records: every text that a definition could have made from a secret by a usual encoding.
import { createBudget, createFinder, type Finder, mergePlaces } from './finder.ts';

const masked = '***';
/** Shorter values are ordinary words and numbers, which would be hidden everywhere. */
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

/** Masks the texts of one value. */
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
    // A number that contains a secret of digits becomes a text.
    const text = maskText(String(value));
    return text === String(value) ? value : text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => maskValue(inner, maskText));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [maskText(name), maskValue(inner, maskText)]));
}

/** As it is, as part of a URL or of JSON, and in base 64, each without what depends on its surroundings. */
function listForms(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const inUrl = encodeURIComponent(wellFormed);
  const bytes = Buffer.from(wellFormed);
  return [
    secret,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    // As jq's @uri and URLSearchParams write it.
    inUrl.replace(/[!'()*]/g, toPercent),
    inUrl.replace(/[!'()~]/g, toPercent).replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    ...[0, 1, 2].flatMap((offset) => toBase64At(bytes, offset)),
  ].filter(({ length }) => length >= minLength);
}

const toPercent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

// ---- base 64

const minBase64Length = 8;

/**
 * The characters of a base 64 text that depend on the secret alone, if this many bytes modulo 3 come before it. Example: of
 * `user:secret`, whose secret has the offset 2, the bytes of `ecret` without the last two.
 */
function toBase64At(bytes: Buffer, offset: number): string[] {
  const whole = bytes.subarray((3 - offset) % 3);
  const text = whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
  return text.length < minBase64Length ? [] : [text, text.replaceAll('+', '-').replaceAll('/', '_')];
}

/** Of a shorter secret, too much depends on what is before and after it: it is looked for in what a text says in base 64. */
const minBytesOfBase64Form = 16;

/** Long enough for four bytes. */
const base64Words = /[\w+/-]{6,}/g;
/** Both in base 64 and between words, such as those of a path: what is before one of these may not belong to the rest. */
const base64Separator = /[+/_-]/;

/**
 * Finds the words which, decoded, have one of the wanted texts. Example: the second word of `Basic Ym9iOmh1bnRlcjI=`, which is
 * `bob:hunter2`.
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
