// Reads `call` tasks: the available calls and their arguments.
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

/** `call` is the call's name, and `given` is its `with`. */
export function readCall(call: Place, given: Place | undefined): Call | undefined {
  if (unsupportedCalls.includes(call.value)) return fault(call, `is not supported; use one of ${callNames.join(', ')}`);
  const { value } = call;
  const isOther = value === 'http' || value === 'agent.send' || value === 'connector.request';
  if (!isOther && !isEntityCall(value)) return fault(call, `must be one of ${callNames.join(', ')}`);
  if (given === undefined) return undefined; // already reported as missing
  if (value === 'http') return readHttp(given);
  if (value === 'agent.send') return readAgentCall(given);
  return value === 'connector.request' ? readConnectorCall(given) : readEntityCall(value, given);
}

// ---- http

const outputs = ['content', 'response'] as const;
const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'];

function readHttp(given: Place): HttpCall | undefined {
  if (isObject(given.value) && Object.hasOwn(given.value, 'redirect')) {
    fault(step(given, 'redirect', null), 'is not supported, because redirects are never followed');
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

/** The host is checked when the request is sent, because the operator may have allowed more addresses by then. */
function readEndpoint(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string') return fault(place, 'must be a URL or an expression');
  if (/[{}]/.test(value)) return fault(place, 'must not contain braces; use an expression to build the URL');
  const verdict = vetUrl(value, { plainHttp: true });
  if ('ok' in verdict || ['host', 'port', 'address'].includes(verdict.reason)) return value;
  return fault(place, urlFaults[verdict.reason].msg);
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that the connection sets, and the header that identifies repeated requests. */
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
    if (!headerName.test(name)) fault(header, 'is not a valid HTTP header name');
    else if (ownHeaders.includes(name.toLowerCase()))
      fault(header, `must not be one of ${ownHeaders.join(', ')}, which Plinth sets itself`);
    else readExpressionOr(header, readHeaderValue);
  }
  return readKnown(place);
}

function readHeaderValue(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || value.length > 8_192 || /[^\t\x20-\x7e\x80-\xff]/.test(value))
    return fault(place, 'must be a valid header value of at most 8192 characters, or an expression');
  return value;
}

/** Returns a value whose parts have already been checked individually. */
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

/** The connector and the app's connection are checked when the request is sent. */
const readIntegrationType = (place: Place): string | undefined =>
  typeof place.value === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(place.value)
    ? place.value
    : fault(place, 'must be a connector type, such as slack, or an expression');

/** The request is sent to the connector's host. The path's target is checked when the request is sent. */
function readPath(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || !value.startsWith('/'))
    return fault(place, 'must be a path that begins with a slash, or an expression');
  if (value.length > maxPathLength) return fault(place, `must have at most ${maxPathLength} characters`);
  if (/[{}]/.test(value)) return fault(place, 'must not contain braces; use an expression to build the path');
  if (/[^\x21-\x7e]|[#\\]|\/\.{1,2}(?:[/?]|$)/.test(value))
    return fault(place, 'must not contain spaces, backslashes, `.` or `..` segments, or a fragment');
  return value;
}

const maxPathLength = 1_500;
