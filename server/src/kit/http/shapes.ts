// The building blocks for request and response schemas, with bounds and fault types
// (docs/api/conventions.md#values and #validation-errors). A check that is not built into zod specifies its fault type
// in `params.type`.
import { z } from 'zod';
import { idOrNull } from '../ids.ts';
import { type UrlReason, urlFaults, vetUrl } from '../outbound/url.ts';
import { isStorableText, parseTime } from '../text.ts';

const fault = (type: string, message: string) => ({ params: { type }, error: message });

/** A field's or parameter's description in the API document. */
export interface FieldText {
  readonly text: string;
  /** Omitted if the type is clear enough: a boolean, an enumeration or a nested object. */
  readonly example?: unknown;
  /** Marks a parameter that means the same in every operation, so the document describes it once. */
  readonly isShared?: true;
}
export const fieldTexts = z.registry<FieldText>();

const withText = <S extends z.ZodType>(schema: S, text: FieldText): S => {
  const own = schema.clone();
  fieldTexts.add(own, text);
  return own;
};

/** A field or parameter with a description and an example value. */
export const described = <S extends z.ZodType>(schema: S, text: string, example?: unknown): S =>
  withText(schema, { text, example });

/** Like `described`, for a query parameter that means the same in every operation. */
export const parameter = <S extends z.ZodType>(schema: S, text: string, example?: unknown): S =>
  withText(schema, { text, example, isShared: true });

/** Sets the JSON schema for the API document, if the value that is sent differs from the parsed value. */
const describedAs = <S extends z.ZodType>(schema: S, json: Record<string, unknown>): S => schema.meta({ json });

// Lengths count code points, not UTF-16 units.
const countCodePoints = (value: string): number => {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
};

const sized = (schema: z.ZodString, min: number, max: number) =>
  schema
    .refine(
      (value) => countCodePoints(value) >= min,
      fault('string_too_short', `must have at least ${min} character${min === 1 ? '' : 's'}`),
    )
    .refine(
      (value) => value.length <= max || countCodePoints(value) <= max,
      fault('string_too_long', `must have at most ${max} characters`),
    )
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });

const bounded = (schema: z.ZodString, min: number, max: number) => {
  const shape = sized(schema, min, max);
  return shape
    .refine(isStorableText, fault('string_pattern_mismatch', 'must be valid Unicode text without NUL characters'))
    .meta(shape.meta() ?? {});
};

export const text = (min: number, max: number) => bounded(z.string(), min, max);

/** Text that is never stored, such as a cursor. It may contain any characters. */
export const unstoredText = (min: number, max: number) => sized(z.string(), min, max);

/** A name. Leading and trailing white space is removed before the length is checked. */
export const name = (min: number, max: number) => bounded(z.string().trim(), min, max);

export const pattern = (expression: RegExp, max: number) =>
  text(0, max)
    .refine((value) => expression.test(value), fault('string_pattern_mismatch', `must match ${expression.source}`))
    .meta({ pattern: expression.source, maxLength: max });

/** A new password, with a limited length. Common passwords are rejected. */
export const newPassword = (min: number, max: number, isCommon: (password: string) => boolean) =>
  text(min, max).refine(
    (value) => !isCommon(value),
    fault('value_error', 'is one of the most common passwords; choose a different one'),
  );

/** An email address, trimmed and converted to lower case. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .refine((value) => value.length <= 254 && emailForm.test(value), fault('email_parsing', 'must be an e-mail address'))
  .meta({ format: 'email', maxLength: 254 });

// One @, a local part, a domain with a dot, and no white space. Only sending an email can show that an address exists.
const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\.[a-z0-9-]{2,}$/;

export const integer = (min: number, max: number) => z.int().min(min).max(max);

/** A number with at most `places` decimals. */
export const decimal = (places: number) =>
  z
    .number()
    .refine(
      (value) => Number(value.toFixed(places)) === value,
      fault('value_error', `must have at most ${places} decimal places`),
    );

/** An integer in a response, without documented bounds. */
export const count = z.int();

export const list = <S extends z.ZodType>(item: S, min: number, max: number) => z.array(item).min(min).max(max);

/** A list without duplicates, compared by `keyOf`. */
export const distinct = <S extends z.ZodType>(items: z.ZodArray<S>, keyOf: (item: z.output<S>) => unknown) =>
  items.refine(
    (all) => new Set(all.map(keyOf)).size === all.length,
    fault('duplicate_items', 'must not contain duplicate items'),
  );

const urlFault = (reason: UrlReason) => fault(urlFaults[reason].type, urlFaults[reason].msg);

const isUrl = (value: string, protocol: RegExp): boolean =>
  URL.canParse(value) && protocol.test(new URL(value).protocol);

export const httpsUrl = z
  .string()
  .refine((value) => value.length <= 2048, urlFault('length'))
  .refine((value) => URL.canParse(value) && isStorableText(value), urlFault('form'))
  .refine((value) => !URL.canParse(value) || isUrl(value, /^https:$/), urlFault('scheme'))
  .meta({ format: 'uri', maxLength: 2048 });

/** A URL that is checked by the outbound client's rules. `isDecidedHere` selects the rules that apply. */
const vettedUrl = (isDecidedHere: (reason: UrlReason) => boolean) =>
  z
    .string()
    .superRefine((value, context) => {
      const verdict = vetUrl(value);
      const isRefused = 'reason' in verdict && isDecidedHere(verdict.reason);
      if (!isRefused && value.isWellFormed()) return;
      const { type, msg } = urlFaults[isRefused ? verdict.reason : 'form'];
      context.addIssue({ code: 'custom', params: { type }, message: msg });
    })
    .meta({ format: 'uri', maxLength: 2048 });

/**
 * A URL that the server will call. It must use https, have a public host, and contain no credentials
 * (docs/internals/outbound-requests.md).
 */
export const publicHttpsUrl = vettedUrl(() => true);

/**
 * A URL whose scheme, host and addresses the outbound client checks, because only the client knows what the operator
 * allows.
 */
export const urlText = vettedUrl((reason) => reason === 'form' || reason === 'length');

/** An object with arbitrary fields, up to `maxBytes` as JSON. */
export const freeObject = (maxBytes: number) =>
  z
    .record(z.string(), z.unknown())
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
      fault('value_error', `must be at most ${maxBytes} bytes as JSON`),
    )
    .refine(
      (value) =>
        isEachValue(value, (key, inner) => isStorableText(key) && (typeof inner !== 'string' || isStorableText(inner))),
      fault('string_pattern_mismatch', 'must be valid Unicode text without NUL characters'),
    )
    .refine(
      (value) => isEachValue(value, (_key, inner) => typeof inner !== 'number' || Number.isFinite(inner)),
      fault('finite_number', 'must contain only finite numbers'), // JSON would store Infinity as null
    );

/** A reference to a handwritten component in the API document. */
const referTo = (component: string) => ({ $ref: `#/components/schemas/${component}` });

const anyObject = () =>
  z.custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { params: { type: 'dict_type', checksType: true }, error: 'must be an object' },
  );

/** Any object. It is passed on unchanged, and the operation checks it itself. */
export const openObject = describedAs(anyObject(), { type: 'object', additionalProperties: true });

/** Like `openObject`, but described by a component in the API document. */
export const objectOf = (component: string) => describedAs(anyObject(), { type: 'object', ...referTo(component) });

/** A response object that is sent unchanged and described by a component in the API document. */
export const storedObjectOf = (component: string) =>
  describedAs(z.record(z.string(), z.unknown()), { type: 'object', additionalProperties: true, ...referTo(component) });

function isEachValue(value: object, satisfies: (key: string, inner: unknown) => boolean): boolean {
  let all = true;
  JSON.stringify(value, (key, inner) => {
    all &&= satisfies(key, inner);
    return inner;
  });
  return all;
}

/** A web origin in the form that browsers send: scheme, host and port. */
export const origin = z
  .string()
  .refine(
    (value) => isUrl(value, /^https?:$/) && new URL(value).origin === value,
    fault('url_parsing', 'must be an origin, such as https://example.com'),
  )
  .meta({ format: 'uri' });

export const oneOf = <const V extends readonly [string, ...string[]]>(...values: V) => z.enum(values);

/** An optional field. Null means the same as absent. */
export const optional = <S extends z.ZodType>(schema: S) => schema.optional();

/** An optional field. Null clears it. */
export const clearable = <S extends z.ZodType>(schema: S) => schema.nullable().optional();

export const body = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

/** A body that rejects unknown fields, because a misspelt field could cost money or expose data. */
export const strictBody = <F extends z.ZodRawShape>(fields: F) => z.strictObject(fields);

/** A response object with exactly these fields, which has a name in the API document. */
export const answer = <F extends z.ZodRawShape>(id: string, fields: F) => z.strictObject(fields).meta({ id });

/** A problem as an event of a stream. The API document describes problems in `openapi/problems.ts`. */
export const ProblemBody = z.looseObject({ code: z.string(), request_id: z.string() }).meta({ id: 'Problem' });

/** An id in a response. It is always one of our own ids. */
export const id = z
  .string()
  .refine((value) => idOrNull(value) !== null)
  .meta({ format: 'uuid' });

/** A time in a response, in ISO 8601 format: UTC with milliseconds and `Z`. */
export const timestamp = z.string().meta({ format: 'date-time' });

export const createdDate = described(timestamp, 'The time of creation.', '2026-11-15T09:30:00.000Z');
export const updatedDate = described(timestamp, 'The time of the last change.', '2026-11-15T09:30:00.000Z');

export const Success = answer('Success', { success: described(z.literal(true), 'Always true.') });

/** A page of a list (docs/api/conventions.md#lists). */
export const items = <S extends z.ZodType>(item: S, text = anyItems) =>
  z.strictObject({
    items: described(z.array(item), text),
    next_cursor: described(
      z.string().nullable(),
      'The cursor of the next page, for 24 hours; null on the last page.',
      'b0R4Zk1hUTJ5',
    ),
    has_more: described(z.boolean(), 'Whether there are more.'),
  });

const anyItems = 'The items of the page, newest first unless stated otherwise.';

// Query values arrive as text.

export const query = <F extends z.ZodRawShape>(fields: F) => z.object(fields);

/** A query that may have more parameters, which the operation checks itself. */
export const openQuery = <F extends z.ZodRawShape>(fields: F) => z.looseObject(fields);

/** A query that rejects unknown parameters, because ignoring a filter would return more than was requested. */
export const strictQuery = <F extends z.ZodRawShape>(fields: F) => z.strictObject(fields);

export const queryInteger = (min: number, max: number) =>
  describedAs(
    z
      .string()
      .refine((value) => /^-?\d+$/.test(value), fault('int_parsing', 'must be a decimal integer'))
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

/** Accepts any value, for operations without a 422. A repeated parameter becomes a list. */
export const queryAnything = describedAs(z.custom<string | readonly string[]>(() => true).optional(), {
  type: 'string',
});

/** A time with `Z`, with an offset, or without a zone, which means UTC. It is truncated to milliseconds. */
export const queryTime = describedAs(
  z
    .string()
    .refine(
      (value) => parseTime(value) !== undefined,
      fault('datetime_parsing', 'must be a time such as 2026-11-15T09:30:00Z'),
    )
    .transform((value) => parseTime(value) as Date),
  { type: 'string', format: 'date-time' },
);

/** JSON text, described by a component in the API document. The operation parses it itself. */
export const queryJson = (component: string) =>
  describedAs(z.string(), { type: 'string', contentMediaType: 'application/json', contentSchema: referTo(component) });

/** A comma-separated list of known words. */
export const queryWords = <const V extends string>(...known: readonly V[]) =>
  queryWordsOf((word): word is V => known.includes(word as V), known.join(', '));

/** Like `queryWords`, for words that can't be listed. `expected` is shown after "a comma-separated list of:". */
export const queryWordsOf = <const V extends string>(isKnown: (word: string) => word is V, expected: string) =>
  describedAs(
    z
      .string()
      .refine(
        (value) => splitWords(value).length > 0 && splitWords(value).every(isKnown),
        fault('enum', `must be a comma-separated list of: ${expected}`),
      )
      .transform((value) => splitWords(value).filter(isKnown)),
    { type: 'string' },
  );

const splitWords = (value: string): string[] => value.split(',').filter(Boolean);

export const pageQuery = {
  limit: parameter(queryInteger(1, 100).default(50), 'The maximum number of items per page.', 50),
  cursor: parameter(
    z.string().optional(),
    'The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page.',
    'b0R4Zk1hUTJ5',
  ),
};
