// Reads what the client's files are made from out of the OpenAPI document: operations with their arguments, answers,
// codes and events. Nothing but the document is read, so the client has what the document describes.
import type { JsonSchema } from '../../src/kit/http/json-schema.ts';

export interface Document {
  readonly info: { readonly version: string; readonly description: string };
  /** The credentials of operations that name none of their own. */
  readonly security?: Credentials;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
}

/** Any one of these is enough. An empty one means that none is needed. */
type Credentials = readonly Readonly<Record<string, readonly string[]>>[];

interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags: readonly string[];
  readonly 'x-effect': 'read' | 'change' | 'remove' | 'spend';
  readonly 'x-repeat': 'safe' | 'key' | 'look';
  readonly 'x-held-seconds'?: number;
  readonly 'x-events'?: Readonly<Record<string, DescribedEvent>>;
  readonly security?: Credentials;
  readonly parameters?: readonly JsonSchema[];
  readonly requestBody?: JsonSchema & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, JsonSchema>>;
}

export interface DescribedEvent {
  readonly schema: JsonSchema;
  readonly last?: true | Readonly<Record<string, readonly string[]>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface ClientOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly described: DescribedOperation;
  /** Parameters in the path and in the query. */
  readonly parameters: readonly Parameter[];
  /** Whether Idempotency-Key is honoured. */
  readonly takesKey: boolean;
  readonly body: ClientBody | undefined;
  /** The media type of the answer. Undefined if the operation has only an event stream. */
  readonly media: string | undefined;
  /** The schema of the answer, or of each line of it. */
  readonly answer: JsonSchema | undefined;
  /** Other media types of the answer, without event streams. */
  readonly alternatives: readonly string[];
  /** The names of the response components that list the codes of refusals. */
  readonly refusals: readonly string[];
  /** The field of the answer that contains the items of a page. Undefined if the answer is not a page. */
  readonly items: string | undefined;
}

export interface ClientBody {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** The names of its fields. Undefined if the body is passed whole, because the caller defines its fields. */
  readonly fields: readonly string[] | undefined;
  /** The schema itself, if `schema` refers to it. */
  readonly resolved: {
    readonly required?: readonly string[];
    readonly properties?: Readonly<Record<string, JsonSchema>>;
  };
}

export const nameOf = ({ $ref }: JsonSchema): string => String($ref).split('/').at(-1) ?? '';

/** Follows a reference, if the node is one. */
export function resolve(document: Document, node: JsonSchema): JsonSchema {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(String(node.$ref ?? '')) ?? [];
  return kind === '' ? node : (document.components[kind]?.[name] ?? node);
}

/** Lists the operations for programs, in the order of the document: pages, redirects and retired operations are none. */
export function listOperations(document: Document): ClientOperation[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => readOperation(document, path, method, described)),
  );
  return all.filter((operation) => operation !== undefined);
}

function readOperation(
  document: Document,
  path: string,
  method: string,
  described: DescribedOperation,
): ClientOperation | undefined {
  const response = resolve(document, described.responses['200'] ?? {});
  const content = (response.content ?? {}) as Record<string, { schema?: JsonSchema }>;
  const types = Object.keys(content).filter((type) => type !== 'text/event-stream');
  const isForPrograms = Object.keys(content).length > 0 && !('text/html' in content);
  if (!isForPrograms) return undefined;
  const listed = (described.parameters ?? []).map((parameter) => resolve(document, parameter) as unknown as Parameter);
  const parameters = listed.filter((parameter) => parameter.in === 'path' || parameter.in === 'query').map(withSchema);
  const operation = {
    name: described.operationId,
    method: method.toUpperCase(),
    path,
    described,
    parameters,
    takesKey: listed.some(({ name }) => name === 'Idempotency-Key'),
    body: readBody(document, described),
    media: types[0],
    answer: content[types[0] ?? '']?.schema,
    alternatives: types.slice(1),
    refusals: listRefusals(document, described),
  };
  refuseSharedNames(operation);
  return { ...operation, items: findItems(document, operation) };
}

/** A parameter in JSON has its schema one level deeper. */
const withSchema = (parameter: Parameter & { content?: Record<string, { schema: JsonSchema }> }): Parameter => ({
  ...parameter,
  required: parameter.required ?? false,
  schema: parameter.content?.['application/json']?.schema ?? parameter.schema,
});

function readBody(document: Document, { requestBody }: DescribedOperation): ClientBody | undefined {
  const content = requestBody?.content as Record<string, { schema: JsonSchema }> | undefined;
  const schema = content?.['application/json']?.schema;
  if (schema === undefined) return undefined;
  const resolved: ClientBody['resolved'] & { type?: unknown } = resolve(document, schema);
  const { type, properties } = resolved;
  const fields = type === 'object' && properties !== undefined ? Object.keys(properties) : undefined;
  return { schema, isRequired: requestBody?.required ?? false, fields, resolved };
}

const listRefusals = (document: Document, { responses }: DescribedOperation): string[] =>
  Object.values(responses)
    .map((response) => ({ name: nameOf(response), content: resolve(document, response).content ?? {} }))
    .filter(({ content }) => 'application/problem+json' in (content as object))
    .map(({ name }) => name);

/** Path, query and body become one object of arguments, so their names must differ. */
function refuseSharedNames({ name, parameters, body }: Pick<ClientOperation, 'name' | 'parameters' | 'body'>): void {
  const names = [...parameters.map((parameter) => parameter.name), ...(body ? (body.fields ?? ['body']) : [])];
  const shared = names.find((each, index) => names.indexOf(each) !== index);
  if (shared !== undefined) throw new Error(`${name}: ${shared} is the name of two arguments`);
}

function findItems(
  document: Document,
  { answer, parameters, body }: Pick<ClientOperation, 'answer' | 'parameters' | 'body'>,
): string | undefined {
  const { properties = {} } = resolve(document, answer ?? {}) as { properties?: Record<string, JsonSchema> };
  const takesCursor = parameters.some(({ name }) => name === 'cursor') || body?.fields?.includes('cursor');
  if (!takesCursor || !('next_cursor' in properties)) return undefined;
  return Object.keys(properties).find((name) => properties[name]?.type === 'array');
}
