// Defines how a step's value is recorded: as JSON text that PostgreSQL can store, without secrets, and cut if it is
// long.
import { findJsonExcess } from '../../../kit/json-excess.ts';
import { toStorableText } from '../../../kit/text.ts';
import { type Failure, fail } from './errors.ts';
import type { Mask } from './mask.ts';

const maxValueBytes = 256 * 1024;
const maxRecordedBytes = 16 * 1024;
/** Shorter JSON can't be nested too deeply, so it is not checked. */
const minTextOfExcess = 128;

/** PostgreSQL rejects these escapes in `jsonb`, and they break readers of `json`. */
const unstorable = /\\u0000|\\ud[89a-f]/i;

export interface JsonText {
  readonly value: unknown;
  readonly text: string;
}

/**
 * Writes a step's value as JSON. If it is too large, throws a `runtime` error, because the definition produced the
 * value.
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

/** A task's output is also the next task's input, so its JSON is kept here. */
const texts = new WeakMap<object, string>();

/** Returns the JSON for a value that was written earlier. */
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

/** Makes all strings in a value storable, including field names. */
function toStorableValue(value: unknown): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toStorableValue);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [toStorableText(name), toStorableValue(inner)]),
  );
}

/** Returns a value's JSON as users see it. */
export function writeRecorded({ value, text }: JsonText, mask: Mask): string {
  const shown = mask(value);
  return cutJson(shown === value ? text : JSON.stringify(shown));
}

/** Replaces overlong JSON with a JSON string that contains its beginning. */
function cutJson(text: string): string {
  if (text.length * 3 <= maxRecordedBytes || Buffer.byteLength(text) <= maxRecordedBytes) return text;
  let kept = text.slice(0, maxRecordedBytes);
  for (;;) {
    const written = JSON.stringify(`${kept.toWellFormed()}…`);
    const bytes = Buffer.byteLength(written);
    if (bytes <= maxRecordedBytes) return written;
    // Shortened in proportion to the excess, because escaping can make a string up to six times as long.
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * maxRecordedBytes) / bytes)));
  }
}

// ---- errors

const maxCharacters = { type: 256, title: 1_000, detail: 2_000 };

/** Cuts an error's strings, so it can be recorded and kept in the run's state. */
export const limitFailure = (failure: Failure, mask: Mask): Failure => ({
  ...failure,
  type: cutText(failure.type, maxCharacters.type, mask),
  title: cutText(failure.title, maxCharacters.title, mask),
  detail: cutDetail(failure.detail, mask),
});

export const cutDetail = (text: string, mask: Mask): string => cutText(text, maxCharacters.detail, mask);

/** Longer than any form of any secret. */
const maxSearched = 128 * 1024;

/** Overlong text is masked before it is cut, because the mask would not recognise part of a secret. */
export function cutText(text: string, max: number, mask: Mask): string {
  if (text.length <= max) return text;
  const masked = mask(text.slice(0, maxSearched));
  return masked.length <= max ? masked : `${masked.slice(0, max).toWellFormed()}…`;
}
