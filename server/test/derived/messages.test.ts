// Checks the messages that callers see: the messages in the source (docs/generated/messages.md) and those in every
// request schema. server/test/support/observed.ts compares the messages that the whole test suite received.
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../describe/errors.ts';
import { collectMessages, toPattern } from '../../describe/messages.ts';
import { listRoutes } from '../../describe/routes.ts';
import { type Fault, parse, ValidationError } from '../../src/kit/http/faults.ts';
import { inlineRefs, type JsonSchema, toJsonSchema } from '../../src/kit/http/json-schema.ts';
import { findForeignWording } from '../support/observed.ts';

const routes = await listRoutes();
const { problems, faults } = collectMessages(routes);
const join = (message: Parameters<typeof toPattern>[0]) =>
  message.map((part) => (typeof part === 'string' ? part : 'x')).join('');

describe('the page of messages', () => {
  it('has every error code, and no other', () => {
    expect([...problems.keys()].sort()).toEqual(Object.keys(errorCodes).sort());
  });

  it('has whole sentences, which say what to do next', () => {
    const texts = [...problems].flatMap(([code, messages]) => messages.map((message) => `${code}: ${join(message)}`));
    expect(texts.filter((text) => !/^\w+: ["A-Zx].*\.$/.test(text))).toEqual([]);
    // A message needs a second sentence, because the first only states what happened.
    expect(texts.filter((text) => !text.includes('. '))).toEqual([]);
  });

  it('has faults that follow the name of a field', () => {
    expect(faults.length).toBeGreaterThan(60);
    expect(faults.map(join).filter((text) => !/^(must|is|x\.) .*[^.]$/.test(text))).toEqual([]);
  });

  it('matches a message whatever is filled in', () => {
    const pattern = toPattern(['At most ', { name: 'quota' }, ' requests (of any kind).']);
    expect(pattern.test('At most 15 requests (of any kind).')).toBe(true);
    expect(pattern.test('At most 15 requests of any kind.')).toBe(false);
  });
});

/** Hardly any field accepts all of these values. */
const probes = [
  undefined,
  null,
  true,
  -1,
  1.5,
  Number.POSITIVE_INFINITY,
  2 ** 60,
  '',
  'x',
  '\0',
  'x'.repeat(200_000),
  [],
  [1],
  {},
  { x: 1 },
];

function listFaults(...[schema, source, raw]: Parameters<typeof parse>): readonly Fault[] {
  try {
    parse(schema, source, raw);
    return [];
  } catch (error) {
    if (error instanceof ValidationError) return error.faults;
    throw error;
  }
}

describe('the faults of every request schema', () => {
  const schemas = routes.flatMap(({ name, body, query }) => [
    ...(body === undefined ? [] : [{ name, source: 'body' as const, schema: body }]),
    ...(query === undefined ? [] : [{ name, source: 'query' as const, schema: query }]),
  ]);

  it.each(schemas)("of $name's $source are in our words", ({ source, schema }) => {
    const { properties = {} } = inlineRefs(toJsonSchema(schema, 'input')) as {
      properties?: Record<string, JsonSchema>;
    };
    const sent = [
      ...probes,
      ...Object.keys(properties).flatMap((field) => probes.map((value) => ({ [field]: value }))),
    ];
    const found = new Set(sent.flatMap((raw) => listFaults(schema, source, raw)).map(({ msg }) => msg));
    expect(found.size).toBeGreaterThan(0);
    expect([...found].filter(findForeignWording)).toEqual([]);
    const patterns = faults.map(toPattern);
    expect([...found].filter((msg) => !patterns.some((pattern) => pattern.test(msg)))).toEqual([]);
  });
});
