// Fuzzes every operation with values that fit its schema, values that do not, and malformed bytes. No response may be a
// 5xx, have an undeclared status, or deviate from its declared schema (STRICT_ANSWERS is on).
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { cursorRefusal } from '../../src/kit/http/cursor.ts';
import { inlineRefs, type JsonSchema, toJsonSchema } from '../../src/kit/http/json-schema.ts';
import { listParamNames } from '../../src/kit/http/operation.ts';
import { newId } from '../../src/kit/ids.ts';
import { listRefusals } from '../../src/openapi/errors.ts';
import { someOf } from '../support/cases.ts';
import type { CallOptions, CallResult } from '../support/client.ts';
import { messageEvent, publish, recordEvent, startWebhookWorld } from '../support/webhook-receiver.ts';
import { passOn } from '../support/workflows.ts';

const runs = someOf(32);
// Agents need a language model to reply, and advertising accounts need an ad platform.
const model = await startModelSandbox();
const adPlatform = await startAdPlatform();
afterAll(() => Promise.all([model.close(), adPlatform.close()]));
const { world, url } = await startWebhookWorld({
  environment: {
    MODEL_URL: model.url,
    ADS_PLATFORM_URL: adPlatform.url,
    ADS_PLATFORM_MANAGER_ID: adPlatform.managerId,
    ADS_PLATFORM_CREDENTIALS: adPlatform.credentials,
  },
});
await world.startWorker();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const member = await world.member(workspace, 'editor', 'member@example.com');
const folder = (await world.call('POST', '/api/app-folders', { as: token, body: { name: 'F', scope: 'workspace' } }))
  .body;

const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
const conversation = (await world.call('POST', `/api/agents/${agent.id}/conversations`, { as: token })).body;

const appUser = await world.appUser(app, 'user@customers.example');
const appUserRow = await world.db
  .selectFrom('app_users')
  .where('id', '=', appUser.id)
  .selectAll()
  .executeTakeFirstOrThrow();

const existing: Record<string, string> = {
  app_id: app.id,
  user_id: appUser.id,
  folder_id: folder.id,
  file: 'start.js',
  email: member.email,
  agent_id: agent.id,
  conversation_id: conversation.id,
};

// An entity with a field of every type, rules and a unique key, so random values reach all of them.
const schema = {
  name: 'Task',
  properties: {
    name: { type: 'string', maxLength: 200, rls: { read: { user_condition: { role: 'admin' } } } },
    title: { type: 'string', pattern: '^[^x]*$' },
    price: { type: 'number', minimum: 0 },
    count: { type: 'integer' },
    done: { type: 'boolean' },
    due: { type: 'string', format: 'date-time' },
    tags: { type: 'array', items: { type: 'string' } },
    address: { type: 'object', properties: { zip: { type: 'string' } } },
    anything: { type: 'object' },
  },
  unique: [['title', 'count']],
  rls: { read: { $or: [{ 'data.name': '{{user.email}}' }, { user_condition: { role: 'admin' } }] }, write: true },
};

/** Recreates the entity and its record if an earlier operation deleted them. */
async function restoreEntity(): Promise<void> {
  await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, { as: token, body: schema });
  const path = `/api/apps/${app.id}/entities/Task`;
  if ((await world.call('GET', `${path}/${existing.entity_id}`, { as: token })).status === 200) return;
  existing.entity_id = (await world.call('POST', path, { as: token, body: { name: 'a record' } })).body.id;
}
existing.entity_name = schema.name;
/** Creates a webhook under `base` and waits until one event has been delivered to it. */
async function createWebhook(
  base: string,
  event: string,
  publishEvent: () => Promise<void>,
): Promise<Record<string, string>> {
  const body = { target_url: url(), events: [event] };
  const created = await world.call('POST', base, { as: token, body });
  await publishEvent();
  const path = `${base}/${created.body.id}/deliveries`;
  const first = async () => (await world.call('GET', path, { as: token })).body.items[0];
  await vi.waitFor(async () => expect((await first())?.status).toBe('delivered'), { timeout: 120_000 });
  return { webhook_id: created.body.id, delivery_id: (await first()).id };
}
const createAgentWebhook = () =>
  createWebhook(`/api/agents/${agent.id}/webhooks`, 'message.created', () =>
    publish(world, 'message.created', messageEvent(agent)),
  );
const createAppWebhook = () =>
  createWebhook(`/api/apps/${app.id}/webhooks`, 'entity.created', () =>
    publish(world, 'entity.created', recordEvent(app)),
  );
const webhooks = { agents: await createAgentWebhook(), apps: await createAppWebhook() };

/** Recreates the workflow with a hook and a run if an earlier operation changed it. */
async function restoreWorkflow(): Promise<void> {
  const path = `/api/apps/${app.id}/workflows`;
  const { body } = await world.call('GET', `${path}/${existing.workflow_id}`, { as: token });
  if (body.status === 'active' && body.hook_url) return;
  const trigger = { config: { trigger_type: 'webhook' } };
  const sent = { name: `Workflow ${newId()}`, definition: passOn, trigger };
  const created = (await world.call('POST', path, { as: token, body: sent })).body;
  existing.workflow_id = created.id;
  existing.hook_token = created.hook_url.split('/').at(-1);
  existing.run_id = (await world.call('POST', `${path}/${created.id}/run-now`, { as: token })).body.run_id;
}
await restoreWorkflow();

existing.session_asset_id = newId();
await world.db
  .insertInto('ads_assets')
  .values({
    id: existing.session_asset_id,
    workspace_id: app.workspace_id,
    app_id: app.id,
    session_id: newId(),
    position: 0,
    slot: 'HEADLINE',
    kind: 'text',
    text: 'A headline',
    language: 'en',
    status: 'ready',
    created_date: new Date(),
  })
  .execute();

const imported = await world.appOf(owner, workspace, { app_type: 'imported_app' });
const ofSession = { app_id: imported.id, session_id: newId(), input_id: newId(), launch_key: 'launched' };
const inApp = { workspace_id: workspace, app_id: imported.id };
const sessionRow = {
  id: ofSession.session_id,
  ...inApp,
  user_id: owner.id,
  state: 'completed',
  outcome: 'answer',
  launch_key: ofSession.launch_key,
  launch_hash: '',
  prompt: 'Do it.',
  title: 'It',
  repository_full_name: 'acme/shop',
  base_branch: 'main',
  work_branch: 'feature',
  credential_id: newId(),
  request_id: 'r',
  ip: '127.0.0.1',
  created_date: new Date(),
  updated_date: new Date(),
  ended_at: new Date(),
} as const;
await world.db.insertInto('coding_sessions').values(sessionRow).execute();
await world.db
  .insertInto('coding_messages')
  .values({
    id: ofSession.input_id,
    ...inApp,
    session_id: sessionRow.id,
    user_id: owner.id,
    turn: 1,
    key: 'sent',
    hash: '',
    text: 'Continue.',
    state: 'delivered',
    created_date: new Date(),
  })
  .execute();

/** Reconnects the imported app if an earlier operation disconnected it. */
async function restoreRepository(): Promise<void> {
  await world.db
    .insertInto('app_repositories')
    .values({
      ...inApp,
      host: 'git.example',
      repository_full_name: 'acme/shop',
      base_branch: 'main',
      default_branch: 'main',
      connected_by: owner.email,
      connected_at: new Date(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Returns path parameters for the route that refer to existing resources. */
const existingParams = (route: Route): Record<string, string> => ({
  ...existing,
  ...(route.path.includes('/imported/') && ofSession),
  ...(route.path.startsWith('/api/apps/') ? webhooks.apps : webhooks.agents),
});

// Equivalent to `unit: 'binary'`, for which fast-check would first build a table of all characters.
const codePoint = fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const randomText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: codePoint, maxLength: 50 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\u2028',
    '\ud800',
    '%',
    '%00',
    "'; drop table apps; --",
    '../../etc/passwd',
    '__proto__',
    'constructor',
    'null',
    '{}',
    '💥'.repeat(200),
  ),
  fc.integer({ min: 100, max: 3000 }).map((length) => 'x'.repeat(length)),
);
const randomNumber = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-1, 0, 1.5, 2 ** 53, 1e308, -1e308, -0));
const anything = fc.oneof(
  randomText,
  randomNumber,
  fc.boolean(),
  fc.constant(null),
  fc.array(randomText, { maxLength: 3 }),
  fc.dictionary(randomText, randomText, { maxKeys: 3 }),
  fc.jsonValue(),
);

/** Generates values for a schema. Four out of five fit the schema, and the fifth can be anything. */
function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 4, arbitrary: fittingOf(schema) }, { weight: 1, arbitrary: anything });
}

function fittingOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (Array.isArray(schema.anyOf)) return fc.oneof(...(schema.anyOf as JsonSchema[]).map(fittingOf));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema as Record<string, number | undefined>;
  switch (type) {
    case 'object':
      return schema.properties === undefined ? fc.oneof(recordLike, objectsOf(schema)) : objectsOf(schema);
    case 'array':
      return fc.array(valuesOf((schema.items ?? {}) as JsonSchema), {
        minLength: minItems ?? 0,
        maxLength: Math.min(maxItems ?? 5, 5),
      });
    case 'integer':
      return fc.integer({
        min: Math.max((minimum ?? -1000) - 1, -(2 ** 31)),
        max: Math.min((maximum ?? 1000) + 1, 2 ** 31 - 1),
      });
    case 'number':
      return randomNumber;
    case 'boolean':
      return fc.boolean();
    case 'string':
      return fc.oneof(
        fc.string({ minLength: minLength ?? 0, maxLength: Math.min(maxLength ?? 20, 40) }),
        fc.constantFrom(...Object.values(existing)),
        fc.constant('#aabbcc'),
      );
    default:
      return anything;
  }
}

function objectsOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const known = fc.record(Object.fromEntries(fields.map(([name, field]) => [name, valuesOf(field)])), {
    requiredKeys: [],
  });
  return fc
    .tuple(known, fc.dictionary(randomText, anything, { maxKeys: 2 }))
    .map(([fitting, extra]) => ({ ...extra, ...fitting }));
}

/** A record or an entity schema. Both are free-form objects, so meaningful names are mixed in. */
const recordLike = fc.dictionary(
  fc.oneof(fc.constantFrom(...Object.keys(schema.properties), 'id', 'created_by', 'rls', 'properties'), randomText),
  fc.oneof(anything, fc.constantFrom(schema.properties, schema.rls)),
  { maxKeys: 6 },
);

const brokenBodies: (string | Buffer)[] = [
  '',
  '{',
  '[]',
  'null',
  '"text"',
  '1',
  'nonsense',
  '{"a":1,"a":2}',
  '{"name":"x","name":null}',
  '['.repeat(65) + ']'.repeat(65),
  `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
  '{"name":"\\ud800"}',
  '\ufeff{}',
  Buffer.from([0x7b, 0xff, 0x7d]),
  Buffer.from([0xc3, 0x28]),
  '{"__proto__":{"polluted":true}}',
  `{"name":"${'x'.repeat(200_000)}"}`,
];

const randomParams = fc.oneof(
  fc.constantFrom('x'.repeat(2000), '%00', '%ff', '..%2f..', '%F0%9F%92%A5'.repeat(100), 'undefined', '-'),
  randomText.map((text) => encodeURIComponent(text.toWellFormed()) || '-'),
);

function pathsOf(route: Route): fc.Arbitrary<string> {
  const values = fc.record(
    Object.fromEntries(
      listParamNames(route.path).map((name) => [
        name,
        fc.oneof(
          { weight: 3, arbitrary: fc.constant(existingParams(route)[name] ?? '-') },
          { weight: 1, arbitrary: randomParams },
        ),
      ]),
    ),
  );
  const query = route.query ? inlineRefs(toJsonSchema(route.query, 'input')) : {};
  return fc.tuple(values, objectsOf(query)).map(([params, search]) => {
    const path = route.path.replace(/\{(\w+)\}/g, (_all, name) => String((params as Record<string, unknown>)[name]));
    const pairs = Object.entries(search as object).map(
      ([key, value]) => `${encodeURIComponent(key.toWellFormed())}=${encodeURIComponent(textOf(value).toWellFormed())}`,
    );
    return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
  });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** These streams have no end of their own, so they are asked to continue after an event that never was. */
const isEndless = ({ name }: Route): boolean => /^(followChat|stream(Agent|App)Deliveries)$/.test(name);

const requestsOf = (route: Route, as: string): fc.Arbitrary<{ path: string; sent: CallOptions }> =>
  fc.record({
    path: pathsOf(route),
    sent: fc.record({
      as: fc.constant(as),
      body: route.body
        ? fc.oneof(
            {
              weight: 4,
              arbitrary: valuesOf(inlineRefs(toJsonSchema(route.body, 'input'))).map(
                (value) => JSON.stringify(value) ?? '',
              ),
            },
            { weight: 2, arbitrary: fc.constantFrom(...brokenBodies) },
          )
        : fc.constant(undefined),
      headers: fc
        .constantFrom<Record<string, string>>(
          {},
          {},
          {},
          { 'content-type': 'text/plain' },
          { 'content-type': ';;' },
          { 'idempotency-key': 'a b' },
          { 'x-request-id': 'é'.repeat(3) },
          { api_key: 'x' },
        )
        .map((headers) => (isEndless(route) ? { ...headers, 'last-event-id': 'of no event' } : headers)),
    }),
  });

function expectDeclared(route: Route, got: CallResult): void {
  const declared = new Set([
    ...Object.keys(route.answers).map(Number),
    ...listRefusals(route).map((refusal) => refusal.status),
    413,
    415,
  ]);
  expect(got.status, got.text).toBeLessThan(500);
  // If a parameter is empty or contains a slash, the path does not match any operation.
  const isOtherPath = ['route_not_found', 'method_not_allowed'].includes(got.body?.code);
  if (!isOtherPath) expect([...declared], got.text).toContain(got.status);
  expect(got.headers['x-request-id']).toBeDefined();
  if (got.status === 422) {
    expect(Object.keys(got.body)).toEqual(['detail', 'code', 'request_id']);
    expect(got.body.detail.length).toBeGreaterThan(0);
    for (const fault of got.body.detail) {
      expect(Object.keys(fault).sort()).toEqual(['loc', 'msg', 'type']);
      expect(['body', 'query', 'path', 'header']).toContain(fault.loc[0]);
    }
  } else if (got.status >= 400) {
    expect(got.headers['content-type']).toBe('application/problem+json');
    expect(got.body).toMatchObject({
      type: `urn:plinth:problem:${got.body.code}`,
      status: got.status,
      request_id: got.headers['x-request-id'],
    });
    expect('retry_safe' in got.body).toBe([402, 409, 429].includes(got.status) || got.status >= 500);
  }
}

/** Restores rows that an earlier operation deleted. */
async function restore(): Promise<void> {
  const deleted = world.db.updateTable('apps').where('id', 'in', [app.id, agent.id]);
  await deleted.set({ deleted_date: null }).execute();
  await restoreEntity();
  await restoreWorkflow();
  await restoreRepository();
  const user = { ...appUserRow, data: '{}' };
  await world.db
    .insertInto('app_users')
    .values(user)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { rows } = await sql<{ scope: string }>`select scope from webhooks
    where id in (${webhooks.agents.webhook_id}, ${webhooks.apps.webhook_id})`.execute(world.db);
  const left = new Set(rows.map((row) => row.scope));
  if (!left.has('agent')) webhooks.agents = await createAgentWebhook();
  if (!left.has('app')) webhooks.apps = await createAppWebhook();
}

let hasChanged = true;

describe.each(world.app.routes.map((route) => [route.name, route] as const))('%s', (_name, route) => {
  beforeEach(async () => {
    if (hasChanged) await restore();
    hasChanged = route.method !== 'GET';
  });

  it('answers any request with a declared status, and never with a 5xx', async () => {
    // Each operation gets its own token, because a token that is rejected repeatedly is rate limited.
    const as = await world.token(owner, workspace);
    await fc.assert(
      fc.asyncProperty(requestsOf(route, as), async ({ path, sent }) => {
        expectDeclared(route, await world.call(route.method, path, sent));
      }),
      { numRuns: runs },
    );
  });
});

// These requests are rejected and change nothing.
describe('refusals', () => {
  beforeAll(restore);

  // The owner is not an operator, and operator routes reject other callers before they read the key.
  const keyed = world.app.routes.filter(
    (route) => route.idempotency !== undefined && route.access.needs !== 'operator',
  );

  describe.each(keyed.map((route) => [route.name, route] as const))('%s', (_name, route) => {
    it('refuses a malformed Idempotency-Key', async () => {
      const params = existingParams(route);
      const path = route.path.replace(/\{(\w+)\}/g, (_all, name) => params[name] ?? name);
      const got = await world.call(route.method, path, { as: token, headers: { 'idempotency-key': 'a b' } });
      // A resource inside an app or folder, which the tests may not have created, is looked up before the key is read.
      const isFound = /^\/api\/(apps\/\{app_id\}|agents\/\{agent_id\})?[^{]*$/.test(route.path);
      expect(isFound ? [422] : [422, 404], got.text).toContain(got.status);
      expectDeclared(route, got);
    });
  });

  const withBody = world.app.routes.filter((route) => route.body !== undefined);

  describe.each(withBody.map((route) => [route.name, route] as const))('%s', (_name, route) => {
    const path = () => route.path.replace(/\{(\w+)\}/g, (_all, name) => existingParams(route)[name] ?? '-');

    it('refuses a body that is too large', async () => {
      const limit = route.bodyLimitBytes ?? 1024 * 1024;
      const got = await world.call(route.method, path(), { as: token, body: Buffer.alloc(limit + 1, 0x20) });
      expect(got).toMatchObject({ status: 413, body: { code: 'payload_too_large', limit_bytes: limit } });
    });

    it('refuses a body that is not JSON', async () => {
      const headers = { 'content-type': 'text/plain' };
      const got = await world.call(route.method, path(), { as: token, body: '{}', headers });
      expect(got).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    });

    // Sent explicitly, because all random bodies might happen to be valid.
    it('refuses a body of another type', async () => {
      const headers = { 'content-type': 'application/json' };
      const got = await world.call(route.method, path(), { as: token, body: 'true', headers });
      expect(got.status, got.text).toBeGreaterThanOrEqual(400);
      expectDeclared(route, got);
    });
  });

  const withLimit = world.app.routes.filter(
    ({ query }) => query !== undefined && Object.keys(toJsonSchema(query, 'input').properties ?? {}).includes('limit'),
  );

  describe.each(withLimit.map((route) => [route.name, route] as const))('%s', (_name, route) => {
    it('refuses a limit that is no number', async () => {
      const path = route.path.replace(/\{(\w+)\}/g, (_all, name) => existingParams(route)[name] ?? '-');
      const got = await world.call(route.method, `${path}?limit=x`, { as: token });
      expect(got.status, got.text).toBeGreaterThanOrEqual(400);
      expectDeclared(route, got);
    });
  });

  const withCursor = world.app.routes.filter(({ refusals = [] }) => refusals.includes(cursorRefusal));

  describe.each(withCursor.map((route) => [route.name, route] as const))('%s', (_name, route) => {
    it('refuses a cursor that was never issued', async () => {
      const path = route.path.replace(/\{(\w+)\}/g, (_all, name) => existingParams(route)[name] ?? '-');
      const got = await world.call(route.method, `${path}?cursor=x`, { as: token });
      expect(got.status, got.text).toBeGreaterThanOrEqual(400);
      expectDeclared(route, got);
    });
  });
});
