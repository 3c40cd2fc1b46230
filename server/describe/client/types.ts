// Turns JSON schemas of the OpenAPI document into TypeScript: one exported type per component.
import type { JsonSchema } from '../../src/kit/http/json-schema.ts';
import { type Document, nameOf } from './document.ts';

const head = '// Written by `npm run describe` from the OpenAPI document. Do not edit.\n';

export const withHead = (text: string): string => `${head}${text}`;

/** Writes all schemas except those of problems, which the client turns into errors. */
export function describeSchemas({ components }: Document): string {
  const members = Object.values(components['x-problem-codes'] ?? {}).map((code) =>
    nameOf((code.members ?? {}) as JsonSchema),
  );
  const ofProblems = new Set(['Problem', 'ValidationError', ...members]);
  const declared = Object.entries(components.schemas ?? {})
    .filter(([name]) => !ofProblems.has(name))
    .map(([name, schema]) => declareType(name, schema));
  return withHead(`\n${declared.join('\n\n')}\n`);
}

/** A schema whose members are known is an interface, because editors show its name. */
function declareType(name: string, schema: JsonSchema): string {
  const comment = writeComment(schema.description);
  const text = writeType(schema);
  const isInterface = schema.type === 'object' && text.startsWith('{');
  return isInterface ? `${comment}export interface ${name} ${text}` : `${comment}export type ${name} = ${text};`;
}

export function writeComment(text: unknown, indent = ''): string {
  if (typeof text !== 'string' || text === '') return '';
  const lines = text.replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */\n`].join('\n');
}

/** Writes a schema as a type. `prefix` stands before the names of components. */
export function writeType(schema: JsonSchema, indent = '', prefix = ''): string {
  const write = (inner: JsonSchema) => writeType(inner, indent, prefix);
  const { $ref, const: only, enum: values, anyOf, oneOf, allOf, type } = schema;
  if ($ref !== undefined) return prefix + nameOf(schema);
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return join(values.map(writeLiteral), ' | ');
  const options = (anyOf ?? oneOf) as JsonSchema[] | undefined;
  if (options !== undefined) return join(options.map(write), ' | ');
  if (Array.isArray(allOf) && schema.properties === undefined) return join((allOf as JsonSchema[]).map(write), ' & ');
  if (Array.isArray(type))
    return join(
      type.map((each) => write({ ...schema, type: each })),
      ' | ',
    );
  if (type === 'object' || schema.properties !== undefined) return writeObject(schema, indent, prefix);
  if (type === 'array') return writeArray(schema, indent, prefix);
  return (
    { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[String(type)] ??
    'unknown'
  );
}

const writeLiteral = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value);

const join = (types: readonly string[], by: ' | ' | ' & '): string => {
  const unique = [...new Set(types)];
  if (by === ' | ' && unique.includes('unknown')) return 'unknown';
  return unique.join(by);
};

function writeArray(schema: JsonSchema, indent: string, prefix: string): string {
  const item = writeType((schema.items ?? {}) as JsonSchema, indent, prefix);
  return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`;
}

function writeObject(schema: JsonSchema, indent: string, prefix: string): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const { additionalProperties: more, required = [] } = schema;
  const inner = `${indent}  `;
  if (properties.length === 0) {
    if (typeof more === 'object') return `Record<string, ${writeType(more as JsonSchema, indent, prefix)}>`;
    return more === undefined && schema.properties !== undefined ? 'Record<string, never>' : 'Record<string, unknown>';
  }
  const lines = properties.map(([name, property]) => {
    const mark = (required as string[]).includes(name) ? '' : '?';
    return `${writeComment(property.description, inner)}${inner}${writeName(name)}${mark}: ${writeType(property, inner, prefix)};`;
  });
  const open = more !== undefined && more !== false ? [`${inner}[field: string]: unknown;`] : [];
  return `{\n${[...lines, ...open].join('\n')}\n${indent}}`;
}

export const writeName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`);
