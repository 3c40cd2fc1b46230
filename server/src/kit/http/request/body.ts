// Reads JSON bodies, including their encoding, depth, nulls and unknown fields (docs/api/conventions.md#values).
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { findJsonExcess } from '../../json-excess.ts';
import { ValidationError } from '../faults.ts';

// More than `X-Ignored-Fields` can hold.
const maxIgnored = 2_048;

/** Returns the parsed body, or undefined if none was sent. */
export function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw invalidJson('is not valid UTF-8', bytes.toString('utf8').indexOf('\uFFFD'));
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) throw invalidJson(excess.problem, excess.offset);
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson('is not valid JSON', findFaultOffset(text));
  }
}

/**
 * Returns the offset of the first wrong character. The engine's message does not always contain the offset, so it is
 * found by bisection: the message for an incomplete prefix differs from the message for an invalid prefix. Example:
 * `{"a":1,}` is valid up to `{"a":1,` and wrong at offset 7.
 */
function findFaultOffset(text: string): number {
  if (text.length > 64 * 1024) return 0; // not worth twenty more parses
  let [valid, invalid] = [0, text.length + 1];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isValidPrefix(text.slice(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function isValidPrefix(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as Error;
    return message === 'Unexpected end of JSON input' || Number(/at position (\d+)/.exec(message)?.[1]) >= text.length;
  }
}

const invalidJson = (why: string, offset: number) =>
  new ValidationError([{ loc: ['body', offset], msg: why, type: 'json_invalid' }]);

/** Removes fields that have no effect from a raw value, and adds their paths to `ignored`. */
export type Cleaner = (raw: unknown, ignored: string[], at: string) => unknown;

/**
 * Compiled once per schema. Null counts as "not sent", unless the schema accepts null. Unknown fields are removed and
 * listed. For strict schemas they are kept, and parsing rejects them.
 */
export function createCleaner(schema: z.ZodType): Cleaner {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return createCleaner(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodArray) {
    const item = createCleaner(schema.element as z.ZodType);
    return (raw, ignored, at) =>
      Array.isArray(raw) ? raw.map((value, index) => item(value, ignored, `${at}${index}.`)) : raw;
  }
  if (schema instanceof z.ZodObject) return createObjectCleaner(schema);
  return (raw) => raw;
}

function createObjectCleaner(schema: z.ZodObject): Cleaner {
  const fields = new Map(
    Object.entries(schema.shape).map(([key, field]) => [
      key,
      { clean: createCleaner(field as z.ZodType), takesNull: (field as z.ZodType).safeParse(null).success },
    ]),
  );
  const strict = schema.def.catchall instanceof z.ZodNever;
  return (raw, ignored, at) => {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw;
    const clean: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(raw)) {
      const field = fields.get(key);
      if (field === undefined) {
        if (strict) Object.defineProperty(clean, key, { value, enumerable: true });
        else if (ignored.length < maxIgnored) ignored.push(at + key);
      } else if (value !== null || field.takesNull) clean[key] = field.clean(value, ignored, `${at}${key}.`);
    }
    return clean;
  };
}
