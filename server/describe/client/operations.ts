// Writes the methods of the client: an explicit interface with a comment for each operation, and the same operations
// with the id of an app or an agent bound.
import { capitalize } from '../../src/kit/text.ts';
import type { ClientBody, ClientOperation, DescribedEvent } from './document.ts';
import { withHead, writeComment, writeName, writeType } from './types.ts';

/** The arguments that are bound by `plinth.app(id)` and `plinth.agent(id)`. */
const bound = { AppOperations: 'app_id', AgentOperations: 'agent_id' } as const;

export const describeOperations = (operations: readonly ClientOperation[]): string =>
  withHead(`import type { Call, CallOptions, Formats, PagedCall, StreamedCall } from '../call.ts';
import type * as codes from './codes.ts';
import type * as schemas from './schemas.ts';

${operations.map(writeTypes).filter(Boolean).join('\n\n')}

/** Every operation of the API. */
export interface Operations {
${operations.map((operation) => writeMethod(operation)).join('\n\n')}
}
${Object.entries(bound)
  .map(([name, argument]) => writeBound(name, argument, operations))
  .join('\n')}`);

const writeBound = (name: string, argument: string, operations: readonly ClientOperation[]): string => `
/** The operations with a path parameter \`${argument}\`, which is bound. */
export interface ${name} {
${operations
  .filter(({ parameters }) => parameters.some((each) => each.name === argument && each.in === 'path'))
  .map((operation) => writeMethod(operation, argument))
  .join('\n\n')}
}
`;

const typeName = ({ name }: ClientOperation, part: string): string => `${capitalize(name)}${part}`;

function writeTypes(operation: ClientOperation): string {
  const args = listArguments(operation);
  const { 'x-events': events } = operation.described;
  return [
    ...(args.length === 0 ? [] : [`export interface ${typeName(operation, 'Args')} {\n${args.join('\n')}\n}`]),
    `export type ${typeName(operation, 'Codes')} = ${writeCodes(operation)};`,
    ...(events ? [`export type ${typeName(operation, 'Event')} =\n${writeEvents(events)};`] : []),
  ].join('\n\n');
}

function listArguments({ parameters, body }: ClientOperation): string[] {
  const listed = parameters.map(
    ({ name, required, description, schema }) =>
      `${writeComment(description, '  ')}  ${writeName(name)}${required ? '' : '?'}: ${writeType(schema, '  ', 'schemas.')};`,
  );
  if (body === undefined) return listed;
  const type = writeType(body.schema, '  ', 'schemas.');
  if (body.fields === undefined)
    return [...listed, `  /** The body of the request. */\n  body${body.isRequired ? '' : '?'}: ${type};`];
  return [...listed, ...body.fields.map((field) => writeField(field, body, type))];
}

const writeField = (field: string, { resolved }: ClientBody, type: string): string => {
  const mark = resolved.required?.includes(field) ? '' : '?';
  const text = resolved.properties?.[field]?.description;
  return `${writeComment(text, '  ')}  ${writeName(field)}${mark}: ${type}['${field}'];`;
};

const writeCodes = ({ refusals, described }: ClientOperation): string => {
  const sets = refusals.map((name) => `codes.${name}`);
  return [...sets, ...('422' in described.responses ? ["'validation'"] : []), 'codes.OfEveryOperation'].join(' | ');
};

const writeEvents = (events: Readonly<Record<string, DescribedEvent>>): string =>
  Object.entries(events)
    .filter(([name]) => name !== 'error') // thrown
    .map(
      ([name, { schema }]) =>
        `  | { event: '${name}'; data: ${writeType(schema, '  ', 'schemas.')}; id: string | undefined }`,
    )
    .join('\n');

function writeMethod(operation: ClientOperation, withoutArgument?: string): string {
  const { name, described, method, path, parameters, body } = operation;
  const left = parameters.filter((each) => each.name !== withoutArgument);
  const hasArguments = left.length > 0 || body !== undefined;
  const isRequired = left.some(({ required }) => required) || (body !== undefined && isRequiredBody(body));
  const type = typeName(operation, 'Args');
  const args = withoutArgument === undefined ? type : `Omit<${type}, '${withoutArgument}'>`;
  const noted = [
    `${described.summary}.`,
    ...(described.description ? [described.description] : []),
    `Effect: ${described['x-effect']}. \`${method} ${path}\``,
    ...(described.deprecated ? ['@deprecated'] : []),
  ];
  const first = hasArguments ? `args${isRequired ? '' : '?'}: ${args}` : 'args?: Record<string, never>';
  const { alternatives } = operation;
  const formats = alternatives.length > 0 ? ` & Formats<'${alternatives.join("' | '")}'>` : '';
  return `${writeComment(noted.join('\n\n'), '  ')}  ${name}(${first}, options?: CallOptions): ${writeCall(operation)}${formats};`;
}

const isRequiredBody = ({ fields, isRequired, resolved }: ClientBody): boolean =>
  fields === undefined ? isRequired : (resolved.required ?? []).length > 0;

function writeCall(operation: ClientOperation): string {
  const { media, answer, items, described } = operation;
  const codes = typeName(operation, 'Codes');
  const type = answer ? writeType(answer, '  ', 'schemas.') : 'unknown';
  const event = typeName(operation, 'Event');
  if (media === undefined) return `StreamedCall<never, ${codes}, ${event}>`;
  if (media === 'application/x-ndjson') return `PagedCall<AsyncIterable<${type}>, ${codes}, ${type}>`;
  if (media !== 'application/json') return `Call<${isText(media) ? 'string' : 'Uint8Array'}, ${codes}>`;
  if (described['x-events']) return `StreamedCall<${type}, ${codes}, ${event}>`;
  if (items !== undefined) return `PagedCall<${type}, ${codes}, ${type}['${items}'][number]>`;
  return `Call<${type}, ${codes}>`;
}

export const isText = (media: string): boolean => media.startsWith('text/') || media.endsWith('yaml');
