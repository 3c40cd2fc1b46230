// Converts zod schemas to JSON Schema, for the compiled serialisers and the API document.
import { z } from 'zod';

export type JsonSchema = { [key: string]: unknown };

/**
 * `input` describes the values that callers may send, and `output` the values that they receive. Named schemas become
 * references to `$defs`. `annotate` returns members to add to a schema's JSON.
 */
export function toJsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  annotate?: (schema: z.ZodType) => JsonSchema | undefined,
): JsonSchema {
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const shape = zodSchema as unknown as z.ZodType;
      const described = z.globalRegistry.get(shape)?.json as JsonSchema | undefined;
      if (described !== undefined) replace(jsonSchema, described);
      else foldNull(jsonSchema);
      dropSafeBounds(jsonSchema);
      dropTypeOfNames(jsonSchema);
      // zod omits the default if the value is parsed from text.
      if (zodSchema._zod.def.type === 'default') jsonSchema.default = zodSchema._zod.def.defaultValue as string;
      Object.assign(jsonSchema, annotate?.(shape));
    },
  }) as JsonSchema;
  delete json.$schema;
  return json;
}

function replace(target: JsonSchema, source: JsonSchema): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

/** Object keys are always strings, so their type is omitted. */
function dropTypeOfNames(json: JsonSchema): void {
  const names = json.propertyNames as JsonSchema | undefined;
  if (names?.type === 'string' && Object.keys(names).length === 1) delete json.propertyNames;
}

/** Every integer is a safe integer. Repeating these bounds for each field would hide the meaningful bounds. */
function dropSafeBounds(json: JsonSchema): void {
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
}

/**
 * Turns `anyOf: [{type: 'string'}, {type: 'null'}]` into `type: ['string', 'null']`, which is shorter and cheaper to
 * serialise.
 */
function foldNull(json: JsonSchema): void {
  const options = json.anyOf as JsonSchema[] | undefined;
  if (options?.length !== 2 || options[1]?.type !== 'null') return;
  const value = options[0] as JsonSchema;
  if (typeof value.type !== 'string') return;
  delete json.anyOf;
  Object.assign(json, value, { type: [value.type, 'null'] });
  if (Array.isArray(value.enum)) json.enum = [...value.enum, null];
}

/** Returns the schema with every reference replaced by its definition. */
export function inlineRefs(json: JsonSchema): JsonSchema {
  const defs = (json.$defs ?? {}) as Record<string, JsonSchema>;
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref, ...rest } = node as JsonSchema;
    if (typeof $ref === 'string') return walk({ ...defs[$ref.replace('#/$defs/', '')], ...rest });
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [key, key === '$defs' ? undefined : walk(value)]),
    );
  };
  const { $defs: _, ...flat } = walk(json) as JsonSchema;
  return flat;
}
