// An operation's refusals and their description in the document, with one shared response for each set of codes.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type AcceptedCredentials, open } from '../core/auth/credentials.ts';
import { unlimited } from '../core/auth/limits.ts';
import type { Route } from '../core/auth/route.ts';
import { idempotencyRefusals } from '../kit/http/idempotency.ts';
import type { JsonSchema } from '../kit/http/json-schema.ts';
import type { Refusal } from '../kit/http/operation.ts';
import { errorHeaders } from './headers.ts';
import { referToMembers } from './problems.ts';

/** The errors that every operation may return, whatever it declares. */
const always: readonly Refusal[] = [
  { status: 500, code: 'internal_error' },
  { status: 503, code: 'service_unavailable' },
  { status: 503, code: 'busy' },
];

/**
 * The errors that no operation declares, because every operation may return them or because no operation was reached.
 */
export const pipelineRefusals: readonly Refusal[] = [
  ...always,
  { status: 400, code: 'malformed_request' },
  { status: 404, code: 'route_not_found' },
  { status: 405, code: 'method_not_allowed' },
];

/** Lists all of an operation's refusals, as declared by its credentials, guard, schemas and the operation itself. */
export function listRefusals(route: Route): Refusal[] {
  return [
    ...(route.credentials === open ? [] : listCredentialRefusals(route.credentials, route.method)),
    ...(route.limit === unlimited ? [] : [{ status: 429, code: 'rate_limited' }]),
    ...route.access.refusals,
    ...(route.plan ? [{ status: 402, code: 'plan_required' }] : []),
    ...(route.stores === undefined ? [] : [{ status: 402, code: 'storage_quota_exceeded' }]),
    ...(takesInput(route) ? [{ status: 422, code: 'validation' }] : []),
    ...(route.idempotency && !route.keepsKeys ? idempotencyRefusals : []),
    ...(route.body
      ? [
          { status: 413, code: 'payload_too_large' },
          { status: 415, code: 'unsupported_media_type' },
        ]
      : []),
    ...(route.refusals ?? []),
  ];
}

/** A parameter that accepts any value (`queryAnything`) is never rejected. */
const takesInput = ({ body, query, idempotency }: Route): boolean =>
  Boolean(
    body ||
      idempotency ||
      (query instanceof z.ZodObject &&
        Object.values(query.shape).some((parameter) => !z.safeParse(parameter, Symbol()).success)),
  );

function listCredentialRefusals(accepted: AcceptedCredentials, method: string): Refusal[] {
  const forbidden = [
    accepted.token !== 'read_only' && 'read_only_credential_route_not_allowed',
    !(accepted.session && accepted.token && accepted.key && accepted.appUser) && 'credential_kind_not_allowed',
    accepted.workspaceKey ? 'workspace_key_scope_missing' : 'workspace_key_not_allowed',
    accepted.session && method !== 'GET' && 'origin_not_allowed',
  ].filter((code): code is string => typeof code === 'string');
  return [
    ...['credentials_missing', 'credentials_invalid', 'credentials_expired'].map((code) => ({ status: 401, code })),
    ...forbidden.map((code) => ({ status: 403, code })),
  ];
}

/**
 * Lists every code that these routes or the steps before them may return, with its status and, if it has any, its
 * additional members.
 */
export function describeCodes(routes: readonly Route[]): Record<string, JsonSchema> {
  const refusals = [...pipelineRefusals, ...routes.flatMap(listRefusals)];
  const codes = refusals.map(({ status, code }) => {
    const members = referToMembers(code);
    return [code, { status, ...(members && { members }) }] as const;
  });
  return Object.fromEntries(codes.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the errors by status, as references to `responses`. Adds missing responses to `responses`. */
export function describeErrors(route: Route, responses: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const byStatus = Map.groupBy([...listRefusals(route), ...always], ({ status }) => status);
  const described: Record<string, JsonSchema> = {};
  for (const [status, refusals] of [...byStatus].sort(([a], [b]) => a - b)) {
    const codes = [...new Set(refusals.map(({ code }) => code))].sort();
    const name = nameResponse(status, codes);
    responses[name] ??= status === 422 ? invalidInput : describeProblem(status, codes);
    described[status] = { $ref: `#/components/responses/${name}` };
  }
  return described;
}

const statusNames: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthenticated',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'RateLimited',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'Unavailable',
  504: 'Timeout',
};

/** The codes that operations with this status usually return. A response's name lists only other codes. */
const usualCodes: Readonly<Record<number, readonly string[]>> = {
  401: ['credentials_missing', 'credentials_invalid', 'credentials_expired'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  422: ['validation'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['service_unavailable', 'busy'],
};

/**
 * Examples: `NotFound_app_not_found`, or `Forbidden_5f2c91` for several codes. The same codes have the same name in
 * every version of the document.
 */
function nameResponse(status: number, codes: readonly string[]): string {
  const base = statusNames[status] ?? `Status${status}`;
  const usual = usualCodes[status] ?? [];
  const others = codes.filter((code) => !usual.includes(code));
  if (others.length === 0 && usual.length === codes.length) return base;
  const [only] = others;
  if (others.length === 1 && codes.length === usual.length + 1) return `${base}_${only}`;
  return `${base}_${createHash('sha256').update(codes.join()).digest('hex').slice(0, 6)}`;
}

/** Example: `PaymentRequired` becomes "Payment required". */
const describeStatus = (status: number): string =>
  (statusNames[status] ?? `Status ${status}`).replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const invalidInput: JsonSchema = {
  description: 'A field or parameter is not valid. `detail` names each fault and where it is.',
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/ValidationError' },
      example: {
        detail: [{ loc: ['body', 'name'], msg: 'is required', type: 'missing' }],
        code: 'validation',
        request_id: '5987c003-8f4c-4b0e-a3a5-0d1c6a1f7a11',
      },
    },
  },
};

function describeProblem(status: number, codes: readonly string[]): JsonSchema {
  const members = codes.map(referToMembers).filter((schema) => schema !== undefined);
  const unique = [...new Map(members.map((schema) => [schema.$ref, schema])).values()];
  return {
    description: `${describeStatus(status)}.`,
    ...errorHeaders(status),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { properties: { code: { enum: codes } } }, // Problem says that the code is a string
            ...unique,
          ],
        },
      },
    },
  };
}
