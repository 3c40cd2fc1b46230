// Owns the response headers of the document: what each means, and which answers may have it.
import { unlimited } from '../core/auth/limits.ts';
import type { Route } from '../core/auth/route.ts';
import type { JsonSchema } from '../kit/http/json-schema.ts';

const text = { type: 'string' };

/** Every response header that depends on the operation or on what happened. */
export const headerComponents: Readonly<Record<string, { description: string; schema: JsonSchema }>> = {
  'Content-Disposition': { description: 'The name under which a browser saves the file.', schema: text },
  ETag: {
    description: 'Identifies this version; send it in `If-None-Match` to get 304 if it is unchanged.',
    schema: text,
  },
  'Idempotent-Replayed': {
    description: 'The request was repeated with the same `Idempotency-Key`: this is the stored answer to the first.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { description: 'Where the browser goes.', schema: text },
  RateLimit: {
    description: 'How many requests are left in the window, and when it ends: `"default";r=9;t=42`.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limit of the operation: `"default";q=10;w=60` is 10 in 60 seconds.',
    schema: text,
  },
  'Retry-After': { description: 'After how many seconds to try again.', schema: { type: 'integer', minimum: 0 } },
  'Set-Cookie': { description: 'A cookie for the browser, such as its session.', schema: text },
  'WWW-Authenticate': { description: 'How to authenticate: with a bearer token.', schema: text },
  'X-Changed': {
    description: '`false`: the request was valid, and everything was already as requested.',
    schema: { type: 'string', const: 'false' },
  },
  'X-Cursor': {
    description: '`reset`: the cursor was not valid, and this is the first page.',
    schema: { type: 'string', const: 'reset' },
  },
  'X-Data-As-Of': {
    description: 'The time of the copy that was read.',
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Date-Range': {
    description: 'The first and the last day that the report covers, joined by `/`; `empty` if it covers none.',
    schema: text,
  },
  'X-Explanation-Source': {
    description: 'Where the explanation comes from; `none`: there is none.',
    schema: { type: 'string', enum: ['generated', 'stored', 'none'] },
  },
  'X-Failure-Class': { description: 'What kind of problem ended the run.', schema: text },
  'X-Failure-Step': {
    description: 'The step that failed, or the last one if the platform ended the run; 0 if there is none.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Ignored-Fields': {
    description: 'Comma-separated, percent-encoded names of fields and parameters that had no effect.',
    schema: text,
  },
  'X-Partial-Result': {
    description: 'Comma-separated parts that could not be read; a 0 or an empty list there proves nothing.',
    schema: text,
  },
  'X-Scan-Coverage': {
    description: 'How much of each group was looked at: `rls=ran, dependencies=skipped;reason=offline`.',
    schema: text,
  },
  'X-Scanner-Version': {
    description: 'The version of the scanner. A result of another version is not shown.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Session-Version': {
    description: 'The version of the coding session, which grows with each change and each event.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Truncated': { description: '`true`: the list was cut at its maximum.', schema: { type: 'string', const: 'true' } },
  'X-Warning': { description: 'Comma-separated codes of what the caller should know.', schema: text },
  'X-Webhook-Held': {
    description: 'How many held deliveries are sent now.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Webhook-Missed': {
    description: 'How many deliveries were missed while the webhook was off; only a replay sends them.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Webhooks-Paused': { description: 'How many webhooks were switched off.', schema: { type: 'integer', minimum: 0 } },
};

/** Headers of every answer, or of the connection. They are described once, in the introduction. */
export const commonHeaders: readonly string[] = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
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
];

const refer = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers that an answer with this status may have. A refusal may have those of a success too. */
export const listHeaders = (route: Route, status: number): string[] => [
  ...listAnswerHeaders(route),
  ...(status < 400 ? [] : listErrorHeaders(status)),
];

function listAnswerHeaders(route: Route): string[] {
  return [
    ...(route.limit === unlimited ? [] : ['X-Partial-Result']), // the limit, while Redis can't be reached
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
/** As a part of the response, if there are any. */
export function errorHeaders(status: number): JsonSchema {
  const names = listErrorHeaders(status);
  return names.length === 0 ? {} : { headers: refer(names) };
}
