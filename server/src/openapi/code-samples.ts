// The samples that the reference page shows for each operation: the same call with the client, with plinthctl and with
// curl. Their values are the examples of the document.
import type { JsonSchema } from '../kit/http/json-schema.ts';

export interface CodeSample {
  /** The language, by which the page colours the source. */
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** A call of an operation with the examples of its required arguments. */
interface Example {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  /** Arguments in the path and the query. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly headers: readonly string[];
  readonly body: unknown;
  /** Whether the fields of the body are arguments of their own. */
  readonly hasFields: boolean;
  readonly form: 'data' | 'events' | 'items';
}

/** Returns the samples by operation. Pages, redirects and retired operations have none. */
export function buildCodeSamples(document: JsonSchema): Record<string, CodeSample[]> {
  const paths = Object.entries(document.paths as Record<string, Record<string, JsonSchema>>);
  const examples = paths.flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => readExample(document, path, method, operation) ?? []),
  );
  return Object.fromEntries(
    examples.map((example) => [
      example.name,
      [
        { lang: 'javascript', label: 'Client', source: writeProgram(example) },
        { lang: 'shell', label: 'plinthctl', source: writeCommand(example) },
        { lang: 'shell', label: 'curl', source: writeCurl(example) },
      ],
    ]),
  );
}

function readExample(document: JsonSchema, path: string, method: string, operation: JsonSchema): Example | undefined {
  const resolve = (node: unknown): JsonSchema => follow(document, node as JsonSchema);
  const responses = operation.responses as Record<string, JsonSchema>;
  const answers = resolve(responses['200'] ?? {}).content as Record<string, JsonSchema> | undefined;
  if (answers === undefined || 'text/html' in answers) return undefined;
  const parameters = ((operation.parameters ?? []) as unknown[]).map(resolve);
  const required = parameters.filter((each) => each.required);
  const placed = (place: string) => required.filter((each) => each.in === place);
  const values = Object.fromEntries(
    [...placed('path'), ...placed('query')].map((each) => [each.name, exampleOf(each)]),
  );
  const query = new URLSearchParams(
    placed('query').map((each): [string, string] => [String(each.name), toText(exampleOf(each))]),
  );
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const [server] = document.servers as { url: string }[];
  const content = resolve(operation.requestBody ?? {}).content as Record<string, JsonSchema> | undefined;
  const sent = content?.['application/json'];
  const { body } = sent === undefined ? {} : { body: sent.example ?? resolve(firstOf(sent.examples)).value };
  const isList = parameters.some(({ name }) => name === 'cursor');
  const isLines = Object.keys(answers).some((media) => media.includes('ndjson'));
  return {
    name: String(operation.operationId),
    method: method.toUpperCase(),
    url: `${server?.url ?? ''}${filled}${query.size > 0 ? `?${query}` : ''}`,
    values,
    headers: [
      ...(isOpen(operation) ? [] : ['"Authorization: Bearer $TOKEN"']),
      ...placed('header').map((each) => quote(`${each.name}: ${toText(exampleOf(each))}`)),
    ],
    body,
    hasFields: sent !== undefined && resolve(sent.schema).properties !== undefined,
    form:
      isList || isLines
        ? 'items'
        : answers['application/json'] === undefined && 'x-events' in operation
          ? 'events'
          : 'data',
  };
}

const follow = (document: JsonSchema, node: JsonSchema): JsonSchema =>
  typeof node.$ref !== 'string'
    ? node
    : (node.$ref
        .split('/')
        .slice(1)
        .reduce<unknown>((part, name) => (part as JsonSchema)[name], document) as JsonSchema);

const firstOf = (examples: unknown): JsonSchema =>
  Object.values((examples ?? {}) as Record<string, JsonSchema>)[0] ?? {};

const exampleOf = ({ example, content }: JsonSchema): unknown =>
  example ?? (content as Record<string, JsonSchema> | undefined)?.['application/json']?.example ?? 'text';

/** An operation without security needs no credential. */
const isOpen = ({ security }: JsonSchema): boolean => Array.isArray(security) && security.length === 0;

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function writeProgram({ name, values, body, hasFields, form }: Example): string {
  const args = { ...values, ...(hasFields ? (body as object) : body !== undefined && { body }) };
  const call = `plinth.${name}(${Object.keys(args).length === 0 ? '' : toLiteral(args)})`;
  const use = {
    data: `const answer = await ${call};`,
    items: `for await (const item of ${call}) console.log(item);`,
    events: `for await (const { event, data } of ${call}.stream()) console.log(event, data);`,
  };
  return `import { Plinth } from '@plinth/client';\n\nconst plinth = new Plinth();\n${use[form]}`;
}

/** JSON with names as programs write them. */
function toLiteral(value: object): string {
  const text = JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:');
  const line = text.replaceAll(/\n\s*/g, ' ');
  return line.length <= 80 ? line : text;
}

function writeCommand({ name, values, body, hasFields }: Example): string {
  const isFlat = hasFields && Object.values(body as object).every((value) => isPlain(value));
  const flags = { ...values, ...(isFlat && (body as object)) };
  const written = Object.entries(flags).map(([flag, value]) => `--${flag} ${quote(toText(value).replace(/^@/, '@@'))}`);
  const isEmpty = body === undefined || (hasFields && Object.keys(body as object).length === 0);
  return wrap([
    `plinthctl call ${name}`,
    ...written,
    ...(isFlat || isEmpty ? [] : [`--body ${quote(JSON.stringify(body))}`]),
  ]);
}

/** Texts, numbers and booleans can be options. The rest is easier to read as JSON. */
const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

function writeCurl({ method, url, headers, body }: Example): string {
  const usual = body === undefined ? 'GET' : 'POST';
  return wrap([
    `curl ${method === usual ? '' : `-X ${method} `}${quote(url)}`,
    ...headers.map((header) => `-H ${header}`),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${quote(JSON.stringify(body))}`]),
  ]);
}

const wrap = (parts: readonly string[]): string => {
  const line = parts.join(' ');
  return line.length <= 80 ? line : parts.join(' \\\n  ');
};

const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
