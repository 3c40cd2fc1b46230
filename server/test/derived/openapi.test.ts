// Tests that the OpenAPI document is complete: everything is described, everything has a valid example, and every
// reference resolves.
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { listRoutes } from '../../describe/routes.ts';
import { grammarSchemas } from '../../src/features/entities/index.ts';
import { effectOf, findEventStream } from '../../src/kit/http/operation.ts';
import { buildOpenApi } from '../../src/openapi/document.ts';
import { listRefusals, pipelineRefusals } from '../../src/openapi/errors.ts';
import { parameters } from '../../src/openapi/parameters.ts';
import { membersOfCode } from '../../src/openapi/problems.ts';
import { tags } from '../../src/openapi/tags.ts';

// biome-ignore lint/suspicious/noExplicitAny: The document is not typed.
type Json = any;

const routes = await listRoutes();
const document: Json = buildOpenApi(routes, 'https://plinth.example');
const operations: readonly (readonly [string, Json])[] = Object.values(document.paths).flatMap((path) =>
  Object.values(path as Json).map((operation: Json) => [operation.operationId, operation] as const),
);
const routeOf = (name: string) => routes.find((route) => route.name === name);
const isSentence = (text: unknown): boolean => typeof text === 'string' && /^[A-Z`0-9].*[.…)]$/s.test(text);

/** Lists every property in every schema, with its location. */
function listProperties(node: Json, at: string): [string, Json][] {
  if (Array.isArray(node)) return node.flatMap((item, index) => listProperties(item, `${at}[${index}]`));
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'properties' && typeof value === 'object'
      ? Object.entries(value as Json).flatMap(([name, property]) => [
          [`${at}.${name}`, property] as [string, Json],
          ...listProperties(property, `${at}.${name}`),
        ])
      : ['examples', 'example', 'if', 'else'].includes(key) // conditions only test properties
        ? []
        : listProperties(value, at),
  );
}

const listParameters = (operation: Json): Json[] =>
  (operation.parameters ?? []).map((each: Json) =>
    each.$ref ? document.components.parameters[each.$ref.split('/').at(-1)] : each,
  );

/** Resolves a response that refers to a component. */
const followResponse = (response: Json): Json =>
  response?.$ref === undefined ? response : document.components.responses[response.$ref.split('/').at(-1)];

describe('the OpenAPI document', () => {
  it('describes every operation, parameter, property, header and tag in a sentence', () => {
    const undescribed = [
      ...operations
        .filter(
          ([, { summary, description }]) => !/^[A-Z][^`]*$/.test(summary) || (description && !isSentence(description)),
        )
        .map(([name]) => name),
      ...operations.flatMap(([name, operation]) =>
        listParameters(operation)
          .filter((each: Json) => !isSentence(each.description))
          .map((each: Json) => `${name} ?${each.name}`),
      ),
      ...Object.entries(document.components.schemas)
        .flatMap(([name, schema]) => listProperties(schema, name))
        .filter(([, property]) => !isSentence(property.description))
        .map(([at]) => at),
      ...Object.entries<Json>(document.components.headers)
        .filter(([, header]) => !isSentence(header.description))
        .map(([name]) => name),
    ];
    expect(undescribed).toEqual([]);
  });

  it('lists no text of a parameter in vain', () => {
    const described = new Set(
      operations.flatMap(([, operation]) =>
        listParameters(operation).map(({ name, description }) => `${name}: ${description}`),
      ),
    );
    const unused = Object.entries(parameters).filter(([name, { text }]) => !described.has(`${name}: ${text}`));
    expect(unused.map(([name]) => name)).toEqual([]);
  });

  it('has an example of every body and JSON answer, which the operation itself accepts', () => {
    const faults = operations.flatMap(([name, { requestBody, responses }]) => {
      const route = routeOf(name);
      const parts = [
        ...(route?.body ? [['body', route.body, requestBody] as const] : []),
        ...Object.entries(route?.answers ?? {}).flatMap(([status, shape]) =>
          'media' in shape ? [] : [[status, shape as z.ZodType, followResponse(responses[status])] as const],
        ),
      ];
      return parts.flatMap(([part, shape, described]) => {
        const { example, examples } = described.content['application/json'];
        const value = example ?? document.components.examples[examples.example.$ref.split('/').at(-1)].value;
        const { error } = shape.safeParse(value);
        return error
          ? `${name} ${part}: ${error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)}`
          : [];
      });
    });
    expect(faults).toEqual([]);
  });

  it('has an example of every required parameter and of no optional one, which a reference page would send', () => {
    const listed = [document.components, ...Object.values<Json>(document.paths).flatMap((path) => Object.values(path))]
      .flatMap(({ parameters = [] }: Json) => Object.values<Json>(parameters))
      .filter(({ $ref }) => $ref === undefined);
    const hasExample = ({ example, content }: Json) =>
      (content?.['application/json'] ?? { example }).example !== undefined;
    expect(listed.length).toBeGreaterThan(50);
    expect(listed.filter((each) => hasExample(each) !== (each.required ?? false)).map(({ name }) => name)).toEqual([]);
  });

  it('refers only to components that it contains, and contains none in vain', () => {
    const references = new Set(
      [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(
        ([, kind, name]) => `${kind}/${name}`,
      ),
    );
    const contained = Object.entries<Json>(document.components)
      .filter(([kind]) => kind !== 'securitySchemes' && kind !== 'x-problem-codes')
      .flatMap(([kind, all]) => Object.keys(all).map((name) => `${kind}/${name}`));
    expect([...references].filter((each) => !contained.includes(each))).toEqual([]);
    expect(contained.filter((each) => !references.has(each))).toEqual([]);
  });

  it('lists the events of every stream, the last ones among them, and says how to resume it', () => {
    const streaming = operations.filter(([, { responses }]) =>
      Object.values(responses).some((response) => followResponse(response).content?.['text/event-stream']),
    );
    expect(streaming.length).toBeGreaterThanOrEqual(5);
    for (const [name, operation] of streaming) {
      const events = findEventStream(routeOf(name) as NonNullable<ReturnType<typeof routeOf>>)?.events ?? {};
      const listed = Object.entries<Json>(operation['x-events']).map(([event, { last }]) => [event, last]);
      expect(listed, name).toEqual(Object.entries(events).map(([event, { last }]) => [event, last]));
      for (const { schema } of Object.values<Json>(operation['x-events']))
        expect(document.components.schemas).toHaveProperty([schema.$ref.split('/').at(-1)]);
      expect(listed.some(([, last]) => last !== undefined)).toBe(true);
      expect(listParameters(operation)).toContainEqual(
        expect.objectContaining({ name: 'Last-Event-ID', in: 'header' }),
      );
    }
    const withEvents = operations.filter(([, operation]) => operation['x-events']);
    expect(withEvents.map(([name]) => name)).toEqual(streaming.map(([name]) => name));
  });

  it('ends a stream only at values that the data can have', () => {
    const conditions = operations.flatMap(([name, operation]) =>
      Object.values<Json>(operation['x-events'] ?? {})
        .filter(({ last }) => typeof last === 'object')
        .map(({ schema, last }) => ({ name, schema, last })),
    );
    expect(conditions.map(({ name }) => name)).toEqual(['streamSession']);
    for (const { schema, last } of conditions)
      for (const [field, values] of Object.entries<Json>(last))
        expect(document.components.schemas[schema.$ref.split('/').at(-1)].properties[field].enum).toEqual(
          expect.arrayContaining(values),
        );
  });

  it('lists every code with its status and its members, and no others', () => {
    const declared = [...routes.flatMap(listRefusals), ...pipelineRefusals].map(({ status, code }) => [code, status]);
    const listed = Object.entries<Json>(document.components['x-problem-codes']);
    expect(listed.map(([code, { status }]) => [code, status])).toEqual(
      [...new Map(declared.map((each) => [String(each), each])).values()].sort(([a = ''], [b = '']) =>
        a < b ? -1 : 1,
      ),
    );
    const members = listed
      .filter(([, { members }]) => members)
      .map(([code, { members }]) => [code, document.components.schemas[members.$ref.split('/').at(-1)].properties]);
    expect(Object.fromEntries(members)).toEqual(membersOfCode);
  });

  it('says `read` of every operation that is open to read-only tokens', () => {
    const wrong = routes.filter(
      (route) =>
        typeof route.credentials === 'object' && route.credentials.token === 'read_only' && effectOf(route) !== 'read',
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  // In strict mode, the server checks the format of every id it returns, so every test verifies these formats.
  it('gives the ids of answers the format uuid, except those that may be something else', () => {
    const plain = Object.entries<Json>(document.components.schemas)
      .filter(([name]) => !name.endsWith('Body'))
      .flatMap(([name, { properties = {} }]) =>
        Object.entries<Json>(properties).map(([key, value]) => ({ name, key, value })),
      )
      .filter(({ key, value }) => /^(.*_)?ids?$/.test(key) && (value.items ?? value).format !== 'uuid')
      .map(({ name, key }) => `${name}.${key}`);
    expect(plain).toEqual([
      'AddedFolderItems.ignored_app_ids', // returned as sent
      'AdsAccount.platform_customer_id', // chosen by the ad platform
      'AgentToolCall.id', // chosen by the model
      'AnalyticsEvent.user_id', // chosen by the app
      'AnalyticsEvent.session_id',
      'AuditActor.id', // part of an entry's JSON, whose format the database does not check
      'AuditEntry.credential_id', // see AuditActor.id
      'AuditEntry.request_id',
      'AuditTarget.id', // a name, for entities and secrets
      'BackendFunction.rule_id', // a rule's name
      'BootstrapPrompt.conversion_id', // chosen by the ad platform
      'Campaign.platform_campaign_id',
      'CampaignInput.draft_id', // chosen by the caller
      'ConversionAction.platform_action_id',
      'ConversionAction.conversion_id',
      'ConversionMapping.conversion_action_id',
      'CreditLedgerRow.reference_id', // any text
      'DependencyVulnerability.rule_id',
      'DependencyVulnerability.advisory_id', // chosen by the advisory database
      'DeviceLogin.app_ids', // chosen by the program
      'EntityRecord.created_by_id', // empty for anonymous authors
      'HardcodedSecret.rule_id',
      'LaunchStep.platform_request_id', // chosen by the ad platform
      'ListedCampaign.platform_campaign_id',
      'Problem.request_id',
      'RemovedFolderItem.app_id', // returned as sent
      'RlsRecommendation.rule_id',
      'StaticCodeFinding.rule_id',
      'TrackingGap.id', // words, followed by a mapping's id
      'TrackingScript.conversion_id', // chosen by the ad platform
      'ValidationError.request_id',
      'Workflow.current_version_id', // a definition's hash
      'WorkflowRun.definition_version_id',
      'WorkflowVersion.version_id',
      'WorkspaceMember.user_id', // empty for invitations
    ]);
  });

  it('marks the operations on personal API keys as deprecated, and no others', () => {
    const deprecated = operations.filter(([, operation]) => operation.deprecated).map(([name]) => name);
    expect(deprecated.sort()).toEqual(['createApiKey', 'listApiKeys', 'revokeApiKey']);
  });

  it('names every field of an answer that has a secret', () => {
    const secret = /^(secret|token|accept_url|key)$/;
    const resolve = (node: Json, seen: ReadonlySet<string>): string[] => {
      if (Array.isArray(node)) return node.flatMap((item) => resolve(item, seen));
      if (typeof node !== 'object' || node === null) return [];
      const name =
        String(node.$ref ?? '')
          .split('/')
          .at(-1) ?? '';
      if (name !== '' && !seen.has(name)) return resolve(document.components.schemas[name], new Set([...seen, name]));
      return Object.entries(node).flatMap(([key, value]) => [
        ...(key === 'properties' ? Object.keys(value as Json).filter((field) => secret.test(field)) : []),
        ...resolve(value, seen),
      ]);
    };
    const missing = operations
      .filter(([name]) => routeOf(name)?.method !== 'GET')
      .flatMap(([name, { responses }]) =>
        [...new Set(resolve(followResponse(responses[200])?.content?.['application/json']?.schema, new Set()))]
          .filter((field) => !routeOf(name)?.secretFields?.includes(field))
          .map((field) => `${name}.${field}`),
      );
    expect(missing).toEqual([]);
  });

  it('says `remove` of every operation that takes something away', () => {
    const removing = routes.filter(({ name }) => /^(remove|delete|revoke|purge|end)[A-Z]/.test(name));
    expect(removing.filter((route) => effectOf(route) !== 'remove').map(({ name }) => name)).toEqual([]);
  });

  it('gives every operation a tag of the product', () => {
    const names = tags.map(({ name }) => name);
    expect(
      operations.filter(
        ([
          ,
          {
            tags: [tag],
          },
        ]) => !names.includes(tag),
      ),
    ).toEqual([]);
    for (const tag of names)
      expect(
        operations.some(([, operation]) => operation.tags[0] === tag),
        tag,
      ).toBe(true);
  });

  it('has a document of each tag, complete in itself', () => {
    for (const { name } of tags) {
      const part: Json = buildOpenApi(routes, 'https://plinth.example', name);
      for (const [, kind, component] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g))
        expect(part.components[kind as string]).toHaveProperty([component as string]);
    }
  });

  it('is at most 3,050 bytes per operation, and 430 compressed; entities and codes add at most 15,000 and 8,200', () => {
    const text = JSON.stringify(document);
    const grammar = JSON.stringify(grammarSchemas).length;
    const codes = JSON.stringify(document.components['x-problem-codes']).length;
    expect(grammar).toBeLessThan(15_000);
    expect(codes).toBeLessThan(8_200);
    expect((text.length - grammar - codes) / operations.length).toBeLessThan(3_050);
    expect(gzipSync(text).length / operations.length).toBeLessThan(430);
  });
});
