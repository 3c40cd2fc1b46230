// Owns the reading of JSON bodies: encoding, depth, and what null and unknown fields mean (contract §0.2).
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { ValidationError } from './faults.ts';

const maxDepth = 64;

/** The parsed body, or undefined when none was sent. */
export function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw notJson('is not UTF-8', bytes.toString('utf8').indexOf('\uFFFD'));
  const tooDeepAt = depthExceededAt(bytes);
  if (tooDeepAt >= 0) throw notJson(`is nested deeper than ${maxDepth} levels`, tooDeepAt);
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw notJson('is not valid JSON', faultOffset(text));
  }
}

/**
 * Where a text stops being the beginning of JSON. The engine's message does not always say, so it is searched for: a
 * beginning that could still be completed fails in another way than one that is already wrong.
 */
function faultOffset(text: string): number {
  if (text.length > 64 * 1024) return 0; // not worth twenty more parses
  let [good, bad] = [0, text.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isBeginning(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as Error;
    return message === 'Unexpected end of JSON input' || Number(/at position (\d+)/.exec(message)?.[1]) >= text.length;
  }
}

const notJson = (why: string, offset: number) =>
  new ValidationError([{ loc: ['body', offset], msg: `the body ${why}`, type: 'json_invalid' }]);

function depthExceededAt(bytes: Buffer): number {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return i;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return -1;
}

/** Takes a raw value as sent; gives it without what has no effect, and names that in `ignored`. */
export type Cleaner = (raw: unknown, ignored: string[], at: string) => unknown;

/**
 * Compiled once per shape. Null means "not sent" except where the shape takes null as a value; unknown fields are
 * dropped and named, except in strict shapes, which keep them so that the parse refuses them.
 */
export function cleanerFor(schema: z.ZodType): Cleaner {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return cleanerFor(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodArray) {
    const item = cleanerFor(schema.element as z.ZodType);
    return (raw, ignored, at) =>
      Array.isArray(raw) ? raw.map((value, index) => item(value, ignored, `${at}${index}.`)) : raw;
  }
  if (schema instanceof z.ZodObject) return objectCleaner(schema);
  return (raw) => raw;
}

function objectCleaner(schema: z.ZodObject): Cleaner {
  const fields = new Map(
    Object.entries(schema.shape).map(([key, field]) => [
      key,
      { clean: cleanerFor(field as z.ZodType), takesNull: (field as z.ZodType).safeParse(null).success },
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
        else ignored.push(at + key);
      } else if (value !== null || field.takesNull) clean[key] = field.clean(value, ignored, `${at}${key}.`);
    }
    return clean;
  };
}
