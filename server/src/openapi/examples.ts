// The examples of bodies and responses. They are built from the fields' examples, so changing a field's example
// changes every body and response that has the field.
import type { JsonSchema } from '../kit/http/json-schema.ts';
import { bodyExamples } from './body-examples.ts';
import { nameOf } from './schemas.ts';

export interface Examples {
  readonly all: Record<string, JsonSchema>;
  /**
   * The example for the description of a body or response: the example itself if it is short, otherwise a reference.
   */
  describe(schema: JsonSchema): JsonSchema;
}

/** Roughly the length of a reference. */
const shortLength = 80;

export function createExamples(schemas: Readonly<Record<string, JsonSchema>>): Examples {
  const all: Record<string, JsonSchema> = {};
  return {
    all,
    describe(schema) {
      const name = nameOf(schema);
      const value = bodyExamples[name] ?? buildExample(schema, schemas);
      if (JSON.stringify(value).length <= shortLength) return { example: value };
      all[name] ??= { value };
      return { examples: { example: { $ref: `#/components/examples/${name}` } } };
    },
  };
}

/**
 * Inlines examples that are referred to only once, because that is shorter. Changes `paths`, and removes these examples
 * from `all`.
 */
export function inlineUsedOnce(paths: Record<string, JsonSchema>, { all }: Examples): void {
  const users = Map.groupBy(listUsers(paths), (user) => nameOfExample(user));
  for (const [name, [user, ...others]] of users) {
    const example = all[name];
    if (user === undefined || others.length > 0 || example === undefined) continue;
    delete user.examples;
    user.example = example.value;
    delete all[name];
  }
}

type ExampleUser = JsonSchema & { examples?: { readonly example: { readonly $ref: string } } };

/** Lists the bodies and responses that refer to an example. */
function listUsers(node: unknown): ExampleUser[] {
  if (typeof node !== 'object' || node === null) return [];
  if (nameOfExample(node) !== '') return [node as ExampleUser];
  return Object.values(node).flatMap(listUsers);
}

const exampleReference = /^#\/components\/examples\/(.+)$/;
const nameOfExample = (node: object): string =>
  exampleReference.exec((node as ExampleUser).examples?.example?.$ref ?? '')?.[1] ?? '';

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-11-15T09:30:00.000Z',
  date: '2026-11-15',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
};

/** Returns the schema's own example, or one that its type allows. */
function buildExample(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  const { $ref, examples, const: only, enum: values, default: standard, anyOf, oneOf, allOf, format } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ($ref !== undefined) return buildExample(schemas[nameOf(schema)] ?? {}, schemas);
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  if (standard !== undefined) return standard;
  const [option] = (anyOf ?? oneOf ?? allOf ?? []) as JsonSchema[];
  if (option !== undefined) return buildExample(option, schemas);
  const [type] = [schema.type].flat();
  if (type === 'object') return buildObject(schema, schemas);
  if (type === 'array') return [buildExample((schema.items ?? {}) as JsonSchema, schemas)];
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  return formats[String(format)] ?? 'text';
}

const buildObject = (schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([key, property]) => [
      key,
      buildExample(property, schemas),
    ]),
  );
