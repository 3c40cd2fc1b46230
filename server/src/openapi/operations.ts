// Owns the description of one operation.
import { isDeepStrictEqual } from 'node:util';
import { type AcceptedCredentials, open } from '../core/auth/credentials.ts';
import { type Limit, unlimited } from '../core/auth/limits.ts';
import type { Route } from '../core/auth/route.ts';
import { idempotencyKeyForm } from '../kit/http/idempotency.ts';
import { type JsonSchema, toJsonSchema } from '../kit/http/json-schema.ts';
import { type AnswerShape, listParamNames } from '../kit/http/operation.ts';
import { capitalize } from '../kit/text.ts';
import { describeErrors } from './errors.ts';
import type { Examples } from './examples.ts';
import { parameters } from './fields.ts';
import { answerHeaders } from './headers.ts';
import { nameOf, type Schemas } from './schemas.ts';
import { tagOf } from './tags.ts';

export interface Components {
  readonly schemas: Schemas;
  readonly parameters: Record<string, JsonSchema>;
  readonly responses: Record<string, JsonSchema>;
  readonly examples: Examples;
}

export function describeOperation(route: Route, components: Components): JsonSchema {
  const limit = route.limit === unlimited ? undefined : describeLimit(route.limit);
  const listed = listParameters(route, components.parameters);
  return {
    operationId: route.name,
    summary: route.summary,
    ...(route.deprecated && { deprecated: true }),
    ...(route.description && { description: route.description }),
    tags: [tagOf(route)],
    'x-credentials': route.credentials === open ? ['open'] : listCredentials(route.credentials),
    'x-access': route.access.needs,
    'x-effect': effectOf(route),
    ...(route.secretFields && { 'x-secret-fields': route.secretFields }),
    ...(route.heldSeconds && { 'x-held-seconds': route.heldSeconds }),
    ...(route.plan && { 'x-plan': route.plan }),
    ...(limit && { 'x-rate-limit': limit }),
    ...(route.needsWorker && { 'x-needs-worker': true }),
    ...(route.bytes && { 'x-byte-budget': route.bytes[0]?.group }),
    ...describeSecurity(route),
    ...(listed.length > 0 && { parameters: listed }),
    ...(route.body && { requestBody: describeBody(route, route.body, components) }),
    responses: {
      ...describeErrors(route, components.responses),
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, shape]) => [status, describeAnswer(route, shape, components)]),
      ),
    },
  };
}

/** What a call may do: `spend` uses credits or money. */
export function effectOf({ effect, method }: Route): NonNullable<Route['effect']> {
  if (effect !== undefined) return effect;
  if (method === 'GET') return 'read';
  return method === 'DELETE' ? 'remove' : 'change';
}

export function listCredentials(accepted: AcceptedCredentials): string[] {
  return [
    accepted.session && 'session',
    accepted.token && 'personal_token:full_access',
    accepted.token === 'read_only' && 'personal_token:read_only',
    accepted.key && 'personal_key',
    accepted.workspaceKey && `workspace_key:${accepted.workspaceKey}`,
    accepted.appUser && 'app_user_token',
    accepted.appUser === true && 'anonymous',
  ].filter((name): name is string => typeof name === 'string');
}

/** What most operations accept. The document says so once, for all operations that don't say something else. */
export const defaultSecurity: readonly JsonSchema[] = [{ bearer: [] }, { api_key: [] }, { session: [] }];

function describeSecurity({ credentials }: Route): JsonSchema {
  const security = credentials === open ? [] : listSecurity(credentials);
  return isDeepStrictEqual(security, defaultSecurity) ? {} : { security };
}

const listSecurity = (accepted: AcceptedCredentials): JsonSchema[] => [
  ...(accepted.token || accepted.key || accepted.workspaceKey || accepted.appUser ? [{ bearer: [] }] : []),
  ...(accepted.key || accepted.workspaceKey ? [{ api_key: [] }] : []),
  ...(accepted.session ? [{ session: [] }] : []),
  ...(accepted.appUser === true ? [{}] : []), // without credentials, if the app is open without login
];

const describeLimit = ({ quota, windowSeconds, per, group, scaledBy }: Limit): JsonSchema => ({
  quota,
  window_seconds: windowSeconds,
  per,
  ...(group && { group }),
  scaled_by: scaledBy,
});

/** Parameters that several operations have in common are components; those with a text of their own are not. */
function listParameters(route: Route, shared: Record<string, JsonSchema>): JsonSchema[] {
  const query = route.query ? toJsonSchema(route.query, 'input') : {};
  const required = (query.required ?? []) as string[];
  const describe = (name: string, schema: JsonSchema, more: JsonSchema): JsonSchema => {
    const own = parameters[`${route.name}.${name}`];
    const { text, example } = own ?? parameters[name] ?? {};
    const { description = text, ...rest } = schema;
    const value = { schema: rest.contentSchema ?? rest, ...(example !== undefined && { example }) };
    const parameter = {
      name,
      ...more,
      description,
      ...(rest.contentSchema === undefined ? value : { content: { 'application/json': value } }),
    };
    const key = more.required && more.in === 'header' ? `${name}_required` : name;
    if (own !== undefined || !isDeepStrictEqual(shared[key] ?? parameter, parameter)) return parameter;
    shared[key] = parameter;
    return { $ref: `#/components/parameters/${key}` };
  };
  const plain = { type: 'string' };
  return [
    ...listParamNames(route.path).map((name) => describe(name, plain, { in: 'path', required: true })),
    ...Object.entries((query.properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) =>
      describe(name, schema, { in: 'query', ...(required.includes(name) && { required: true }) }),
    ),
    ...(route.access.choosesWorkspace ? [describe('workspaceId', plain, { in: 'query' })] : []),
    ...(route.idempotency
      ? [
          describe('Idempotency-Key', idempotencyKey, {
            in: 'header',
            ...(route.idempotency === 'required' && { required: true }),
          }),
        ]
      : []),
    ...(hasMedia(route, 'text/event-stream') ? [describe('Last-Event-ID', plain, { in: 'header' })] : []),
  ];
}

const idempotencyKey = { type: 'string', minLength: 1, maxLength: 200, pattern: idempotencyKeyForm.source };

const hasMedia = ({ alsoAnswers }: Route, type: string): boolean =>
  alsoAnswers?.some(({ media }) => media === type) ?? false;

function describeBody(route: Route, body: NonNullable<Route['body']>, { schemas, examples }: Components): JsonSchema {
  const schema = schemas.add(body, 'input', `${capitalize(route.name)}Body`);
  return {
    ...((!body.safeParse({}).success || hasRequiredFields(schema, schemas)) && { required: true }),
    content: { 'application/json': { schema, ...examples.describe(schema) } },
  };
}

/** A body that the operation parses itself has required fields only in its description. */
const hasRequiredFields = (reference: JsonSchema, { all }: Schemas): boolean =>
  all[nameOf(reference)]?.required !== undefined;

function describeAnswer(route: Route, shape: AnswerShape, { schemas, examples }: Components): JsonSchema {
  const headers = answerHeaders(route);
  if ('media' in shape)
    return {
      description: `${shape.description}.`,
      headers,
      content: { [typeOf(shape.media)]: shape.schema ? { schema: shape.schema } : {} },
    };
  const schema = schemas.add(shape, 'output', `${capitalize(route.name)}Result`);
  const others = (route.alsoAnswers ?? []).map((other) => [
    typeOf(other.media),
    { schema: other.schema ?? { type: 'string' } },
  ]);
  return {
    description: 'OK.',
    headers,
    content: { 'application/json': { schema, ...examples.describe(schema) }, ...Object.fromEntries(others) },
  };
}

const typeOf = (media: string): string => media.split(';')[0] as string;
