// The document's response headers: their meaning, and the responses that may have them.
import { unlimited } from '../core/auth/limits.ts';
import type { Route } from '../core/auth/route.ts';
import type { JsonSchema } from '../kit/http/json-schema.ts';

const text = { type: 'string' };

/** All response headers that depend on the operation or the outcome. */
export const headerComponents: Readonly<Record<string, { description: string; schema: JsonSchema }>> = {
  'Content-Disposition': { description: 'The name under which a browser saves the file.', schema: text },
  ETag: {
    description: 'Identifies this version; send it in `If-None-Match` to get 304 if it is unchanged.',
    schema: text,
  },
  'Idempotent-Replayed': {
    description:
      'The request was repeated with the same `Idempotency-Key`, and this is the stored response to the first.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { description: 'The URL to which the browser is redirected.', schema: text },
  RateLimit: {
    description:
      'The number of requests left in the window, and the seconds until it ends, such as `"default";r=9;t=42`.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limit of the operation; `"default";q=10;w=60` means 10 requests in 60 seconds.',
    schema: text,
  },
  'Retry-After': {
    description: 'The number of seconds to wait before you try again.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Set-Cookie': { description: 'A cookie for the browser, such as the session cookie.', schema: text },
  'WWW-Authenticate': { description: 'The way to authenticate, which is a bearer token.', schema: text },
  'X-App-Revision': {
    description: 'The revision of the app whose files the archive contains.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Changed': {
    description: '`false` means that the request was valid and everything was already as requested.',
    schema: { type: 'string', const: 'false' },
  },
  'X-Cursor': {
    description: '`reset` means that the cursor was not valid and this is the first page.',
    schema: { type: 'string', const: 'reset' },
  },
  'X-Data-As-Of': {
    description: 'The time of the copy of the data that was read.',
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Date-Range': {
    description: 'The first and the last day that the report covers, joined by `/`; `empty` if it covers none.',
    schema: text,
  },
  'X-Explanation-Source': {
    description: 'The source of the explanation; `none` means that there is none.',
    schema: { type: 'string', enum: ['generated', 'stored', 'none'] },
  },
  'X-Failure-Class': { description: 'The kind of problem that ended the run.', schema: text },
  'X-Failure-Step': {
    description:
      'The number of the step that failed, or of the last step if the platform ended the run; 0 if there is none.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Ignored-Fields': {
    description: 'Comma-separated, percent-encoded names of fields and parameters that had no effect.',
    schema: text,
  },
  'X-Partial-Result': {
    description: 'Comma-separated names of parts that could not be read; do not rely on a 0 or an empty list in them.',
    schema: text,
  },
  'X-Scan-Coverage': {
    description: 'How much of each group was scanned, such as `rls=ran, dependencies=skipped;reason=offline`.',
    schema: text,
  },
  'X-Scanner-Version': {
    description: 'The version of the scanner; results of other versions are not shown.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Session-Version': {
    description: 'The version of the coding session, which grows with each change and each event.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Truncated': {
    description: '`true` means that the list was cut off at its maximum length.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Warning': { description: 'Comma-separated codes of warnings for the caller.', schema: text },
  'X-Webhook-Held': {
    description: 'The number of held deliveries that are now sent.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Webhook-Missed': {
    description: 'The number of deliveries that were missed while the webhook was off; only a replay sends them.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Webhooks-Paused': {
    description: 'The number of webhooks that were turned off.',
    schema: { type: 'integer', minimum: 0 },
  },
};

/**
 * Headers that are common to all responses, or belong to the connection. They are described once, in the introduction.
 */
export const commonHeaders: readonly string[] = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-opener-policy',
  'date',
  'content-encoding',
  'deprecation',
  'keep-alive',
  'ratelimit',
  'ratelimit-policy',
  'referrer-policy',
  'strict-transport-security',
  'sunset',
  'transfer-encoding',
  'vary',
  'x-accel-buffering',
  'x-content-type-options',
  'x-frame-options',
  'x-ignored-fields',
  'x-request-id',
  'x-warning', // of any operation with an Idempotency-Key: an answer may not be stored
];

const refer = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/**
 * Lists the headers that a response with this status may have. An error may also have the headers of a successful
 * response.
 */
export const listHeaders = (route: Route, status: number): string[] => [
  ...listAnswerHeaders(route),
  ...(status < 400 ? [] : listErrorHeaders(status)),
];

function listAnswerHeaders(route: Route): string[] {
  return [
    ...(route.limit === unlimited ? [] : ['X-Partial-Result']), // reports local rate limits while Redis is unavailable
    ...(route.body || route.query || route.access.choosesWorkspace ? ['X-Ignored-Fields'] : []),
    ...(route.idempotency ? ['Idempotent-Replayed'] : []),
    ...(route.secretFields || route.needsWorker ? ['X-Warning'] : []),
    ...(route.method === 'GET' || route.effect === 'read' ? [] : ['X-Changed']),
    ...(route.headers ?? []),
  ];
}

const listErrorHeaders = (status: number): string[] => [
  ...(status === 401 ? ['WWW-Authenticate'] : []),
  ...(status === 429 || status === 503 || status === 409 ? ['Retry-After'] : []),
  ...(status === 429 ? ['RateLimit', 'RateLimit-Policy'] : []),
];

export const answerHeaders = (route: Route): JsonSchema => refer(listAnswerHeaders(route));
/** The `headers` part of the response, or an empty object if there are none. */
export function errorHeaders(status: number): JsonSchema {
  const names = listErrorHeaders(status);
  return names.length === 0 ? {} : { headers: refer(names) };
}
