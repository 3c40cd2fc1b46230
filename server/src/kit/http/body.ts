// Owns the reading of JSON bodies: encoding, depth, null and unknown fields (docs/api/conventions.md#values).
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { ValidationError } from './faults.ts';

const maxDepth = 64;
// Reading, checking and storing a value costs a microsecond or two, however small it is.
const maxValues = 150_000;
// More than `X-Ignored-Fields` has room for.
const maxIgnored = 2_048;

/** The parsed body; undefined if none was sent. */
export function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw invalidJson('is not UTF-8', bytes.toString('utf8').indexOf('\uFFFD'));
  refuseExcess(bytes);
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson('is not valid JSON', findFaultOffset(text));
  }
}

/**
 * The offset of the first wrong character. The engine's message does not always contain it, so it is found by
 * bisection: a prefix that could still be completed fails with another message than one that is wrong already.
 * Example: `{"a":1,}` is a valid prefix up to `{"a":1,` and wrong at offset 7.
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

/** Before parsing, because what is refused here would be costly to parse. Values are counted by what separates them. */
function refuseExcess(bytes: Buffer): void {
  let [depth, values] = [0, 1];
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x2c) values += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      values += 1;
      depth += 1;
      if (depth > maxDepth) throw invalidJson(`is nested deeper than ${maxDepth} levels`, i);
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    if (values > maxValues) throw invalidJson(`has more than ${maxValues} values`, i);
  }
}

/** Returns a raw value without the fields that have no effect, and adds their paths to `ignored`. */
export type Cleaner = (raw: unknown, ignored: string[], at: string) => unknown;

/**
 * Compiled once per schema. A null reads as "not sent", unless the schema accepts null. Unknown fields are removed and
 * named, except in strict schemas, which keep them so that parsing refuses them.
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
