// Tests what the specification says about agent webhooks: the subscription, its update, events and deliveries.
import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import type { ReceivedRequest } from '../../../sandbox/src/webhook-endpoint.ts';
import { startWebhookScene, type TestWebhook } from '../support/webhook-receiver.ts';
import { expectInvalid, expectLimit, expectOk, integer, personalKey, text, time, workspaceKey } from './support.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const scene = await startWebhookScene({ environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model' } });
const { world, url, owner, workspace, token, createWebhook } = scene;
await world.startWorker();
model.script(() => ({ text: 'The shop closes at six.' }));

const both = { events: ['message.created', 'message.completed'] };
const unknownId = '019a6c60-0c4e-7b52-8f52-7c0a5e3f9d20';

/** Sends a message to the webhook's agent and waits for the reply, as a person would. */
async function converse({ app }: TestWebhook): Promise<void> {
  const conversations = `/api/agents/${app.id}/conversations`;
  const { id } = expectOk(await world.call('POST', conversations, { as: token }));
  expectOk(await world.call('POST', `${conversations}/${id}/messages`, { as: token, body: { content: 'When?' } }));
}

/** Sends messages until the webhook has failed 20 times in a row. */
async function failUntilOff(webhook: TestWebhook): Promise<void> {
  webhook.respondWith(() => ({ status: 500 }));
  for (let message = 0; message < 7; message += 1) await converse(webhook);
  await expect.poll(async () => (await webhook.get()).disabled_at).not.toBeNull();
}

let turnedOff: Promise<TestWebhook> | undefined;
/** Returns a webhook that failed 20 times in a row. Tests that only read it share it. */
const getTurnedOff = (): Promise<TestWebhook> =>
  (turnedOff ??= createWebhook(both).then(async (webhook) => {
    await failUntilOff(webhook);
    return webhook;
  }));

/** Makes one delivery fail with this answer. Returns the webhook after its first attempt. */
async function failOnce(respond: Parameters<TestWebhook['respondWith']>[0], body: object = {}) {
  const webhook = await createWebhook({ events: ['message.completed'], ...body });
  webhook.respondWith(respond);
  await converse(webhook);
  await expect.poll(async () => (await webhook.get()).last_error).not.toBeNull();
  return webhook.get();
}

const update = (path: string, body: unknown, sent: object = { as: token }) =>
  world.call('PATCH', path, { ...sent, body });

describe('What the service does', () => {
  it('Through it a caller can manage webhook subscriptions on an agent (an app of agent kind) that send message.created and message.completed events to a public HTTPS URL', async () => {
    const webhook = await createWebhook(both);
    await converse(webhook);
    await expect
      .poll(() =>
        webhook
          .received()
          .map(({ headers }) => headers['x-service-event'])
          .sort(),
      )
      .toEqual(['message.completed', 'message.created', 'message.created']);
    expect(new URL((await webhook.get()).target_url).protocol).toBe('https:');
    expect((await webhook.call('DELETE')).status).toBe(200);
    expect((await webhook.call('GET')).status).toBe(404);
  });
});

describe('Resources and their fields: Webhook (agent webhook subscription)', () => {
  it('id: string; webhook ID', async () => {
    const webhook = await createWebhook();
    expect(await webhook.get()).toMatchObject({ id: webhook.id });
    expect(webhook.id).toEqual(text);
  });

  it('target_url: string; public HTTPS URL that receives events', async () => {
    const webhook = await createWebhook({ target_url: url('/orders') });
    expect((await webhook.get()).target_url).toBe(url('/orders'));
  });

  it('events: array of string; each message.created or message.completed', async () => {
    expect((await (await createWebhook(both)).get()).events.sort()).toEqual(['message.completed', 'message.created']);
    const one = await createWebhook({ events: ['message.completed'] });
    expect((await one.get()).events).toEqual(['message.completed']);
  });

  it("description: string or null; caller's label; null when none", async () => {
    expect((await (await createWebhook({ description: 'Till' })).get()).description).toBe('Till');
    expect((await (await createWebhook()).get()).description).toBeNull();
  });

  it('has_secret: boolean; true when deliveries are signed; each signed delivery carries header X-Service-Signature, an HMAC-SHA256 of the body', async () => {
    const signed = await createWebhook();
    const unsigned = await createWebhook({ generate_secret: false });
    expect((await signed.get()).has_secret).toBe(true);
    expect((await unsigned.get()).has_secret).toBe(false);
    for (const webhook of [signed, unsigned]) {
      await converse(webhook);
      await expect.poll(() => webhook.received().length).toBeGreaterThan(0);
    }
    const { headers, body } = signed.received()[0] as ReceivedRequest;
    expect(headers['x-service-signature']).toBe(createHmac('sha256', signed.secret).update(body).digest('hex'));
    expect(unsigned.received()[0]?.headers).not.toHaveProperty('x-service-signature');
  });

  it('last_trigger_time: date-time or null; time of last delivery attempt, successful or not; null before the first', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    expect((await webhook.get()).last_trigger_time).toBeNull();
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).last_trigger_time).toEqual(time);
    expect((await failOnce(() => ({ status: 500 }))).last_trigger_time).toEqual(time);
  });

  it('last_error: object or null; null when the last delivery succeeded or none failed; shape below', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    expect((await webhook.get()).last_error).toBeNull();
    webhook.respondWith(() => ({ status: 500 }));
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).last_error).not.toBeNull();
    webhook.respondWith(() => ({ status: 204 }));
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).last_error).toBeNull();
  });

  it('consecutive_failures: integer; deliveries failed in a row', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    expect((await webhook.get()).consecutive_failures).toBe(0);
    webhook.respondWith(() => ({ status: 500 }));
    await converse(webhook);
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).consecutive_failures).toBe(2);
    webhook.respondWith(() => ({}));
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).consecutive_failures).toBe(0);
  });

  it('disabled_at: date-time or null; when the service turned it off; null while on', async () => {
    expect((await (await createWebhook()).get()).disabled_at).toBeNull();
    expect((await (await getTurnedOff()).get()).disabled_at).toEqual(time);
  });

  it('created_date: date-time', async () => {
    expect((await (await createWebhook()).get()).created_date).toEqual(time);
  });

  it('updated_date: date-time', async () => {
    const webhook = await createWebhook();
    const { created_date, updated_date } = await webhook.get();
    expect(updated_date).toEqual(time);
    const changed = expectOk(await webhook.patch({ description: 'Later' }));
    expect(Date.parse(changed.updated_date)).toBeGreaterThanOrEqual(Date.parse(updated_date));
    expect(changed.created_date).toBe(created_date);
  });

  it('secret: string or null; the signing secret; present only in the response that generates it, never shown again', async () => {
    const webhook = await createWebhook();
    expect(webhook.secret).toEqual(text);
    expect((await webhook.get()).secret ?? null).toBeNull();
    expect(JSON.stringify(await webhook.get())).not.toContain(webhook.secret);
    const rotated = expectOk(await webhook.patch({ signing: 'rotate' }));
    expect(rotated.secret).toEqual(text);
    expect(rotated.secret).not.toBe(webhook.secret);
    expect(JSON.stringify(await webhook.get())).not.toContain(rotated.secret);
    expect(expectOk(await webhook.patch({ description: 'Later' })).secret ?? null).toBeNull();
  });
});

describe('Resources and their fields: last_error object of a webhook', () => {
  it('message: string; required; what went wrong', async () => {
    expect((await failOnce(() => ({ status: 500 }))).last_error.message).toMatch(/\S/);
  });

  it('attempted_at: date-time; required', async () => {
    expect((await failOnce(() => ({ status: 500 }))).last_error.attempted_at).toEqual(time);
  });

  it('status_code: integer or null; not required; HTTP status when the endpoint answered non-2xx', async () => {
    expect((await failOnce(() => ({ status: 418 }))).last_error.status_code).toBe(418);
    expect((await failOnce(() => 'cut')).last_error.status_code ?? null).toBeNull();
  });

  it('response_body: string or null; not required; start of the response body, up to 512 bytes, when non-2xx', async () => {
    const { last_error } = await failOnce(() => ({ status: 500, body: 'x'.repeat(2_000) }));
    expect(last_error.response_body).toBe('x'.repeat(512));
    expect((await failOnce(() => ({ status: 500, body: 'no' }))).last_error.response_body).toBe('no');
    expect((await failOnce(() => 'cut')).last_error.response_body ?? null).toBeNull();
  });

  it('error_type: string or null; not required; kind of failure when no answer came (timeout, refused connection)', async () => {
    const refused = await failOnce(() => ({}), { target_url: 'https://hook.outside.test:1025/' });
    expect(refused.last_error.error_type).toBe('connection_refused');
    expect((await failOnce(() => ({ status: 500 }))).last_error.error_type ?? null).toBeNull();
  });
});

describe('States and transitions: Webhook', () => {
  it('States: on (disabled_at null), off (disabled_at set)', async () => {
    const webhook = await createWebhook();
    expect((await webhook.get()).disabled_at).toBeNull();
    await webhook.patch({ enabled: false });
    expect((await webhook.get()).disabled_at).toEqual(time);
    await converse(webhook);
    expect(webhook.received()).toEqual([]);
  });

  it('on, delivery failures, consecutive_failures reaches 20: off, disabled_at set', async () => {
    const webhook = await getTurnedOff();
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 20, disabled_at: time });
  });

  it('off, update with enabled: true: on, consecutive_failures reset', async () => {
    const webhook = await createWebhook(both);
    await failUntilOff(webhook);
    webhook.respondWith(() => ({}));
    expect(expectOk(await webhook.patch({ enabled: true }))).toMatchObject({
      consecutive_failures: 0,
      disabled_at: null,
    });
  });

  it('on, update with enabled: false: off', async () => {
    const webhook = await createWebhook();
    expect(expectOk(await webhook.patch({ enabled: false })).disabled_at).toEqual(time);
  });
});

describe('Endpoints: PATCH /api/agents/{agent_id}/webhooks/{webhook_id}', () => {
  it('Changes a webhook', async () => {
    const webhook = await createWebhook();
    const change = { target_url: url('/moved'), events: ['message.completed'], description: 'Moved' };
    expect(expectOk(await webhook.patch(change))).toMatchObject({ id: webhook.id, ...change });
    expect(await webhook.get()).toMatchObject(change);
  });

  it("agent_id is the agent's app ID", async () => {
    const webhook = await createWebhook();
    const agents = expectOk(await world.call('GET', '/api/apps?app_type=user_agent&limit=100', { as: token })).items;
    expect(agents.map(({ id }: { id: string }) => id)).toContain(webhook.app.id);
    const path = `/api/agents/${webhook.app.id}/webhooks/${webhook.id}`;
    expectOk(await update(path, { description: 'By the id of the app' }));
  });

  it('Send only fields to change', async () => {
    const webhook = await createWebhook({ description: 'Kept' });
    const before = await webhook.get();
    const after = expectOk(await webhook.patch({ events: ['message.completed'] }));
    expect(after).toMatchObject({ target_url: before.target_url, description: 'Kept', has_secret: true });
    expect(after.events).toEqual(['message.completed']);
  });

  it('Body (all optional, each may be null)', async () => {
    const webhook = await createWebhook({ description: 'Kept' });
    const before = await webhook.get();
    expectOk(await webhook.patch({}));
    expectOk(await webhook.patch({ target_url: null, events: null, enabled: null, signing: null }));
    expect(await webhook.get()).toEqual(before);
    for (const field of ['target_url', 'events', 'description', 'enabled', 'signing'])
      expectOk(await webhook.patch({ [field]: null }));
  });

  it('target_url: string; public HTTPS URL', async () => {
    const webhook = await createWebhook();
    for (const good of ['https://hook.outside.test', url('/path?a=b&c=%20'), 'https://not-yet.unknown.test/hook'])
      expectOk(await webhook.patch({ target_url: good }));
    for (const bad of ['http://hook.outside.test/', 'https://127.0.0.1/', 'https://10.0.0.1/', 'hook', '', 7])
      expectInvalid(await webhook.patch({ target_url: bad }), 'body', 'target_url');
  });

  it('events: array of string; one or more of message.created, message.completed', async () => {
    const webhook = await createWebhook();
    for (const good of [['message.created'], ['message.completed'], ['message.completed', 'message.created']])
      expect(expectOk(await webhook.patch({ events: good })).events.sort()).toEqual(good.toSorted());
    expectInvalid(await webhook.patch({ events: [] }), 'body', 'events');
    expectInvalid(await webhook.patch({ events: ['message.deleted'] }), 'body', 'events', 0);
    expectInvalid(await webhook.patch({ events: 'message.created' }), 'body', 'events');
  });

  it('description: string or null; null removes the label', async () => {
    const webhook = await createWebhook({ description: 'Till' });
    expect(expectOk(await webhook.patch({ description: 'Second till' })).description).toBe('Second till');
    expect(expectOk(await webhook.patch({ description: null })).description).toBeNull();
    expectInvalid(await webhook.patch({ description: 7 }), 'body', 'description');
  });

  it('enabled: boolean; true turns the webhook back on and resets consecutive_failures; false turns it off', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    webhook.respondWith(() => ({ status: 500 }));
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).consecutive_failures).toBe(1);
    expect(expectOk(await webhook.patch({ enabled: false })).disabled_at).toEqual(time);
    webhook.respondWith(() => ({}));
    expect(expectOk(await webhook.patch({ enabled: true }))).toMatchObject({
      disabled_at: null,
      consecutive_failures: 0,
    });
    expectInvalid(await webhook.patch({ enabled: 'yes' }), 'body', 'enabled');
  });

  it('signing: string; rotate generates a new secret returned once in secret; disable stops signing (removes the secret)', async () => {
    const webhook = await createWebhook({ events: ['message.completed'], generate_secret: false });
    const { secret, has_secret } = expectOk(await webhook.patch({ signing: 'rotate' }));
    expect(has_secret).toBe(true);
    await converse(webhook);
    await expect.poll(() => webhook.received().length).toBe(1);
    const [request] = webhook.received();
    const signature = createHmac('sha256', secret)
      .update(request?.body ?? '')
      .digest('hex');
    expect(request?.headers['x-service-signature']).toBe(signature);
    const disabled = expectOk(await webhook.patch({ signing: 'disable' }));
    expect(disabled.has_secret).toBe(false);
    expect(disabled.secret ?? null).toBeNull();
    await converse(webhook);
    await expect.poll(() => webhook.received().length).toBe(2);
    expect(webhook.received()[1]?.headers).not.toHaveProperty('x-service-signature');
    expectInvalid(await webhook.patch({ signing: 'enable' }), 'body', 'signing');
  });

  it('Response 200: the Webhook object (with secret set only when rotated)', async () => {
    const webhook = await createWebhook();
    const { secret, ...answer } = expectOk(await webhook.patch({ description: 'Till' }));
    expect(secret ?? null).toBeNull();
    expect(answer).toEqual({
      id: webhook.id,
      mode: 'push', // not part of the specification
      target_url: text,
      events: ['message.created'],
      description: 'Till',
      has_secret: true,
      last_trigger_time: null,
      last_error: null,
      consecutive_failures: integer,
      disabled_at: null,
      created_date: time,
      updated_date: time,
    });
    expect(expectOk(await webhook.patch({ signing: 'rotate' })).secret).toEqual(text);
  });
});

describe('Authentication', () => {
  it('Webhook update requires the token/key owner to be an editor of the agent', async () => {
    const webhook = await createWebhook();
    const editor = await world.member(workspace, 'editor', 'webhook-editor@example.com');
    expectOk(await update(webhook.path, { description: 'a' }, { as: await world.token(editor, workspace) }));
    expectOk(await update(webhook.path, { description: 'b' }, { headers: await personalKey(world, editor) }));
    const viewer = await world.member(workspace, 'viewer', 'webhook-viewer@example.com');
    const refused = await update(webhook.path, { description: 'c' }, { as: await world.token(viewer, workspace) });
    expect(refused.status).toBe(403);
  });

  it('Read-only keys and workspace API keys are refused', async () => {
    const webhook = await createWebhook();
    const readOnly = await personalKey(world, owner, 'read_only');
    expect((await update(webhook.path, {}, { headers: readOnly })).status).toBe(403);
    expect((await update(webhook.path, {}, { as: await workspaceKey(world, workspace) })).status).toBe(403);
  });

  it('Deliveries to a webhook are signed with an HMAC-SHA256 of the body in X-Service-Signature when has_secret is true', async () => {
    const webhook = await createWebhook(both);
    await converse(webhook);
    await expect.poll(() => webhook.received().length).toBe(3);
    for (const { headers, body } of webhook.received())
      expect(headers['x-service-signature']).toBe(createHmac('sha256', webhook.secret).update(body).digest('hex'));
  });
});

describe('Events', () => {
  const namesOf = (webhook: TestWebhook) => webhook.received().map(({ headers }) => headers['x-service-event']);

  it('Agent webhooks deliver these events to target_url', async () => {
    const webhook = await createWebhook(both);
    await converse(webhook);
    await expect.poll(() => webhook.received().length).toBe(3);
    const { pathname } = new URL((await webhook.get()).target_url);
    for (const { method, path } of webhook.received()) expect([method, path]).toEqual(['POST', pathname]);
  });

  it('message.created: a message is added to a conversation', async () => {
    const webhook = await createWebhook({ events: ['message.created'] });
    await converse(webhook);
    await expect.poll(() => namesOf(webhook)).toEqual(['message.created', 'message.created']);
    const roles = webhook.received().map(({ body }) => JSON.parse(body).data.message.role);
    expect(roles.sort()).toEqual(['assistant', 'user']);
  });

  it('message.completed: the agent finishes a reply', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    await converse(webhook);
    await expect.poll(() => namesOf(webhook)).toEqual(['message.completed']);
    expect(webhook.received()[0]?.body).toContain('The shop closes at six.');
  });

  it('A webhook subscribes to one or more of them via events', async () => {
    const one = await createWebhook({ events: ['message.completed'] });
    const two = await createWebhook(both, { on: one.app });
    await converse(one);
    await expect.poll(() => namesOf(two).length).toBe(3);
    await expect.poll(() => namesOf(one)).toEqual(['message.completed']);
  });

  it('After 20 consecutive failed deliveries the webhook is turned off and disabled_at is set', async () => {
    const webhook = await getTurnedOff();
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 20, disabled_at: time });
    const attempts = webhook.received().length;
    await converse(webhook);
    expect(webhook.received()).toHaveLength(attempts);
  });

  it('Each attempt updates last_trigger_time and, on failure, last_error', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    webhook.respondWith(() => ({ status: 500 }));
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).last_error).not.toBeNull();
    const first = await webhook.get();
    expect(first.last_error.attempted_at).toBe(first.last_trigger_time);
    await webhook.makeDueNow();
    await expect.poll(async () => (await webhook.get()).last_trigger_time).not.toBe(first.last_trigger_time);
    const second = await webhook.get();
    expect(second.last_error.attempted_at).toBe(second.last_trigger_time);
  });
});

describe('Errors', () => {
  it('Webhook update: 400; agent_id belongs to an app that is not an agent', async () => {
    const webhook = await createWebhook();
    const app = await world.appOf(owner, workspace);
    expect((await update(`/api/agents/${app.id}/webhooks/${webhook.id}`, {})).status).toBe(400);
  });

  it('Webhook update: 401; missing or invalid credentials', async () => {
    const webhook = await createWebhook();
    expect((await update(webhook.path, {}, {})).status).toBe(401);
    for (const as of ['invalid', `${token.slice(0, -1)}!`])
      expect((await update(webhook.path, {}, { as })).status).toBe(401);
  });

  it('Webhook update: 402; agent webhooks need a higher plan tier', async () => {
    const person = await world.person('free@example.com');
    const free = await world.workspace(person, 'free');
    const agent = await world.appOf(person, free, { app_type: 'user_agent' });
    const as = await world.token(person, free);
    expect((await update(`/api/agents/${agent.id}/webhooks/${unknownId}`, {}, { as })).status).toBe(402);
  });

  it('Webhook update: 403; not an editor of the agent, viewer in its workspace, read-only key, or workspace key', async () => {
    const webhook = await createWebhook();
    const viewer = await world.member(workspace, 'viewer', 'only-viewer@example.com');
    const guest = await world.member(workspace, 'guest', 'guest-viewer@example.com');
    await world.share(webhook.app, guest, 'viewer');
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    for (const sent of [
      { as: await world.token(viewer, workspace) },
      { as: await world.token(guest, workspace) },
      { as: readOnly },
      { headers: await personalKey(world, owner, 'read_only') },
      { as: await workspaceKey(world, workspace) },
    ])
      expect((await update(webhook.path, {}, sent)).status).toBe(403);
  });

  it('Webhook update: 404; agent or webhook not found', async () => {
    const webhook = await createWebhook();
    const other = await createWebhook();
    expect((await update(`/api/agents/${unknownId}/webhooks/${webhook.id}`, {})).status).toBe(404);
    expect((await update(`/api/agents/${webhook.app.id}/webhooks/${unknownId}`, {})).status).toBe(404);
    expect((await update(`/api/agents/${webhook.app.id}/webhooks/${other.id}`, {})).status).toBe(404);
    expect((await update(`/api/agents/${webhook.app.id}/webhooks/not-an-id`, {})).status).toBe(404);
  });

  it('Webhook update: 422; validation error', async () => {
    const webhook = await createWebhook();
    expectInvalid(await webhook.patch({ enabled: 1 }), 'body', 'enabled');
    expect((await webhook.patch([])).status).toBe(422);
  });

  it('Webhook update: 429; rate limit exceeded', async () => {
    const webhook = await createWebhook();
    await expectLimit(world, 100, () => update(webhook.path, {}));
  });
});

describe('Limits', () => {
  it('Webhook update: 100 requests per minute', async () => {
    const webhook = await createWebhook();
    await expectLimit(world, 100, () => update(webhook.path, { description: 'same' }));
  });
});

describe('Limits: data bounds', () => {
  it('webhook consecutive failures before turn-off: 20', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    webhook.respondWith(() => ({ status: 500 }));
    for (let message = 0; message < 19; message += 1) await converse(webhook);
    await expect.poll(async () => (await webhook.get()).consecutive_failures).toBe(19);
    expect((await webhook.get()).disabled_at).toBeNull();
    await converse(webhook);
    await expect.poll(async () => (await webhook.get()).disabled_at).toEqual(time);
  });

  it('last_error response_body: up to 512 bytes', async () => {
    const { last_error } = await failOnce(() => ({ status: 500, body: 'é'.repeat(600) }));
    expect(last_error.response_body).toBe('é'.repeat(256));
    const exact = await failOnce(() => ({ status: 500, body: 'x'.repeat(512) }));
    expect(exact.last_error.response_body).toBe('x'.repeat(512));
  });
});
