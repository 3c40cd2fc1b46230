// Writes what the client needs when it runs: one line per operation, the last events of streams, and the headers that
// become notes. Also writes the codes of refusals, and describe.json for programs that show operations to people.
import type { JsonSchema } from '../../src/kit/http/json-schema.ts';
import { type ClientOperation, type Document, nameOf, resolve } from './document.ts';
import { isText } from './operations.ts';
import { withHead, writeName, writeType } from './types.ts';

/** Calls that are held for longer are read from their event stream, because Node's fetch gives up after 300 seconds. */
const longSeconds = 240;

export const describeTable = (document: Document, operations: readonly ClientOperation[]): string =>
  withHead(`
/** The version of the API that this client was generated from. */
export const apiVersion: string = '${document.info.version}';

/** The oldest release of Plinth that this client was tested with. */
export const testedWith: string = '${readRelease(document)}';

/** \`../operation.ts\` explains the lines. */
export const table: Readonly<Record<string, string>> = {
${operations.map((operation) => `  ${operation.name}: '${writeLine(document, operation)}',`).join('\n')}
};

/** The events after which a stream ends: always, or if a field of the data has one of the values. */
export const lastEvents: Readonly<Record<string, Readonly<Record<string, true | Readonly<Record<string, readonly string[]>>>>>> = {
${operations
  .filter(({ described }) => described['x-events'])
  .map(writeLastEvents)
  .join('\n')}
};

/** The headers of single operations that become notes, with the type of their value. */
export const noteHeaders: Readonly<Record<string, readonly [name: string, type: 'string' | 'number']>> = {
${listNoteHeaders(document)
  .map(({ header, name, type }) => `  '${header}': ['${name}', '${type}'],`)
  .join('\n')}
};
`);

function readRelease({ info }: Document): string {
  const [, release] = /release of Plinth is\s+(\d+\.\d+\.\d+)/.exec(info.description) ?? [];
  if (release === undefined) throw new Error('the description of the document does not name the release of Plinth');
  return release;
}

/** Example: \`GET /api/apps s r p=items\`. The flags are explained in client/sdk/src/operation.ts. */
function writeLine(document: Document, operation: ClientOperation): string {
  const { method, path, described, takesKey, body, items, parameters } = operation;
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const held = described['x-held-seconds'];
  return [
    method,
    path,
    described['x-repeat'].slice(0, 1),
    ...(described['x-effect'] === 'read' ? ['r'] : []),
    ...(takesKey ? ['i'] : []),
    ...(takesKey && answersAnonymous(document, operation) ? ['a'] : []),
    ...(method === 'DELETE' && nameOf(operation.answer ?? {}) === 'Success' ? ['d'] : []),
    ...(body ? [body.fields === undefined ? 'B' : 'b'] : []),
    ...(items ? [`p=${items}`] : []),
    ...(held ? [`h=${held}`] : []),
    ...listMediaFlags(document, operation),
    ...(answersRouteNotFound(document, operation) ? ['u'] : []),
    ...(body && query.length > 0 ? [`q=${query.join(',')}`] : []),
  ].join(' ');
}

const answersAnonymous = ({ security = [] }: Document, { described }: ClientOperation): boolean => {
  const credentials = described.security ?? security;
  return credentials.length === 0 || credentials.some((each) => Object.keys(each).length === 0);
};

const answersRouteNotFound = ({ components }: Document, { refusals }: ClientOperation): boolean =>
  refusals.some((name) => listCodes(components.responses?.[name] ?? {}).includes('route_not_found'));

function listMediaFlags(document: Document, { media, described, answer }: ClientOperation): string[] {
  const events = described['x-events'];
  if (media === undefined) return ['e'];
  if (media === 'application/x-ndjson') return ['n'];
  if (media !== 'application/json') return [isText(media) ? 't' : 'y'];
  if (events === undefined) return [];
  const endsWithAnswer = Object.values(events).some(
    ({ schema, last }) => last && resolve(document, schema) === resolve(document, answer ?? {}),
  );
  const isLong = described['x-effect'] !== 'read' && (described['x-held-seconds'] ?? 0) >= longSeconds;
  return isLong && endsWithAnswer ? ['v'] : [];
}

const writeLastEvents = ({ name, described }: ClientOperation): string => {
  const last = Object.entries(described['x-events'] ?? {}).filter(([event, { last }]) => last && event !== 'error');
  const entries = last.map(([event, { last }]) => `${writeName(event)}: ${JSON.stringify(last).replaceAll('"', "'")}`);
  return `  ${name}: { ${entries.join(', ')} },`;
};

/** Headers with a meaning of their own: notes of every operation, and those of HTTP. */
const otherHeaders =
  /^(X-(Partial-Result|Ignored-Fields|Warning|Truncated|Changed|Cursor|Data-As-Of)|Idempotent-Replayed|RateLimit.*|Retry-After|ETag|Location|Set-Cookie|Content-Disposition|WWW-Authenticate)$/;

interface NoteHeader {
  readonly header: string;
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

function listNoteHeaders({ components }: Document): NoteHeader[] {
  return Object.entries(components.headers ?? {})
    .filter(([header]) => !otherHeaders.test(header))
    .map(([header, { schema, description }]) => ({
      header: header.toLowerCase(),
      name: header
        .replace(/^X-/, '')
        .replace(/^./, (letter) => letter.toLowerCase())
        .replaceAll('-', ''),
      type: (schema as JsonSchema).type === 'integer' ? 'number' : 'string',
      description: String(description),
    }));
}

export function describeCodes(document: Document): string {
  const { responses = {} } = document.components;
  const all = Object.entries(document.components['x-problem-codes'] ?? {});
  const sets = Object.entries(responses)
    .map(([name, response]) => [name, listCodes(response)] as const)
    .filter(([, codes]) => codes.length > 0);
  const declared = new Set(sets.flatMap(([, codes]) => codes));
  const others = all.map(([code]) => code).filter((code) => !declared.has(code) && code !== 'validation');
  return withHead(`
/** Every code that the server answers with, and the members that its problems may have. */
export interface ProblemCodes {
${all.map(([code, { members }]) => `  ${code}: ${writeMembers(document, members as JsonSchema | undefined)};`).join('\n')}
}

/** The notes of single operations, which they send as headers. */
export interface OperationNotes {
${listNoteHeaders(document)
  .map(({ name, type, description }) => `  /** ${description} */\n  ${name}?: ${type};`)
  .join('\n')}
}

/** The codes that any operation may answer with. */
export type OfEveryOperation = ${writeUnion(others)};

${sets.map(([name, codes]) => `export type ${name} = ${writeUnion(codes)};`).join('\n')}
`);
}

const writeUnion = (codes: readonly string[]): string => codes.map((code) => `'${code}'`).join(' | ') || 'never';

function listCodes(response: JsonSchema): string[] {
  const content = response.content as Record<string, { schema: { allOf?: JsonSchema[] } }> | undefined;
  const parts = content?.['application/problem+json']?.schema.allOf ?? [];
  return parts.flatMap(
    ({ properties }) => (properties as { code?: { enum?: string[] } } | undefined)?.code?.enum ?? [],
  );
}

const writeMembers = (document: Document, members: JsonSchema | undefined): string =>
  members === undefined ? 'Record<never, never>' : writeType(resolve(document, members), '  ');

export type DescribedErrors = Readonly<
  Record<string, { readonly status: number; readonly meaning: string; readonly action: string }>
>;

/** What people see of an operation and of an error code, for a command line and for agents. */
export function describeForPeople(
  document: Document,
  operations: readonly ClientOperation[],
  errors: DescribedErrors,
): string {
  const entries = operations.map((operation) => {
    const { name, method, path, parameters, body, described, refusals } = operation;
    const entry = {
      route: `${method} ${path}`,
      summary: described.summary,
      ...(described.description && { description: described.description }),
      area: described.tags[0],
      effect: described['x-effect'],
      repeat: described['x-repeat'],
      ...describeAnswer(document, operation),
      arguments: Object.fromEntries([
        ...parameters.map(({ name, in: place, required, description, schema }) => [
          name,
          { in: place, type: writeType(schema), ...(required && { required }), description },
        ]),
        ...Object.entries(body?.fields === undefined ? {} : (body.resolved.properties ?? {})).map(([field, schema]) => [
          field,
          {
            in: 'body',
            type: writeType(schema),
            ...(body?.resolved.required?.includes(field) && { required: true }),
            description: schema.description,
          },
        ]),
        ...(body && body.fields === undefined
          ? [['body', { in: 'body', type: writeType(body.schema), required: body.isRequired }]]
          : []),
      ]),
      refusals,
    };
    return [name, entry];
  });
  const codes = Object.entries(errors).map(([code, { status, meaning, action }]) => [
    code,
    { status, meaning, action },
  ]);
  const described = { operations: Object.fromEntries(entries), errors: Object.fromEntries(codes) };
  return `${JSON.stringify(described, null, 1)}\n`;
}

/** What the answer is, unless it is one JSON document, and whether it is a page of a list or can be followed as events. */
function describeAnswer(document: Document, operation: ClientOperation): object {
  const kinds: Readonly<Record<string, string>> = { e: 'events', n: 'lines', t: 'text', y: 'bytes' };
  const [answer] = listMediaFlags(document, operation).flatMap((flag) => kinds[flag] ?? []);
  return {
    ...(answer && { answer }),
    ...(operation.items && { pages: true }),
    ...(operation.described['x-events'] && { stream: true }),
  };
}
