// The description of one operation.
import { isDeepStrictEqual } from 'node:util';
import { type AcceptedCredentials, open } from '../core/auth/credentials.ts';
import { type Limit, unlimited } from '../core/auth/limits.ts';
import type { Route } from '../core/auth/route.ts';
import { idempotencyKeyForm } from '../kit/http/idempotency.ts';
import type { JsonSchema } from '../kit/http/json-schema.ts';
import { type AnswerShape, effectOf, findEventStream, listParamNames, repeatOf } from '../kit/http/operation.ts';
import type { FieldText } from '../kit/http/shapes.ts';
import { capitalize } from '../kit/text.ts';
import { describeErrors } from './errors.ts';
import type { Examples } from './examples.ts';
import { answerHeaders } from './headers.ts';
import { parameters } from './parameters.ts';
import { nameOf, type Schemas, toDescribedSchema } from './schemas.ts';
import { tagOf } from './tags.ts';

/** The name in the document of `{*}`, the rest of a path. */
export const restName = 'rest';

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
    'x-repeat': repeatOf(route),
    ...(route.prices && { 'x-prices': route.prices }),
    ...(route.secretFields && { 'x-secret-fields': route.secretFields }),
    ...(route.heldSeconds && { 'x-held-seconds': route.heldSeconds }),
    ...(route.plan && { 'x-plan': route.plan }),
    ...(limit && { 'x-rate-limit': limit }),
    ...(route.needsWorker && { 'x-needs-worker': true }),
    ...(route.bytes && { 'x-byte-budget': route.bytes[0]?.group }),
    ...describeEvents(route, components),
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

/**
 * The credentials that most operations accept. The document lists them once, for all operations without their own list.
 */
export const defaultSecurity: readonly JsonSchema[] = [{ bearer: [] }, { api_key: [] }, { session: [] }];

function describeSecurity({ credentials }: Route): JsonSchema {
  const security = credentials === open ? [] : listSecurity(credentials);
  return isDeepStrictEqual(security, defaultSecurity) ? {} : { security };
}

const listSecurity = (accepted: AcceptedCredentials): JsonSchema[] => [
  ...(accepted.token || accepted.key || accepted.workspaceKey || accepted.appUser ? [{ bearer: [] }] : []),
  ...(accepted.key || accepted.workspaceKey ? [{ api_key: [] }] : []),
  ...(accepted.session ? [{ session: [] }] : []),
  ...(accepted.appUser === true ? [{}] : []), // no credential is needed if the app is open without login
];

const describeLimit = ({ quota, windowSeconds, per, group, scaledBy }: Limit): JsonSchema => ({
  quota,
  window_seconds: windowSeconds,
  per,
  ...(group && { group }),
  scaled_by: scaledBy,
});

/** Parameters with the same meaning in several operations become components. Parameters with their own text do not. */
function listParameters(route: Route, shared: Record<string, JsonSchema>): JsonSchema[] {
  const query = route.query ? toDescribedSchema(route.query, 'input') : {};
  const required = (query.required ?? []) as string[];
  const describe = (name: string, text: FieldText | undefined, schema: JsonSchema, more: JsonSchema): JsonSchema => {
    const value = {
      schema: schema.contentSchema ?? schema,
      // Reference pages put every example into the request, so optional parameters have none.
      ...(more.required === true && text?.example !== undefined && { example: text.example }),
    };
    const parameter = {
      name,
      ...more,
      description: text?.text,
      ...(schema.contentSchema === undefined ? value : { content: { 'application/json': value } }),
    };
    const key = more.required && more.in === 'header' ? `${name}_required` : name;
    const isShared = text === parameters[name] || text?.isShared;
    if (!isShared || !isDeepStrictEqual(shared[key] ?? parameter, parameter)) return parameter;
    shared[key] = parameter;
    return { $ref: `#/components/parameters/${key}` };
  };
  const texts: Readonly<Record<string, FieldText | undefined>> = { ...parameters, ...route.parameterTexts };
  const plain = { type: 'string' };
  return [
    ...listParamNames(route.path)
      .map((name) => (name === '*' ? restName : name))
      .map((name) => describe(name, texts[name], plain, { in: 'path', required: true })),
    ...Object.entries((query.properties ?? {}) as Record<string, JsonSchema>).map(([name, { fieldText, ...schema }]) =>
      describe(name, fieldText as FieldText | undefined, schema, {
        in: 'query',
        ...(required.includes(name) && { required: true }),
      }),
    ),
    ...(route.access.choosesWorkspace ? [describe('workspaceId', texts.workspaceId, plain, { in: 'query' })] : []),
    ...(route.idempotency
      ? [
          describe('Idempotency-Key', texts['Idempotency-Key'], idempotencyKey, {
            in: 'header',
            ...(route.idempotency === 'required' && { required: true }),
          }),
        ]
      : []),
    ...(findEventStream(route) ? [describe('Last-Event-ID', texts['Last-Event-ID'], plain, { in: 'header' })] : []),
  ];
}

const idempotencyKey = { type: 'string', minLength: 1, maxLength: 200, pattern: idempotencyKeyForm.source };

/** Lists the events of the operation's stream. */
function describeEvents(route: Route, { schemas }: Components): JsonSchema {
  const { events } = findEventStream(route) ?? {};
  if (events === undefined) return {};
  const described = Object.entries(events).map(([name, { data, last }]) => [
    name,
    { schema: schemas.add(data, 'output', name), ...(last && { last }) },
  ]);
  return { 'x-events': Object.fromEntries(described) };
}

function describeBody(route: Route, body: NonNullable<Route['body']>, { schemas, examples }: Components): JsonSchema {
  const schema = schemas.add(body, 'input', `${capitalize(route.name)}Body`);
  return {
    ...((!body.safeParse({}).success || hasRequiredFields(schema, schemas)) && { required: true }),
    content: { 'application/json': { schema, ...examples.describe(schema) } },
  };
}

/** If an operation parses its body itself, required fields appear only in the body's description. */
const hasRequiredFields = (reference: JsonSchema, { all }: Schemas): boolean =>
  all[nameOf(reference)]?.required !== undefined;

function describeAnswer(route: Route, shape: AnswerShape, components: Components): JsonSchema {
  const { schemas, examples, responses } = components;
  const headers = answerHeaders(route);
  const others = (route.alsoAnswers ?? []).map((other) => [
    typeOf(other.media),
    { schema: other.schema ?? { type: 'string' } },
  ]);
  if ('media' in shape)
    return {
      description: `${shape.description}.`,
      headers,
      content: { [typeOf(shape.media)]: shape.schema ? { schema: shape.schema } : {}, ...Object.fromEntries(others) },
    };
  const schema = schemas.add(shape, 'output', `${capitalize(route.name)}Result`);
  const described = {
    description: 'OK.',
    headers,
    content: { 'application/json': { schema, ...examples.describe(schema) }, ...Object.fromEntries(others) },
  };
  if (nameOf(schema) !== 'Success' || others.length > 0) return described;
  // Many operations return only `Success`, so it is described once for each set of headers.
  const name = ['Success', ...Object.keys(headers).toSorted()].join('_');
  responses[name] = described;
  return { $ref: `#/components/responses/${name}` };
}

const typeOf = (media: string): string => media.split(';')[0] as string;
