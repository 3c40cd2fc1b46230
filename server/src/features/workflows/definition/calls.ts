// Owns reading the task `call`: which calls there are, and what each of them is given.
import { urlFaults, vetUrl } from '../../../kit/outbound/url.ts';
import type { AgentCall, ConnectorCall, EntityCall, HttpCall, Template } from './model.ts';
import {
  type Fields,
  fault,
  isObject,
  type Place,
  readChoice,
  readExpressionOr,
  readInteger,
  readObject,
  readObjectTemplate,
  readTemplate,
  readText,
  step,
} from './source.ts';
import { readEntityName, readId } from './values.ts';

type Call = HttpCall | EntityCall | AgentCall | ConnectorCall;

const entityCalls = {
  'entity.create': ['entity', 'data', 'as_user'],
  'entity.get': ['entity', 'id', 'as_user'],
  'entity.list': ['entity', 'query', 'limit', 'as_user'],
  'entity.update': ['entity', 'id', 'data', 'as_user'],
  'entity.delete': ['entity', 'id', 'as_user'],
} as const;
type EntityCallName = keyof typeof entityCalls;

const isEntityCall = (name: unknown): name is EntityCallName =>
  typeof name === 'string' && Object.hasOwn(entityCalls, name);

const callNames = ['http', ...Object.keys(entityCalls), 'agent.send', 'connector.request'];
const unsupportedCalls: readonly unknown[] = ['asyncapi', 'grpc', 'openapi'];

/** `call` is the name of the call, `given` its `with`. */
export function readCall(call: Place, given: Place | undefined): Call | undefined {
  if (unsupportedCalls.includes(call.value)) return fault(call, `is not supported. Supported: ${callNames.join(', ')}`);
  const { value } = call;
  const isOther = value === 'http' || value === 'agent.send' || value === 'connector.request';
  if (!isOther && !isEntityCall(value)) return fault(call, `must be one of ${callNames.join(', ')}`);
  if (given === undefined) return undefined; // it was reported as missing
  if (value === 'http') return readHttp(given);
  if (value === 'agent.send') return readAgentCall(given);
  return value === 'connector.request' ? readConnectorCall(given) : readEntityCall(value, given);
}

// ---- http

const outputs = ['content', 'response'] as const;
const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'];

function readHttp(given: Place): HttpCall | undefined {
  if (isObject(given.value) && Object.hasOwn(given.value, 'redirect')) {
    fault(step(given, 'redirect', null), 'is not supported: redirects are never followed');
    return undefined;
  }
  const fields = readObject(given, ['method', 'endpoint', 'headers', 'query', 'body', 'output']);
  if (fields === undefined) return undefined;
  const method = readPart(fields.require('method'), (place) => readExpressionOr(place, readMethod));
  const endpoint = readPart(fields.require('endpoint'), (place) => readExpressionOr(place, readEndpoint));
  const headers = readPart(fields.get('headers'), (place) => readExpressionOr(place, readHeaders));
  const query = readPart(fields.get('query'), (place) => readExpressionOr(place, readObjectTemplate));
  const body = readPart(fields.get('body'), readTemplate);
  const output = readPart(fields.get('output'), (place) => readChoice(place, outputs)) ?? 'content';
  if (method === undefined || endpoint === undefined) return undefined;
  return { call: 'http', method, endpoint, headers, query, body, output };
}

const readPart = <Value>(place: Place | undefined, read: (place: Place) => Value | undefined): Value | undefined =>
  place === undefined ? undefined : read(place);

function readMethod(place: Place): string | undefined {
  const method = typeof place.value === 'string' ? place.value.toLowerCase() : '';
  return methods.includes(method) ? method : fault(place, `must be one of ${methods.join(', ')}, or an expression`);
}

/** Whether the host may be called is decided when it is: the operator can allow addresses in the meantime. */
function readEndpoint(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string') return fault(place, 'must be a URL or an expression');
  if (/[{}]/.test(value)) return fault(place, 'must not contain braces. Use an expression to put the address together');
  const verdict = vetUrl(value, { plainHttp: true });
  if ('ok' in verdict || ['host', 'port', 'address'].includes(verdict.reason)) return value;
  return fault(place, urlFaults[verdict.reason].msg);
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Those that the connection needs, and the one that makes a repeated request recognisable. */
const ownHeaders = [
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

function readHeaders(place: Place): Template | undefined {
  if (!isObject(place.value)) return fault(place, 'must be an object or an expression');
  for (const [name, value] of Object.entries(place.value)) {
    const header = step(place, name, value);
    if (!headerName.test(name)) fault(header, 'must have a name that is allowed in HTTP');
    else if (ownHeaders.includes(name.toLowerCase()))
      fault(header, `is set by Plinth, as are ${ownHeaders.join(', ')}`);
    else readExpressionOr(header, readHeaderValue);
  }
  return readKnown(place);
}

function readHeaderValue(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || value.length > 8_192 || /[^\t\x20-\x7e\x80-\xff]/.test(value))
    return fault(place, 'must be a string of up to 8192 characters that are allowed in HTTP, or an expression');
  return value;
}

/** The value of a place whose parts were read one by one. */
const readKnown = ({ value }: Place): Template => value as Template;

// ---- entities

function readEntityCall(call: EntityCallName, given: Place): EntityCall | undefined {
  const keys: readonly string[] = entityCalls[call];
  const fields = readObject(given, keys);
  if (fields === undefined) return undefined;
  const entity = readPart(fields.require('entity'), (place) => readExpressionOr(place, readEntityName));
  const id = keys.includes('id') ? readPart(fields.require('id'), readIdTemplate) : undefined;
  const data = keys.includes('data') ? readPart(fields.require('data'), readObjectOrExpression) : undefined;
  if (entity === undefined) return undefined;
  return { call, entity, id, data, ...readListFields(fields), asUser: readPart(fields.get('as_user'), readIdTemplate) };
}

const readListFields = (fields: Fields) => ({
  query: readPart(fields.get('query'), readObjectOrExpression),
  limit: readPart(fields.get('limit'), (place) => readExpressionOr(place, (literal) => readInteger(literal, 1, 1_000))),
});

const readIdTemplate = (place: Place) => readExpressionOr(place, readId);
const readObjectOrExpression = (place: Place) => readExpressionOr(place, readObjectTemplate);

// ---- agents

const maxContentLength = 100_000;

function readAgentCall(given: Place): AgentCall | undefined {
  const fields = readObject(given, ['agent_id', 'content']);
  if (fields === undefined) return undefined;
  const agentId = readPart(fields.require('agent_id'), readIdTemplate);
  const content = readPart(fields.require('content'), (place) =>
    readExpressionOr(place, (literal) => readText(literal, maxContentLength)),
  );
  return agentId === undefined || content === undefined ? undefined : { call: 'agent.send', agentId, content };
}

// ---- connectors

function readConnectorCall(given: Place): ConnectorCall | undefined {
  const fields = readObject(given, ['integration_type', 'method', 'path', 'query', 'body']);
  if (fields === undefined) return undefined;
  const integrationType = readPart(fields.require('integration_type'), (place) =>
    readExpressionOr(place, readIntegrationType),
  );
  const method = readPart(fields.require('method'), (place) => readExpressionOr(place, readMethod));
  const path = readPart(fields.require('path'), (place) => readExpressionOr(place, readPath));
  const query = readPart(fields.get('query'), (place) => readExpressionOr(place, readObjectTemplate));
  const body = readPart(fields.get('body'), readTemplate);
  if (integrationType === undefined || method === undefined || path === undefined) return undefined;
  return { call: 'connector.request', integrationType, method, path, query, body };
}

/** Which connectors there are, and whether the app has a connection, is decided when the request is sent. */
const readIntegrationType = (place: Place): string | undefined =>
  typeof place.value === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(place.value)
    ? place.value
    : fault(place, 'must be the type of a connector, such as slack, or an expression');

/** The host is the connector's. What the path leads to is checked when the request is sent. */
function readPath(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || !value.startsWith('/'))
    return fault(place, 'must be a path that begins with a slash, or an expression');
  if (value.length > maxPathLength) return fault(place, `must have at most ${maxPathLength} characters`);
  if (/[{}]/.test(value)) return fault(place, 'must not contain braces. Use an expression to put the path together');
  if (/[^\x21-\x7e]|[#\\]|\/\.{1,2}(?:[/?]|$)/.test(value))
    return fault(place, 'must not contain spaces, backslashes, dots as segments, or a fragment');
  return value;
}

const maxPathLength = 1_500;
