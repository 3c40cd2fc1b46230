// Owns the building blocks of request and answer shapes, with the contract's bounds and fault types (§0.2, §0.3).
// A check that zod has no word for names its fault type in `params.type`.
import { z } from 'zod';
import { type UrlReason, urlFaults, vetUrl } from '../outbound/url.ts';
import { isStorableText, parseTime } from '../text.ts';

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
    .refine(isStorableText, fault('string_pattern_mismatch', 'must be well-formed text without NUL characters'));
  return shape.meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

export const text = (min: number, max: number) => bounded(z.string(), min, max);

/** Names and the like: white space at the ends is cut before anything is counted or stored. */
export const name = (min: number, max: number) => bounded(z.string().trim(), min, max);

export const pattern = (expression: RegExp, max: number) =>
  text(0, max)
    .refine((value) => expression.test(value), fault('string_pattern_mismatch', `must match ${expression.source}`))
    .meta({ pattern: expression.source, maxLength: max });

/** A password on its way in: bounded, and not one that everybody has. */
export const newPassword = (min: number, max: number, isCommon: (password: string) => boolean) =>
  text(min, max).refine((value) => !isCommon(value), fault('value_error', 'is one of the commonest passwords'));

/** An e-mail address: trimmed, compared in lower case. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .refine((value) => value.length <= 254 && emailForm.test(value), fault('email_parsing', 'must be an e-mail address'))
  .meta({ format: 'email', maxLength: 254 });

// One @, something before it, a name with a dot after it, and no white space: whether it exists, only a mail tells.
const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\.[a-z0-9-]{2,}$/;

export const integer = (min: number, max: number) => z.int().min(min).max(max);

/** A number with at most so many decimals. */
export const decimal = (places: number) =>
  z
    .number()
    .refine(
      (value) => Number(value.toFixed(places)) === value,
      fault('value_error', `must have at most ${places} decimals`),
    );

/** A whole number in an answer, where no bound is part of the promise. */
export const count = z.int();

export const list = <S extends z.ZodType>(item: S, min: number, max: number) => z.array(item).min(min).max(max);

/** A list in which no two items are the same, by `keyOf`. */
export const distinct = <S extends z.ZodType>(items: z.ZodArray<S>, keyOf: (item: z.output<S>) => unknown) =>
  items.refine(
    (all) => new Set(all.map(keyOf)).size === all.length,
    fault('duplicate_items', 'must not repeat an item'),
  );

const isUrl = (value: string, protocol: RegExp): boolean =>
  URL.canParse(value) && protocol.test(new URL(value).protocol);

export const httpsUrl = z
  .string()
  .refine((value) => value.length <= 2048, fault('url_too_long', 'must have at most 2048 characters'))
  .refine((value) => URL.canParse(value) && isStorableText(value), fault('url_parsing', 'must be a URL'))
  .refine((value) => !URL.canParse(value) || isUrl(value, /^https:$/), fault('url_scheme', 'must be an https URL'))
  .meta({ format: 'uri', maxLength: 2048 });

/** The text of a URL, refused for those of the reasons for which the outbound client would that are decided here. */
const vettedUrl = (message: string, isDecidedHere: (reason: UrlReason) => boolean) =>
  z
    .string()
    .superRefine((value, context) => {
      const verdict = vetUrl(value);
      const isRefused = 'reason' in verdict && isDecidedHere(verdict.reason);
      if (!isRefused && value.isWellFormed()) return;
      const type = urlFaults[isRefused ? verdict.reason : 'form'];
      context.addIssue({ code: 'custom', params: { type }, message });
    })
    .meta({ format: 'uri', maxLength: 2048 });

/** An address outside that a caller names, as contract §4.6 has it by its text: https, public, nothing hidden in it. */
export const publicHttpsUrl = vettedUrl('must be a public https URL', () => true);

/** A URL whose scheme, host and addresses are for the outbound client to judge, which knows what the operator allows. */
export const urlText = vettedUrl(
  'must be a URL of at most 2048 characters',
  (reason) => reason === 'form' || reason === 'length',
);

/** An object of the caller's own making, up to so many bytes as JSON. */
export const freeObject = (maxBytes: number) =>
  z
    .record(z.string(), z.unknown())
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
      fault('value_error', `must be at most ${maxBytes} bytes as JSON`),
    )
    .refine(
      (value) =>
        everywhere(value, (key, inner) => isStorableText(key) && (typeof inner !== 'string' || isStorableText(inner))),
      fault('string_pattern_mismatch', 'must be well-formed text without NUL characters'),
    )
    .refine(
      (value) => everywhere(value, (_key, inner) => typeof inner !== 'number' || Number.isFinite(inner)),
      fault('finite_number', 'must hold only finite numbers'), // JSON would keep another as null
    );

/** An object that another document describes: taken as it was sent, for the operation to read. */
export const openObject = describedAs(
  z.custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    fault('dict_type', 'must be an object'),
  ),
  { type: 'object' },
);

function everywhere(value: object, holds: (key: string, inner: unknown) => boolean): boolean {
  let all = true;
  JSON.stringify(value, (key, inner) => {
    all &&= holds(key, inner);
    return inner;
  });
  return all;
}

/** A web origin, as a browser sends it: scheme, host and port, nothing after. */
export const origin = z
  .string()
  .refine(
    (value) => isUrl(value, /^https?:$/) && new URL(value).origin === value,
    fault('url_parsing', 'must be an origin, such as https://example.com'),
  )
  .meta({ format: 'uri' });

export const oneOf = <const V extends readonly [string, ...string[]]>(...values: V) => z.enum(values);

/** May be left out; null counts as left out. */
export const optional = <S extends z.ZodType>(schema: S) => schema.optional();

/** May be left out; null is a value of its own and clears the field. */
export const clearable = <S extends z.ZodType>(schema: S) => schema.nullable().optional();

export const body = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

/** A body in which an unknown field is refused, because a slip there costs money or opens data. */
export const strictBody = <F extends z.ZodRawShape>(fields: F) => z.strictObject(fields);

/** An object in an answer: exactly these fields, named in the API document. */
export const answer = <F extends z.ZodRawShape>(id: string, fields: F) => z.strictObject(fields).meta({ id });

/** A time in an answer: ISO 8601, UTC, milliseconds, `Z`. */
export const timestamp = z.string().meta({ format: 'date-time' });

/** The plain acknowledgement. */
export const Success = answer('Success', { success: z.literal(true) });

/** One page of a list (contract §0.10). */
export const items = <S extends z.ZodType>(item: S) =>
  z.strictObject({ items: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });

// Query values arrive as text.

export const query = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

/** A query in which the operation itself says what else may stand. */
export const openQuery = <F extends z.ZodRawShape>(fields: F) => z.looseObject(fields);

export const queryInteger = (min: number, max: number) =>
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

/** A time: with `Z`, with an offset, or without zone, which is UTC; cut to milliseconds. */
export const queryTime = describedAs(
  z
    .string()
    .refine((value) => parseTime(value) !== undefined, fault('datetime_parsing', 'must be an ISO 8601 time'))
    .transform((value) => parseTime(value) as Date),
  { type: 'string', format: 'date-time' },
);

/** A comma list of known words. */
export const queryWords = <const V extends string>(...known: readonly V[]) =>
  describedAs(
    z
      .string()
      .refine(
        (value) => words(value).length > 0 && words(value).every((word) => known.includes(word as V)),
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
