// Owns what a step records of a value: as JSON text that PostgreSQL can store, without secrets, and cut if it is long.
import { findJsonExcess } from '../../../kit/json-excess.ts';
import { toStorableText } from '../../../kit/text.ts';
import { type Failure, fail } from './errors.ts';
import type { Mask } from './mask.ts';

const maxValueBytes = 256 * 1024;
const maxRecordedBytes = 16 * 1024;
/** A shorter text can't be nested too deeply. */
const minTextOfExcess = 128;

/** PostgreSQL refuses both in `jsonb`, and they break readers of `json`. */
const unstorable = /\\u0000|\\ud[89a-f]/i;

export interface JsonText {
  readonly value: unknown;
  readonly text: string;
}

/**
 * Writes the value of a step as JSON, once. The error of a value that is too large is of the type `runtime`: what made the
 * value is part of the definition.
 */
export function writeValue(value: unknown): JsonText {
  const written = toStorableJson(value ?? null);
  const { text } = written;
  const excess = text.length < minTextOfExcess ? undefined : findJsonExcess(Buffer.from(text));
  if (excess !== undefined) throw fail('runtime', `The value ${excess.problem}.`);
  if (text.length * 3 > maxValueBytes && Buffer.byteLength(text) > maxValueBytes)
    throw fail('runtime', 'The value is larger than 256 KiB. Keep only the parts that later tasks need.', {
      cause: 'too_large',
    });
  if (typeof written.value === 'object' && written.value !== null) texts.set(written.value, text);
  return written;
}

/** What the last task has put out is written again as the input of the next one. */
const texts = new WeakMap<object, string>();

/** A value that was written before. */
export function rewriteValue(value: unknown): JsonText {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined;
  return { value, text: known ?? JSON.stringify(value) };
}

export const writeStorable = (value: unknown): string => toStorableJson(value ?? null).text;

function toStorableJson(value: unknown): JsonText {
  const text = stringify(value);
  if (!unstorable.test(text)) return { value, text };
  const storable = toStorableValue(value);
  return { value: storable, text: JSON.stringify(storable) };
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw fail('runtime', 'The value is nested too deeply.');
    throw error;
  }
}

/** The value with each text in it made storable, also the names of fields. */
function toStorableValue(value: unknown): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toStorableValue);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [toStorableText(name), toStorableValue(inner)]),
  );
}

/** The JSON text of a value for people to read. */
export function writeRecorded({ value, text }: JsonText, mask: Mask): string {
  const shown = mask(value);
  return cutJson(shown === value ? text : JSON.stringify(shown));
}

/** A text that is too long becomes a JSON string of its beginning. */
function cutJson(text: string): string {
  if (text.length * 3 <= maxRecordedBytes || Buffer.byteLength(text) <= maxRecordedBytes) return text;
  let kept = text.slice(0, maxRecordedBytes);
  for (;;) {
    const written = JSON.stringify(`${kept.toWellFormed()}…`);
    const bytes = Buffer.byteLength(written);
    if (bytes <= maxRecordedBytes) return written;
    // In proportion to what is too much; escaping makes a text up to six times as long.
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * maxRecordedBytes) / bytes)));
  }
}

// ---- errors

const maxCharacters = { type: 256, title: 1_000, detail: 2_000 };

/** An error whose texts are short enough to be recorded, and to be kept in the state of the run. */
export const limitFailure = (failure: Failure, mask: Mask): Failure => ({
  ...failure,
  type: cutText(failure.type, maxCharacters.type, mask),
  title: cutText(failure.title, maxCharacters.title, mask),
  detail: cutDetail(failure.detail, mask),
});

export const cutDetail = (text: string, mask: Mask): string => cutText(text, maxCharacters.detail, mask);

/** Longer than a secret in any form. */
const maxSearched = 128 * 1024;

/** A text that is too long is masked before it is cut: a mask does not recognise a part of a secret. */
export function cutText(text: string, max: number, mask: Mask): string {
  if (text.length <= max) return text;
  const masked = mask(text.slice(0, maxSearched));
  return masked.length <= max ? masked : `${masked.slice(0, max).toWellFormed()}…`;
}
