// Tests the operations on agent and app webhooks: which input they accept or reject, what they store, and that secrets
// are shown only once.
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWebhookScene } from '../../../test/support/webhook-receiver.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import { checkTarget } from '../../kit/http/check-url.ts';
import { newId } from '../../kit/ids.ts';
import { openOutbound } from '../../kit/outbound/outbound.ts';
import { createSecrets } from '../../kit/secrets.ts';
import type { WebhookRow } from './contract.ts';
import { createSigner } from './signing.ts';

const { world, url, owner, workspace, token, createWebhook } = await startWebhookScene();
const as = { as: token };
const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
const app = await world.appOf(owner, workspace);
const base = `/api/agents/${agent.id}/webhooks`;
const events = ['message.created'];

/** Fails if the secret appears in one of the strings, the audit log or the process log. */
async function expectNowhere(secret: string, ...texts: string[]) {
  const { rows } = await sql<{ entry: string }>`select entry::text from audit_pending
    union all select entry::text from audit_entries`.execute(world.db);
  expect(rows.length).toBeGreaterThan(0);
  const core = secret.slice('whsec_'.length);
  for (const text of [...texts, ...rows.map((row) => row.entry), ...world.logLines]) expect(text).not.toContain(core);
}

describe('createAgentWebhook', () => {
  it('creates a signed, enabled webhook and shows its secret', async () => {
    const got = await world.call('POST', base, { ...as, body: { target_url: url('/new'), events } });
    expect(got.status).toBe(200);
    expect(Object.keys(got.body)).toEqual([
      'id',
      'mode',
      'target_url',
      'events',
      'description',
      'has_secret',
      'last_trigger_time',
      'last_error',
      'consecutive_failures',
      'disabled_at',
      'created_date',
      'updated_date',
      'secret',
    ]);
    expect(got.body).toMatchObject({
      target_url: url('/new'),
      events,
      description: null,
      has_secret: true,
      last_trigger_time: null,
      last_error: null,
      consecutive_failures: 0,
      disabled_at: null,
      secret: expect.stringMatching(/^whsec_/),
    });
  });

  it('creates an unsigned webhook without a secret if generate_secret is false', async () => {
    const got = await world.call('POST', base, { ...as, body: { target_url: url(), events, generate_secret: false } });
    expect(got.body).toMatchObject({ has_secret: false });
    expect(got.body).not.toHaveProperty('secret');
  });

  it('repeated with the same Idempotency-Key creates no second webhook and does not show the secret again', async () => {
    const { app: of } = await createWebhook();
    const sent = {
      ...as,
      body: { target_url: url('/once'), events },
      headers: { 'idempotency-key': newId() },
    };
    const first = await world.call('POST', `/api/agents/${of.id}/webhooks`, sent);
    const again = await world.call('POST', `/api/agents/${of.id}/webhooks`, sent);
    expect(again).toMatchObject({ status: 200, body: { ...first.body, secret: null } });
    expect(again.headers['x-warning']).toBe('secret_withheld');
    expect((await world.call('GET', `/api/agents/${of.id}/webhooks`, as)).body).toHaveLength(2);
    const { rows } = await sql<{ text: string }>`select k::text as text from idempotency_keys k`.execute(world.db);
    await expectNowhere(first.body.secret, again.text, ...rows.map((row) => row.text));
  });

  it('merges repeated events', async () => {
    const sent = { target_url: url(), events: ['message.created', 'message.completed', 'message.created'] };
    const got = await world.call('POST', base, { ...as, body: sent });
    expect(got.body.events).toEqual(['message.created', 'message.completed']);
  });

  it.each([
    ['no event', { events: [] }, ['body', 'events'], 'too_short'],
    ['an event of an app', { events: ['entity.created'] }, ['body', 'events', 0], 'enum'],
    ['plain http', { target_url: 'http://hook.outside.test/' }, ['body', 'target_url'], 'url_scheme'],
    ['no URL', { target_url: 'hook' }, ['body', 'target_url'], 'url_parsing'],
    [
      'a name that resolves to a private address',
      { target_url: 'https://inner.outside.test/' },
      ['body', 'target_url'],
      'url_not_public',
    ],
    ['a private address', { target_url: 'https://169.254.169.254/' }, ['body', 'target_url'], 'url_not_public'],
    [
      'credentials in the URL',
      { target_url: 'https://a:b@hook.outside.test/' },
      ['body', 'target_url'],
      'url_not_public',
    ],
    ['a long URL', { target_url: url(`/${'x'.repeat(2048)}`) }, ['body', 'target_url'], 'url_too_long'],
    ['a long description', { description: 'x'.repeat(501) }, ['body', 'description'], 'string_too_long'],
  ])('refuses %s', async (_what, body, loc, type) => {
    const got = await world.call('POST', base, { ...as, body: { target_url: url(), events, ...body } });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });

  it('says how to allow a private receiver, only where a developer would want one', async () => {
    const refusal = async (isDevelopment: boolean, target_url: string) => {
      const outbound = openOutbound();
      const error = await checkTarget({ outbound, isDevelopment }, target_url, ['body', 'target_url']).catch(
        (thrown) => thrown,
      );
      await outbound.close();
      return error.faults[0].msg;
    };
    expect(await refusal(true, 'http://192.168.1.20:3000/')).toContain('set OUTBOUND_ALLOW=http://HOST:PORT in .env');
    expect(await refusal(true, 'https://user@example.com/')).toMatch(/^must not contain a user name .* host$/);
    expect(await refusal(false, 'http://192.168.1.20:3000/')).toBe('must use https');
    const body = { target_url: 'https://10.0.0.1/', events };
    const got = await world.call('POST', base, { ...as, body }); // this installation is at 127.0.0.1
    expect(got.body.detail[0].msg).toContain('docs/guides/receiving-webhooks.md#testing-locally');
  });

  it('accepts a host name that does not resolve yet, because each request is checked again', async () => {
    const got = await world.call('POST', base, { ...as, body: { target_url: 'https://gone.outside.test/', events } });
    expect(got.status).toBe(200);
  });

  it.each(['agent', 'app'] as const)(
    'allows 20 webhooks per %s, even when 21 more are created at once',
    async (scope) => {
      const { app: of } = await createWebhook({}, { scope });
      const events = [scope === 'agent' ? 'message.created' : 'entity.created'];
      const asked = Array.from({ length: 21 }, () =>
        world.call('POST', `/api/${scope}s/${of.id}/webhooks`, { ...as, body: { target_url: url(), events } }),
      );
      const got = await Promise.all(asked);
      expect(got.filter(({ status }) => status === 200)).toHaveLength(19);
      expect(got.find(({ status }) => status === 409)?.body).toMatchObject({
        code: 'limit_reached',
        limit: 20,
        resource: 'webhooks',
      });
      expect((await world.call('GET', `/api/${scope}s/${of.id}/webhooks`, as)).body).toHaveLength(20);
    },
  );
});

describe('the secret', () => {
  it('is shown only when it is created or rotated', async () => {
    const webhook = await createWebhook();
    const rotated = await webhook.patch({ signing: 'rotate' });
    expect(rotated.body.secret).toMatch(/^whsec_/);
    expect(rotated.body.secret).not.toBe(webhook.secret);
    const shown = [
      await webhook.call('GET'),
      await webhook.patch({ description: 'later' }),
      await webhook.call('GET', '/deliveries'),
      await webhook.call('POST', '/test'),
      await world.call('GET', `/api/agents/${webhook.app.id}/webhooks`, as),
      await world.call('GET', '/api/workspace/audit-log', as),
    ];
    for (const got of shown) {
      expect(got.status, got.text).toBe(200);
      expect(got.text).not.toContain('whsec_');
    }
    for (const secret of [webhook.secret, rotated.body.secret])
      await expectNowhere(secret, ...shown.map((got) => got.text));
    const { rows } = await sql<{
      text: string;
    }>`select w::text as text from webhooks w where id = ${webhook.id}`.execute(world.db);
    await expectNowhere(webhook.secret, ...rows.map((row) => row.text));
  });

  it('and the previous one are re-encrypted with a new master key while the service runs, and still sign', async () => {
    const webhook = await createWebhook();
    const secret = (await webhook.patch({ signing: 'rotate' })).body.secret;
    const [old] = world.config.MASTER_KEYS;
    const key = randomBytes(32);
    const rotated = await startSecondApp(world, {
      environment: { MASTER_KEYS: `new:${key.toString('base64')},${old?.id}:${old?.key.toString('base64')}` },
    });
    const job = rotated.app.background.jobs.find(({ name }) => name === 'rewrap webhook secrets');
    expect(await job?.run(rotated.app.database.db, new Date())).toBeGreaterThan(0);
    expect(await job?.run(rotated.app.database.db, new Date())).toBe(0);
    const { rows } = await sql<WebhookRow>`select * from webhooks where id = ${webhook.id}`.execute(world.db);
    const onlyNew = createSigner(createSecrets([{ id: 'new', key }]));
    const headers = onlyNew.headersFor(rows[0] as WebhookRow, 'id', 'body', new Date());
    const signed = `id.${headers['webhook-timestamp']}.body`;
    const standard = (secret: string) =>
      `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
        .update(signed)
        .digest('base64')}`;
    expect(headers['webhook-signature']).toBe(`${standard(secret)} ${standard(webhook.secret)}`);
  });
});

describe('updateAgentWebhook', () => {
  const original = { description: 'mine', events: ['message.created', 'message.completed'] };

  it.each([
    ['target_url', { target_url: url('/moved') }, { target_url: url('/moved') }],
    ['events', { events: ['message.completed', 'message.completed'] }, { events: ['message.completed'] }],
    ['description', { description: ' other ' }, { description: ' other ' }],
    ['enabled', { enabled: false }, { disabled_at: expect.any(String) }],
    ['signing, disabled', { signing: 'disable' }, { has_secret: false }],
  ])('sets %s and changes nothing else', async (_field, body, changed) => {
    const webhook = await createWebhook(original);
    const before = await webhook.get();
    const got = await webhook.patch(body);
    expect(got).toMatchObject({ status: 200 });
    expect(got.body).toEqual({ ...before, ...changed, updated_date: got.body.updated_date });
    expect(got.body.updated_date > before.updated_date).toBe(true);
    expect(await webhook.get()).toEqual(got.body);
  });

  it.each(['target_url', 'events', 'enabled', 'signing'])('treats null for %s as not sent', async (field) => {
    const webhook = await createWebhook(original);
    const before = await webhook.get();
    const got = await webhook.patch({ [field]: null });
    expect(got).toMatchObject({ status: 200, body: before, headers: { 'x-changed': 'false' } });
    expect(await webhook.get()).toEqual(before);
  });

  it('removes the description if it is null', async () => {
    const webhook = await createWebhook(original);
    expect((await webhook.patch({ description: null })).body.description).toBeNull();
    expect((await webhook.get()).description).toBeNull();
  });

  it('changes nothing if the body is empty, and says so in X-Changed', async () => {
    const webhook = await createWebhook(original);
    const before = await webhook.get();
    expect(await webhook.patch({})).toMatchObject({ status: 200, body: before, headers: { 'x-changed': 'false' } });
  });

  it('changes nothing if the body repeats what is stored: no new updated_date and no audit entry', async () => {
    const webhook = await createWebhook({ ...original, generate_secret: false });
    const before = await webhook.get();
    const { target_url, description } = before;
    const repeats = [
      { signing: 'disable' },
      { enabled: true },
      { target_url, events: before.events, description },
      { target_url, events: before.events, description, enabled: true, signing: 'disable' },
    ];
    for (const body of repeats)
      expect(await webhook.patch(body)).toMatchObject({ status: 200, body: before, headers: { 'x-changed': 'false' } });
    const off = (await webhook.patch({ enabled: false })).body;
    expect(await webhook.patch({ enabled: false })).toMatchObject({ body: off, headers: { 'x-changed': 'false' } });
    const entries = (await world.call('GET', `/api/workspace/audit-log?app_id=${webhook.app.id}`, as)).body.items;
    expect(entries.map((entry: { type: string }) => entry.type)).toEqual(['webhook.turned_off', 'webhook.created']);
  });

  it('does not claim in the audit log that a secret changed if signing was already off', async () => {
    const webhook = await createWebhook({ ...original, generate_secret: false });
    await webhook.patch({ description: 'changed', signing: 'disable' });
    const entries = (await world.call('GET', `/api/workspace/audit-log?app_id=${webhook.app.id}`, as)).body.items;
    expect(entries[0]).toMatchObject({ type: 'webhook.updated', after: { description: 'changed' } });
    expect(entries[0].after).not.toHaveProperty('secret');
  });

  it('shows a new secret after a rotation, even if the webhook was unsigned', async () => {
    const webhook = await createWebhook({ generate_secret: false });
    const got = await webhook.patch({ signing: 'rotate' });
    expect(got.body).toMatchObject({ has_secret: true, secret: expect.stringMatching(/^whsec_/) });
  });

  it.each([
    ['no event', { events: [] }, ['body', 'events'], 'too_short'],
    ['an unknown event', { events: ['message.gone'] }, ['body', 'events', 0], 'enum'],
    ['a private address', { target_url: 'https://10.0.0.1/' }, ['body', 'target_url'], 'url_not_public'],
    [
      'a name that resolves to a private address',
      { target_url: 'https://inner.outside.test/' },
      ['body', 'target_url'],
      'url_not_public',
    ],
    ['an unknown value of signing', { signing: 'off' }, ['body', 'signing'], 'enum'],
    ['a value of enabled that is not a boolean', { enabled: 'yes' }, ['body', 'enabled'], 'bool_type'],
  ])('refuses %s and applies nothing else of the body, nor the rotation', async (_what, wrong, loc, type) => {
    const webhook = await createWebhook(original);
    const before = await webhook.get();
    const got = await webhook.patch({ description: 'changed', signing: 'rotate', ...wrong });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
    expect(await webhook.get()).toEqual(before);
    await webhook.call('POST', '/test');
    expect(webhook.received().at(-1)?.headers['webhook-signature']).not.toContain(' ');
  });

  it('neither enables the webhook nor resets its failures when target_url changes', async () => {
    const webhook = await createWebhook();
    const disabled_at = new Date();
    await sql`update webhooks set consecutive_failures = 20, disabled_at = ${disabled_at} where id = ${webhook.id}`.execute(
      world.db,
    );
    const got = await webhook.patch({ target_url: url('/elsewhere') });
    expect(got.body).toMatchObject({ consecutive_failures: 20, disabled_at: disabled_at.toISOString() });
  });

  it('resets the failures if enabled is true, also of an enabled webhook; false keeps an earlier disabled_at', async () => {
    const webhook = await createWebhook();
    await sql`update webhooks set consecutive_failures = 7 where id = ${webhook.id}`.execute(world.db);
    const on = await webhook.patch({ enabled: true });
    expect(on).toMatchObject({ body: { consecutive_failures: 0, disabled_at: null } });
    expect(on.headers['x-changed']).toBeUndefined();
    expect(on.headers).toMatchObject({ 'x-webhook-held': '0', 'x-webhook-missed': '0' });
    const { disabled_at } = (await webhook.patch({ enabled: false })).body;
    expect((await webhook.patch({ enabled: false })).body.disabled_at).toBe(disabled_at);
  });

  it('is in the audit log with the values before and after', async () => {
    const webhook = await createWebhook({ description: 'before' });
    await webhook.patch({ description: 'after', signing: 'disable' });
    const entries = (await world.call('GET', `/api/workspace/audit-log?app_id=${webhook.app.id}`, as)).body.items;
    expect(entries.map((entry: { type: string }) => entry.type)).toEqual(['webhook.updated', 'webhook.created']);
    expect(entries[0]).toMatchObject({
      before: { description: 'before', has_secret: true, enabled: true },
      after: { description: 'after', has_secret: false, enabled: true },
    });
  });
});

describe('access to agent webhooks', () => {
  const all = (id: string): [string, string, object?][] => [
    ['GET', ''],
    ['POST', '', { target_url: url(), events }],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, {}],
    ['POST', `/${id}/test`],
    ['GET', `/${id}/deliveries`],
    ['GET', `/${id}/deliveries/${newId()}`],
    ['POST', `/${id}/deliveries/${newId()}/redeliver`],
    ['POST', `/${id}/replay`, {}],
    ['DELETE', `/${id}`],
  ];

  it('is refused with 400 for an app that is not an agent', async () => {
    for (const [method, below, body] of all(newId()))
      expect(await world.call(method, `/api/agents/${app.id}/webhooks${below}`, { ...as, body })).toMatchObject({
        status: 400,
        body: { code: 'not_an_agent' },
      });
  });

  it('is refused with 403 for viewers of the agent and granted to editors', async () => {
    const [viewer, editor] = [
      await world.member(workspace, 'guest', 'viewer@example.com'),
      await world.member(workspace, 'guest', 'editor@example.com'),
    ];
    const webhook = await createWebhook();
    await world.share(webhook.app, viewer, 'viewer');
    await world.share(webhook.app, editor, 'editor');
    const [viewing, editing] = [await world.token(viewer, workspace), await world.token(editor, workspace)];
    for (const [method, below, body] of all(webhook.id)) {
      const path = `/api/agents/${webhook.app.id}/webhooks${below}`;
      expect(await world.call(method, path, { as: viewing, body })).toMatchObject({ status: 403 });
    }
    expect((await webhook.call('GET', '', { as: editing })).status).toBe(200);
  });

  it('answers 404 for a webhook of another agent, and for an agent webhook on the path of app webhooks', async () => {
    const [mine, theirs] = [await createWebhook(), await createWebhook()];
    const through = await world.call('GET', `/api/agents/${mine.app.id}/webhooks/${theirs.id}`, as);
    expect(through).toMatchObject({ status: 404, body: { code: 'webhook_not_found' } });
    const asApp = await world.call('GET', `/api/apps/${mine.app.id}/webhooks/${mine.id}`, as);
    expect(asApp).toMatchObject({ status: 404, body: { code: 'webhook_not_found' } });
  });

  it('is limited to reading and deleting on the free plan; the rest answers 402 with the plan; app webhooks need no plan', async () => {
    const poor = await world.person('poor@example.com');
    const free = await world.workspace(poor, 'pro');
    const token = await world.token(poor, free);
    const agentOfPoor = await world.appOf(poor, free, { app_type: 'user_agent' });
    const webhook = await createWebhook({}, { on: agentOfPoor, as: token });
    await sql`update workspaces set plan = 'free' where id = ${free}`.execute(world.db);
    await world.resetRateLimits();
    const gated = ['POST ', 'PATCH /', 'POST /test', 'POST /redeliver', 'POST /replay'];
    for (const [method, below, body] of all(webhook.id)) {
      if (below.includes('/deliveries/') && method === 'GET') continue; // there is no delivery to read
      const path = `/api/agents/${agentOfPoor.id}/webhooks${below}`;
      const got = await world.call(method, path, { as: token, body });
      const kind = `${method} ${below.match(/\/(test|redeliver|replay)$/)?.[0] ?? (below === '' ? '' : '/')}`;
      if (gated.includes(kind))
        expect(got, `${method} ${below}`).toMatchObject({
          status: 402,
          body: { code: 'plan_required', required_plan: 'builder' },
        });
      else expect(got.status, `${method} ${below}`).toBe(200);
    }
    const own = await createWebhook({}, { on: await world.appOf(poor, free), scope: 'app', as: token });
    expect((await own.patch({ description: 'free' })).status).toBe(200);
    expect((await own.call('POST', '/test')).body.ok).toBe(true);
  });
});

describe('app webhooks', () => {
  it('store the entities they are limited to; null removes the limit', async () => {
    const webhook = await createWebhook({ entity_names: ['Order'] }, { scope: 'app' });
    expect((await webhook.get()).entity_names).toEqual(['Order']);
    expect((await webhook.patch({ entity_names: ['Order', 'Invoice'] })).body.entity_names).toEqual([
      'Order',
      'Invoice',
    ]);
    expect((await webhook.patch({ description: 'x' })).body.entity_names).toEqual(['Order', 'Invoice']);
    expect((await webhook.patch({ entity_names: null })).body.entity_names).toBeNull();
  });

  it.each([
    ['an event of an agent', { events: ['message.created'] }, ['body', 'events', 0], 'enum'],
    ['no entity', { entity_names: [] }, ['body', 'entity_names'], 'too_short'],
    ['too many entities', { entity_names: Array(101).fill('E') }, ['body', 'entity_names'], 'too_long'],
  ])('refuse %s', async (_what, body, loc, type) => {
    const sent = { target_url: url(), events: ['entity.created'], ...body };
    const got = await world.call('POST', `/api/apps/${app.id}/webhooks`, { ...as, body: sent });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });
});

describe('deleteAgentWebhook', () => {
  it('removes the webhook at once and keeps its audit entries', async () => {
    const webhook = await createWebhook();
    expect((await webhook.call('DELETE')).body).toEqual({ success: true });
    expect((await webhook.call('GET')).status).toBe(404);
    expect((await webhook.call('DELETE')).status).toBe(404);
    const entries = (await world.call('GET', `/api/workspace/audit-log?app_id=${webhook.app.id}`, as)).body.items;
    expect(entries[0]).toMatchObject({ type: 'webhook.deleted', target: { kind: 'webhook', id: webhook.id } });
  });
});
