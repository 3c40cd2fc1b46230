// Owns the components of the document: named schemas, with a sentence and an example for each of their fields.
import type { z } from 'zod';
import { type JsonSchema, toJsonSchema } from '../kit/http/json-schema.ts';
import { fields } from './fields.ts';

/** The name of the component that a reference leads to. */
export const nameOf = ({ $ref }: JsonSchema): string => String($ref).replace('#/components/schemas/', '');

export interface Schemas {
  readonly all: Record<string, JsonSchema>;
  /** Adds the shape and what it consists of. Returns a reference to it, under its own name or else this one. */
  add(shape: z.ZodType, io: 'input' | 'output', name: string): JsonSchema;
}

export function createSchemas(initial: Record<string, JsonSchema>): Schemas {
  const all: Record<string, JsonSchema> = { ...initial };
  return {
    all,
    add(shape, io, name) {
      const { $defs, ...schema } = toJsonSchema(shape, io);
      for (const [defined, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>))
        all[defined] = describeFields(toComponent(definition, io), defined);
      const own = toComponent(schema, io);
      if (typeof own.$ref === 'string') return own;
      all[name] = describeFields(own, name);
      return { $ref: `#/components/schemas/${name}` };
    },
  };
}

const toComponent = (schema: JsonSchema, io: 'input' | 'output'): JsonSchema => {
  const component = pointToComponents(schema, io);
  return io === 'input' ? withNulls(component) : component;
};

/** In a body, null means the same as not sent, wherever `createCleaner` of kit/http/body.ts goes: objects and lists. */
function withNulls(schema: JsonSchema): JsonSchema {
  const { properties, items, required = [] } = schema;
  return {
    ...schema,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, JsonSchema>).map(([name, property]) => [
          name,
          (required as string[]).includes(name) ? withNulls(property) : allowNull(withNulls(property)),
        ]),
      ),
    }),
    ...(items !== undefined && { items: withNulls(items as JsonSchema) }),
  };
}

function allowNull(schema: JsonSchema): JsonSchema {
  const { $ref, anyOf, type, const: only, enum: values = only === undefined ? undefined : [only], ...rest } = schema;
  if ($ref !== undefined) return { anyOf: [schema, { type: 'null' }] };
  if (Array.isArray(anyOf)) {
    return anyOf.some((option: JsonSchema) => option.type === 'null')
      ? schema
      : { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  }
  if (type === undefined || [type].flat().includes('null')) return schema;
  return { ...rest, type: [type, 'null'].flat(), ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/** Answers may gain fields within 1.x, so their schemas are not closed. */
function pointToComponents<Node>(node: Node, io: 'input' | 'output'): Node {
  if (Array.isArray(node)) return node.map((item) => pointToComponents(item, io)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  // What a shape says beside such a reference is for the serialisers.
  if ('$ref' in node && String(node.$ref).startsWith('#/components/')) return { $ref: node.$ref } as Node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([key, value]) =>
          !(io === 'output' && key === 'additionalProperties' && value === false) &&
          !(key === 'id' && typeof value === 'string'),
      )
      .map(([key, value]) => [
        key,
        key === '$ref' ? String(value).replace('#/$defs/', '#/components/schemas/') : pointToComponents(value, io),
      ]),
  ) as Node;
}

/** The examples of fields are for building the examples of wholes. The document itself does not repeat them. */
export const withoutFieldExamples = (schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> =>
  JSON.parse(JSON.stringify(schemas, (key, value) => (key === 'examples' && Array.isArray(value) ? undefined : value)));

/** Adds the texts of fields.ts, also to the fields of nested objects. */
function describeFields(schema: JsonSchema, name: string): JsonSchema {
  const described = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'properties'
        ? describeProperties(value as Record<string, JsonSchema>, name)
        : describeNested(value, name),
    ]),
  );
  return described;
}

const describeNested = (node: unknown, name: string): unknown => {
  if (Array.isArray(node)) return node.map((item) => describeNested(item, name));
  return typeof node === 'object' && node !== null ? describeFields(node as JsonSchema, name) : node;
};

const describeProperties = (properties: Record<string, JsonSchema>, name: string): JsonSchema =>
  Object.fromEntries(
    Object.entries(properties).map(([key, property]) => {
      const { text, example } = fields[`${name}.${key}`] ?? fields[key] ?? {};
      return [
        key,
        {
          ...describeFields(property, name),
          ...(property.description === undefined && text !== undefined && { description: text }),
          ...(example !== undefined && { examples: [example] }),
        },
      ];
    }),
  );
