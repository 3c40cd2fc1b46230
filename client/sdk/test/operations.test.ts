// Calls every operation for programs through the client on the real app, with the examples of the document: what is
// sent must be what the document describes. The operations are read from the register.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { register } from '../../../server/test/derived/register.ts';
import { startWorld } from '../../../server/test/support/world.ts';
import { isPlinthError, Plinth } from '../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: The document is not typed.
type Json = any;

const document: Json = JSON.parse(
  readFileSync(new URL('../../../docs/generated/openapi.json', import.meta.url), 'utf8'),
);
const world = await startWorld();
const owner = await world.person('ada@example.com');
const workspace = await world.workspace(owner, 'enterprise');
const token = await world.token(owner, workspace);

const resolve = (node: Json): Json =>
  node?.$ref === undefined
    ? node
    : node.$ref
        .split('/')
        .slice(1)
        .reduce((part: Json, name: string) => part[name], document);

interface Expected {
  readonly args: Record<string, unknown>;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly body: unknown;
}

/** What the document's examples say of one operation, without the client's table. */
function readExamples(path: string, operation: Json): Expected {
  const parameters: Json[] = (operation.parameters ?? []).map(resolve);
  const required = parameters.filter((each) => each.required && each.in !== 'header');
  const exampleOf = (each: Json) => each.example ?? each.content?.['application/json'].example;
  const values = Object.fromEntries(required.map((each) => [each.name, exampleOf(each)]));
  const query = required
    .filter((each) => each.in === 'query')
    .map((each) => [each.name, each.content ? JSON.stringify(exampleOf(each)) : String(exampleOf(each))]);
  const content = operation.requestBody?.content['application/json'];
  const body = content && structuredClone(content.example ?? resolve(content.examples.example).value);
  const hasFields = content !== undefined && resolve(content.schema).properties !== undefined;
  return {
    args: { ...values, ...(content && (hasFields ? body : { body })) },
    path: path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name])),
    query: Object.fromEntries(query),
    body,
  };
}

const find = (name: string): [path: string, operation: Json] => {
  for (const [path, methods] of Object.entries<Json>(document.paths))
    for (const operation of Object.values<Json>(methods)) if (operation.operationId === name) return [path, operation];
  throw new Error(`the document lacks ${name}`);
};

/** Pages, redirects and a retired operation are not for programs. */
const isForPrograms = ({ responses }: Json): boolean => {
  const content = resolve(responses['200'])?.content;
  return content !== undefined && !('text/html' in content);
};

const sent: { method: string; url: URL; headers: Headers; body: unknown }[] = [];
const plinth = new Plinth({
  url: world.url,
  token,
  maxRetries: 0,
  onNotes: 'ignore',
  async fetch(url, init) {
    const { body, method = 'GET', headers } = init ?? {};
    sent.push({
      method,
      url: new URL(String(url)),
      headers: new Headers(headers),
      body: body && JSON.parse(String(body)),
    });
    return fetch(url, init);
  },
});

/** Performs the call in the form that the operation has. */
async function perform(name: string, args: object, operation: Json): Promise<unknown> {
  const call = (plinth as unknown as Record<string, (args: object) => Json>)[name]?.(args);
  const isOnlyStream =
    resolve(operation.responses['200']).content['application/json'] === undefined && operation['x-events'];
  if (!isOnlyStream) return call;
  for await (const event of call.stream()) return event;
  return undefined;
}

const offered = register.filter(({ name }) => isForPrograms(find(name)[1]));

describe('the client', () => {
  it('has a method for every operation for programs, and no others', () => {
    const methods = Object.getOwnPropertyNames(Plinth.prototype).filter(
      (name) => !['constructor', 'app', 'agent', 'request'].includes(name),
    );
    expect(methods.sort()).toEqual(offered.map(({ name }) => name).sort());
    expect(register.length - offered.length).toBe(13);
  });

  it.each(offered.map(({ name }) => [name]))('sends %s as the document describes it', async (name) => {
    const [path, operation] = find(name);
    const entry = offered.find((each) => each.name === name);
    const expected = readExamples(path, operation);
    sent.length = 0;
    const error = await perform(name, expected.args, operation).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const [request] = sent;
    expect(request?.method).toBe(entry?.method);
    expect(request?.url.pathname).toBe(expected.path);
    expect(Object.fromEntries(request?.url.searchParams ?? [])).toEqual(expected.query);
    expect(request?.body).toEqual(expected.body);
    expect(request?.headers.has('idempotency-key')).toBe(entry?.idempotency !== 'none');
    if (error !== undefined && !isPlinthError(error)) throw error;
    // The app has the operation, read the request, and answered as the document says.
    expect([
      'operation_not_on_server',
      'unexpected_answer',
      'unreachable',
      'timeout',
      'malformed_request',
    ]).not.toContain(error?.code);
    const declared = [error?.status ?? 200].filter((status) => !(String(status) in operation.responses));
    expect(declared).toEqual([]);
  });
});
