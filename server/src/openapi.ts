// Owns the OpenAPI 3.1 document, built from the routes that the server runs.
import type { z } from 'zod';
import { type AcceptedCredentials, open } from './core/auth/credentials.ts';
import { type Limit, unlimited } from './core/auth/limits.ts';
import type { Route } from './core/auth/route.ts';
import { idempotencyRefusals } from './kit/http/idempotency.ts';
import { type JsonSchema, toJsonSchema } from './kit/http/json-schema.ts';
import { type AnswerShape, listParamNames, type Refusal } from './kit/http/operation.ts';

export const apiVersion = '1.0.0';

export function buildOpenApi(routes: readonly Route[], baseUrl: string): JsonSchema {
  const schemas: Record<string, JsonSchema> = { Problem: problemSchema, ValidationError: validationSchema };
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    (paths[route.path] as Record<string, JsonSchema>)[route.method.toLowerCase()] = describeOperation(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plinth',
      version: apiVersion,
      summary: 'The management API of an app-building platform',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => a.localeCompare(b))),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A personal access token (plp_…) or another token or key',
        },
        api_key: {
          type: 'apiKey',
          in: 'header',
          name: 'api_key',
          description: 'A personal API key (deprecated; use a token) or a workspace key',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'plinth_session',
          description: 'The session of a signed-in browser',
        },
      },
    },
  };
}

const introduction = `Every error except 422 is a problem (application/problem+json) with a stable \`code\`. Additional facts about a
response are sent as headers: \`X-Partial-Result\` (a part could not be read), \`X-Truncated\`, \`X-Ignored-Fields\`,
\`X-Changed: false\`, \`X-Warning\`. Each response has an \`X-Request-Id\`. The API is in beta.`;

function describeOperation(route: Route, schemas: Record<string, JsonSchema>): JsonSchema {
  const limit = route.limit === unlimited ? undefined : describeLimit(route.limit);
  return {
    operationId: route.name,
    summary: route.summary,
    ...(route.description && { description: route.description }),
    tags: [getTag(route.path)],
    'x-credentials': route.credentials === open ? ['open'] : listCredentials(route.credentials),
    'x-access': route.access.needs,
    ...(route.plan && { 'x-plan': route.plan }),
    ...(limit && { 'x-rate-limit': limit }),
    ...(route.needsWorker && { 'x-needs-worker': true }),
    ...(route.bytes && { 'x-byte-budget': route.bytes[0]?.group }),
    ...(route.credentials !== open && { security: listSecurity(route.credentials) }),
    parameters: listParameters(route, schemas),
    ...(route.body && {
      requestBody: {
        required: !route.body.safeParse({}).success,
        content: { 'application/json': { schema: hoistSchemas(route.body, 'input', schemas) } },
      },
    }),
    responses: describeResponses(route, schemas),
  };
}

export function listCredentials(accepted: AcceptedCredentials): string[] {
  return [
    accepted.session && 'session',
    accepted.token && 'personal_token:full_access',
    accepted.token === 'read_only' && 'personal_token:read_only',
    accepted.key && 'personal_key',
    accepted.workspaceKey && `workspace_key:${accepted.workspaceKey}`,
    accepted.appUser && 'app_user_token',
    accepted.appUser && 'anonymous',
  ].filter((name): name is string => typeof name === 'string');
}

const listSecurity = (accepted: AcceptedCredentials): JsonSchema[] => [
  ...(accepted.token || accepted.key || accepted.workspaceKey || accepted.appUser ? [{ bearer: [] }] : []),
  ...(accepted.key || accepted.workspaceKey ? [{ api_key: [] }] : []),
  ...(accepted.session ? [{ session: [] }] : []),
  ...(accepted.appUser ? [{}] : []), // without credentials, if the app is open without login
];

const describeLimit = ({ quota, windowSeconds, per, group, scaledBy }: Limit): JsonSchema => ({
  quota,
  window_seconds: windowSeconds,
  per,
  ...(group && { group }),
  scaled_by: scaledBy,
});

function listParameters(route: Route, schemas: Record<string, JsonSchema>): JsonSchema[] {
  const query = route.query ? hoistSchemas(route.query, 'input', schemas) : {};
  const required = (query.required ?? []) as string[];
  const text = { type: 'string' };
  return [
    ...listParamNames(route.path).map((name) => ({ name, in: 'path', required: true, schema: text })),
    ...Object.entries((query.properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => ({
      name,
      in: 'query',
      ...(required.includes(name) && { required: true }),
      schema,
    })),
    ...(route.access.choosesWorkspace
      ? [
          {
            name: 'workspaceId',
            in: 'query',
            schema: text,
            description: 'The workspace, for credentials that are valid in several',
          },
        ]
      : []),
    ...(route.idempotency
      ? [
          {
            name: 'Idempotency-Key',
            in: 'header',
            ...(route.idempotency === 'required' && { required: true }),
            schema: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_.:-]+$' },
          },
        ]
      : []),
  ];
}

function describeResponses(route: Route, schemas: Record<string, JsonSchema>): JsonSchema {
  const responses: Record<string, JsonSchema> = {};
  for (const [status, shape] of Object.entries(route.answers)) responses[status] = describeAnswer(shape, schemas);
  const refusals = Map.groupBy([...listRefusals(route), ...always], (refusal) => refusal.status);
  for (const [status, group] of [...refusals].sort(([a], [b]) => a - b)) {
    if (responses[status] !== undefined) continue;
    const codes = [...new Set(group.map((refusal) => refusal.code))];
    responses[status] =
      status === 422
        ? {
            description: 'The request is not valid',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/ValidationError' } } },
          }
        : {
            description: codes.join(', '),
            'x-codes': codes,
            content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
          };
  }
  return responses;
}

/** What any operation may answer with, whatever it declares. */
const always: readonly Refusal[] = [
  { status: 500, code: 'internal_error' },
  { status: 503, code: 'service_unavailable' },
  { status: 503, code: 'busy' },
];

/** What is refused without an operation's own declaration: by any operation, or because none was reached. */
export const pipelineRefusals: readonly Refusal[] = [
  ...always,
  { status: 400, code: 'malformed_request' },
  { status: 404, code: 'route_not_found' },
  { status: 405, code: 'method_not_allowed' },
];

/** Everything an operation may refuse with: declared by its credentials, guard, schemas and itself. */
export function listRefusals(route: Route): Refusal[] {
  return [
    ...(route.credentials === open ? [] : listCredentialRefusals(route.credentials, route.method)),
    ...(route.limit === unlimited ? [] : [{ status: 429, code: 'rate_limited' }]),
    ...route.access.refusals,
    ...(route.plan ? [{ status: 402, code: 'plan_required' }] : []),
    ...(takesInput(route) ? [{ status: 422, code: 'validation' }] : []),
    ...(route.idempotency ? idempotencyRefusals : []),
    ...(route.body
      ? [
          { status: 413, code: 'payload_too_large' },
          { status: 415, code: 'unsupported_media_type' },
        ]
      : []),
    ...(route.refusals ?? []),
  ];
}

const takesInput = (route: Route): boolean => Boolean(route.body || route.query || route.idempotency);

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

const describeAnswer = (shape: AnswerShape, schemas: Record<string, JsonSchema>): JsonSchema =>
  'media' in shape
    ? { description: shape.description, content: { [shape.media.split(';')[0] as string]: {} } }
    : { description: 'Success', content: { 'application/json': { schema: hoistSchemas(shape, 'output', schemas) } } };

/** The JSON schema, with named schemas moved to the document's components. */
function hoistSchemas(shape: z.ZodType, io: 'input' | 'output', schemas: Record<string, JsonSchema>): JsonSchema {
  const { $defs, ...schema } = toJsonSchema(shape, io);
  for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>))
    schemas[name] = rewriteRefs(definition, io) as JsonSchema;
  return rewriteRefs(schema, io) as JsonSchema;
}

/** Points references to the components. Answers may gain fields within 1.x, so their schemas are not closed. */
function rewriteRefs(node: unknown, io: 'input' | 'output'): unknown {
  if (Array.isArray(node)) return node.map((item) => rewriteRefs(item, io));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([key, value]) =>
          !(io === 'output' && key === 'additionalProperties' && value === false) &&
          !(key === 'id' && typeof value === 'string'),
      )
      .map(([key, value]) => [
        key,
        key === '$ref' ? String(value).replace('#/$defs/', '#/components/schemas/') : rewriteRefs(value, io),
      ]),
  );
}

const tags: Record<string, string> = {
  api: 'installation',
  healthz: 'installation',
  readyz: 'installation',
  metrics: 'installation',
  docs: 'installation',
};

function getTag(path: string): string {
  const [first = '', second = ''] = path.split('/').filter(Boolean);
  if (first !== 'api' || second === 'info') return tags[first] ?? 'installation';
  return second;
}

const problemSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable. The codes are listed at each status.' },
    request_id: { type: 'string' },
    retry_safe: { type: 'boolean', description: 'Whether the same request can be repeated without a second effect.' },
  },
};

const validationSchema: JsonSchema = {
  type: 'object',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: { type: 'array', items: { type: ['string', 'integer'] } },
          msg: { type: 'string' },
          type: { type: 'string' },
        },
      },
    },
  },
};
