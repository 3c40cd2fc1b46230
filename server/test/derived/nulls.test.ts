// Tests that null in a body means the same as an absent field (docs/api/conventions.md#values). The OpenAPI document
// states this for every optional field, and the operations behave accordingly.
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { listRoutes } from '../../describe/routes.ts';
import { createCleaner } from '../../src/kit/http/request/body.ts';
import { buildOpenApi } from '../../src/openapi/document.ts';
import { startWorld } from '../support/world.ts';

// biome-ignore lint/suspicious/noExplicitAny: The document is not typed.
type Json = any;

const routes = await listRoutes();
const document: Json = buildOpenApi(routes, 'https://plinth.example');
const resolve = (node: Json): Json =>
  node.$ref ? { ...document.components.schemas[node.$ref.split('/').at(-1)], $ref: undefined } : node;

type Path = readonly (string | number)[];

/**
 * Lists every property of a body, including nested properties, with whether it is optional and whether it may be null.
 */
function listFields(schema: Json, at: Path = []): { path: Path; isOptional: boolean; takesNull: boolean }[] {
  const { properties = {}, required = [], items } = schema;
  return [
    ...Object.entries<Json>(properties).flatMap(([name, property]) => [
      { path: [...at, name], isOptional: !required.includes(name), takesNull: takesNull(resolve(property)) },
      ...listFields(property, [...at, name]),
    ]),
    ...(items === undefined ? [] : listFields(items, [...at, 0])),
  ];
}

const takesNull = ({ type, anyOf, enum: values }: Json): boolean =>
  (type === undefined && anyOf === undefined) ||
  ([type].flat().includes('null') && (values === undefined || values.includes(null))) ||
  Boolean(anyOf?.some((option: Json) => option.type === 'null'));

/** Returns a copy of the body with `value` at the path, or without the field if `value` is undefined. */
function change(body: Json, [key, ...rest]: Path, value: unknown): Json {
  if (Array.isArray(body)) return body.map((item, at) => (at === key ? change(item, rest, value) : item));
  const { [key as string]: inner, ...others } = body ?? {};
  if (rest.length > 0) return { ...others, [key as string]: change(inner, rest, value) };
  return value === undefined ? others : { ...others, [key as string]: value };
}

const bodies = routes.flatMap((route) => {
  const described = document.paths[route.path]?.[route.method.toLowerCase()].requestBody?.content['application/json'];
  // A schema document is not a list of fields, and its parser treats null as a value. Events are validated one by one,
  // and a faulty event does not make the request invalid.
  if (described === undefined || ['putEntitySchema', 'trackEvents'].includes(route.name)) return [];
  const { schema, example, examples } = described;
  const value = example ?? document.components.examples[examples.example.$ref.split('/').at(-1)].value;
  const shape = route.body as z.ZodType;
  const clean = createCleaner(shape);
  const parse = (body: unknown) => shape.safeParse(clean(body, [], ''));
  return listFields(resolve(schema)).map((field) => ({ name: route.name, value, parse, ...field }));
});

describe('the document', () => {
  it('allows null in every optional field of a body', () => {
    expect(bodies.filter(({ isOptional }) => isOptional).length).toBeGreaterThan(100);
    expect(bodies.filter(({ isOptional, takesNull }) => isOptional && !takesNull).map(describeField)).toEqual([]);
  });

  it('allows null in fields where the operation reads it as not sent or as a value, and in no others', () => {
    const wrong = bodies.filter(({ value, path, isOptional, takesNull, parse }) => {
      const countFaults = (sent: null | undefined): number =>
        (parse(change(value, path, sent)).error?.issues ?? []).filter((issue) => issue.path.join() === path.join())
          .length;
      // A field may be required because another field is set. It is then rejected both as null and if absent.
      const isAccepted = countFaults(null) === 0 || (isOptional && countFaults(undefined) > 0);
      return isAccepted !== takesNull;
    });
    expect(wrong.map(describeField)).toEqual([]);
  });
});

const describeField = ({ name, path }: { name: string; path: Path }) => `${name} ${path.join('.')}`;

describe('an operation answers the same to null as to a field that is not sent', async () => {
  const world = await startWorld();
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  const token = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);

  it.each([
    ['createApp', '/api/apps', {}, {}],
    ['createFolder', '/api/app-folders', { name: 'One' }, { name: 'Two' }],
    ['createAgent', '/api/agents', { name: 'One' }, { name: 'Two' }],
    ['createAppUser', `/api/apps/${app.id}/users`, { email: 'one@x.example' }, { email: 'two@x.example' }],
  ])('%s', async (name, path, body, same) => {
    const optional = bodies.filter((field) => field.name === name && field.isOptional && field.path.length === 1);
    expect(optional.length).toBeGreaterThan(1);
    const nulls = Object.fromEntries(optional.map((field) => [field.path[0], null]));
    const short = await world.call('POST', path, { as: token, body });
    const long = await world.call('POST', path, { as: token, body: { ...same, ...nulls } });
    expect([short.status, long.status]).toEqual([200, 200]);
    expect(long.headers).not.toHaveProperty('x-ignored-fields');
    expect(withoutOwnValues(long.body)).toEqual(withoutOwnValues(short.body));
  });
});

/** Replaces values that differ between any two responses with their type. */
const withoutOwnValues = (answer: Json): Json =>
  Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      /^(id|token|prefix|slug|name|email|position|url|.*_(date|at|url))$/.test(key) ? typeof value : value,
    ]),
  );
