// Owns the building blocks of request and answer shapes, with the contract's bounds and fault types (§0.2, §0.3).
// A check that zod has no word for names its fault type in `params.type`.
import { z } from 'zod';

const fault = (type: string, message: string) => ({ params: { type }, error: message });

/** Describes a schema in the API document by hand, where what is sent differs from what is parsed. */
const describedAs = <S extends z.ZodType>(schema: S, json: Record<string, unknown>): S => schema.meta({ json });

// Lengths count code points, not UTF-16 units.
const codePoints = (value: string): number => {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
};

function bounded(schema: z.ZodString, min: number, max: number) {
  const shape = schema
    .refine((value) => codePoints(value) >= min, fault('string_too_short', `must have at least ${min} character(s)`))
    .refine(
      (value) => value.length <= max || codePoints(value) <= max,
      fault('string_too_long', `must have at most ${max} characters`),
    )
    .refine((value) => !value.includes('\0'), fault('string_pattern_mismatch', 'must not contain a NUL character'));
  return shape.meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

export const text = (min: number, max: number) => bounded(z.string(), min, max);

/** Names and the like: white space at the ends is cut before anything is counted or stored. */
export const name = (min: number, max: number) => bounded(z.string().trim(), min, max);

export const pattern = (expression: RegExp, max: number) =>
  text(0, max)
    .refine((value) => expression.test(value), fault('string_pattern_mismatch', `must match ${expression.source}`))
    .meta({ pattern: expression.source, maxLength: max });

export const integer = (min: number, max: number) => z.int().min(min).max(max);

/** A whole number in an answer, where no bound is part of the promise. */
export const count = z.int();

export const list = <S extends z.ZodType>(item: S, min: number, max: number) => z.array(item).min(min).max(max);

export const oneOf = <const V extends readonly [string, ...string[]]>(...values: V) => z.enum(values);

/** May be left out; null counts as left out. */
export const optional = <S extends z.ZodType>(schema: S) => schema.optional();

/** May be left out; null is a value of its own and clears the field. */
export const clearable = <S extends z.ZodType>(schema: S) => schema.nullable().optional();

export const body = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

/** An object in an answer: exactly these fields, named in the API document. */
export const answer = <F extends z.ZodRawShape>(id: string, fields: F) => z.strictObject(fields).meta({ id });

/** A time in an answer: ISO 8601, UTC, milliseconds, `Z`. */
export const timestamp = z.string().meta({ format: 'date-time' });

/** One page of a list (contract §0.10). */
export const items = <S extends z.ZodType>(item: S) =>
  z.strictObject({ items: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });

// Query values arrive as text.

export const query = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

const queryInteger = (min: number, max: number) =>
  describedAs(
    z
      .string()
      .refine((value) => /^-?\d+$/.test(value), fault('int_parsing', 'must be written in decimal digits'))
      .transform(Number)
      .pipe(integer(min, max)),
    { type: 'integer', minimum: min, maximum: max },
  );

export const queryFlag = describedAs(
  z
    .string()
    .refine((value) => /^(true|false|1|0)$/.test(value), fault('bool_parsing', 'must be true, false, 1 or 0'))
    .transform((value) => value === 'true' || value === '1'),
  { type: 'boolean' },
);

/** A comma list of known words. */
export const queryWords = <const V extends string>(...known: readonly V[]) =>
  describedAs(
    z
      .string()
      .refine(
        (value) => words(value).every((word) => known.includes(word as V)),
        fault('enum', `must be of: ${known.join(', ')}`),
      )
      .transform((value) => words(value) as V[]),
    { type: 'string', description: `comma list of: ${known.join(', ')}` },
  );

const words = (value: string): string[] => value.split(',').filter(Boolean);

export const pageQuery = {
  limit: queryInteger(1, 100).default(50),
  cursor: z.string().optional(),
};
