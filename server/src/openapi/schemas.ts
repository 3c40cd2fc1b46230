// The document's components: named schemas with a description and an example for each field.
import type { z } from 'zod';
import { type JsonSchema, toJsonSchema } from '../kit/http/json-schema.ts';
import { type FieldText, fieldTexts } from '../kit/http/shapes.ts';

/** The name of the component that a reference points to. */
export const nameOf = ({ $ref }: JsonSchema): string => String($ref).replace('#/components/schemas/', '');

export interface Schemas {
  readonly all: Record<string, JsonSchema>;
  /** Adds the shape and its parts, under the shape's own name or else under `name`. Returns a reference to it. */
  add(shape: z.ZodType, io: 'input' | 'output', name: string): JsonSchema;
}

export function createSchemas(initial: Record<string, JsonSchema>): Schemas {
  const all: Record<string, JsonSchema> = { ...initial };
  return {
    all,
    add(shape, io, name) {
      const { $defs, ...schema } = toDescribedSchema(shape, io);
      for (const [defined, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>))
        all[defined] = describeFields(toComponent(definition, io));
      const own = toComponent(schema, io);
      if (typeof own.$ref === 'string') return own;
      all[name] = describeFields(own);
      return { $ref: `#/components/schemas/${name}` };
    },
  };
}

/** Like toJsonSchema, and adds the text of `described` to each field as `fieldText`. */
export const toDescribedSchema = (shape: z.ZodType, io: 'input' | 'output'): JsonSchema =>
  toJsonSchema(shape, io, (schema) => {
    const fieldText = fieldTexts.get(schema);
    return fieldText && { fieldText };
  });

const toComponent = (schema: JsonSchema, io: 'input' | 'output'): JsonSchema => {
  const component = pointToComponents(schema, io);
  return io === 'input' ? withNulls(component) : component;
};

/**
 * In a body, a null field is treated as not sent. This holds wherever `createCleaner` (kit/http/request/body.ts)
 * applies: in objects and lists.
 */
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
  if ($ref !== undefined) return { anyOf: [schema, { type: 'null' }], fieldText: rest.fieldText };
  if (Array.isArray(anyOf)) {
    return anyOf.some((option: JsonSchema) => option.type === 'null')
      ? schema
      : { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  }
  if (type === undefined || [type].flat().includes('null')) return schema;
  return { ...rest, type: [type, 'null'].flat(), ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/** Responses may gain fields within 1.x, so their schemas allow additional properties. */
function pointToComponents<Node>(node: Node, io: 'input' | 'output'): Node {
  if (Array.isArray(node)) return node.map((item) => pointToComponents(item, io)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  // Other members next to such a reference are only for the serialisers.
  if ('$ref' in node && String(node.$ref).startsWith('#/components/'))
    return { $ref: node.$ref, ...('fieldText' in node && { fieldText: node.fieldText }) } as Node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([key, value]) =>
          !(io === 'output' && key === 'additionalProperties' && value === false) &&
          !(key === 'id' && typeof value === 'string'),
      )
      .map(([key, value]) => [key, pointEntry(key, value, io)]),
  ) as Node;
}

function pointEntry(key: string, value: unknown, io: 'input' | 'output'): unknown {
  if (key === '$ref') return String(value).replace('#/$defs/', '#/components/schemas/');
  return key === 'fieldText' ? value : pointToComponents(value, io); // contains no schemas
}

/** Field examples are used only to build examples of whole bodies. The document itself does not contain them. */
export const withoutFieldExamples = (schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> =>
  JSON.parse(JSON.stringify(schemas, (key, value) => (key === 'examples' && Array.isArray(value) ? undefined : value)));

/**
 * Turns the texts of fields, including nested fields, into descriptions and examples. List items get no description.
 */
function describeFields<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(describeFields) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const { fieldText: _, ...schema } = node as JsonSchema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'properties' ? describeProperties(value as Record<string, JsonSchema>) : describeFields(value),
    ]),
  ) as Node;
}

const describeProperties = (properties: Record<string, JsonSchema>): JsonSchema =>
  Object.fromEntries(
    Object.entries(properties).map(([key, property]) => {
      const { text, example } = (property.fieldText ?? {}) as Partial<FieldText>;
      return [
        key,
        {
          ...describeFields(property),
          ...(text !== undefined && { description: text }),
          ...(example !== undefined && { examples: [example] }),
        },
      ];
    }),
  );
