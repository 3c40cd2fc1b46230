// Tests pull webhooks: nothing is sent for them, and their deliveries wait to be acknowledged
// (docs/api/webhooks.md#pull-webhooks).
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startWebhookScene, type TestWebhook } from '../../../test/support/webhook-receiver.ts';
import { recountWorkspace } from '../../core/storage/recount.ts';
import { readStorageUsage } from '../../core/storage/usage.ts';
import { newId } from '../../kit/ids.ts';

const mail = await startMailSandbox();
const { world, owner, workspace, token, endpoint, url, createWebhook } = await startWebhookScene({
  environment: { SMTP_URL: mail.smtpUrl },
});
const { db } = world.app.database;
beforeAll(() => world.startWorker());
afterAll(() => mail.close());

const pull = { mode: 'pull', target_url: undefined } as const;
const daysMs = (days: number) => days * 24 * 60 * 60 * 1000;
const acknowledge = (webhook: TestWebhook, up_to_sequence: number) =>
  webhook.call('POST', '/deliveries/ack', { body: { up_to_sequence } });

async function runJob(name: string, inDays: number): Promise<void> {
  const job = world.app.background.jobs.find((each) => each.name === name);
  await job?.run(db, new Date(world.clock.now().getTime() + daysMs(inDays)));
}

describe('a pull webhook', () => {
  it('is created without a URL, and shows the address of its stream', async () => {
    for (const scope of ['agent', 'app'] as const) {
      const webhook = await createWebhook(pull, { scope });
      const target_url = `${world.config.BASE_URL}${webhook.path}/deliveries/stream`;
      expect(await webhook.get()).toMatchObject({ mode: 'pull', target_url, has_secret: true });
    }
    expect(await (await createWebhook()).get()).toMatchObject({ mode: 'push' });
  });

  it.each([
    ['push without a URL', {}, 'missing'],
    ['pull with a URL', { mode: 'pull', target_url: 'https://hooks.example.com/' }, 'value_error'],
  ])('%s is refused', async (_name, body, type) => {
    const { app } = await createWebhook();
    const sent = { events: ['message.created'], ...body };
    const got = await world.call('POST', `/api/agents/${app.id}/webhooks`, { as: token, body: sent });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'target_url'], type }] } });
  });

  it('refuses what is about sending, with a code of its own', async () => {
    const webhook = await createWebhook(pull);
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }]);
    const [{ id }] = await webhook.listDeliveries();
    const refused = { status: 409, body: { code: 'webhook_is_pull' } };
    expect(await webhook.patch({ target_url: url() })).toMatchObject(refused);
    expect(await webhook.call('POST', '/test')).toMatchObject(refused);
    expect(await (await createWebhook(pull, { scope: 'app' })).call('POST', '/test')).toMatchObject(refused);
    expect(await webhook.call('POST', `/deliveries/${id}/redeliver`)).toMatchObject(refused);
    expect(await webhook.call('POST', '/replay', { body: { statuses: ['pending'] } })).toMatchObject(refused);
    expect((await webhook.patch({ description: 'at home' })).body).toMatchObject({ description: 'at home' });
  });

  it('is sent nothing: its deliveries wait outside of the queue, beside those of a push webhook', async () => {
    const connections = endpoint.received.length;
    const webhook = await createWebhook(pull);
    const pushed = await createWebhook({}, { on: webhook.app });
    await webhook.publishEvents(3);
    await pushed.waitForDeliveries(Array(3).fill({ status: 'delivered' }));
    await webhook.waitForDeliveries(
      [1, 2, 3].map((sequence) => ({ sequence, status: 'pending', attempts_made: 0, next_attempt_at: null })),
    );
    const { rows } = await sql`select from webhook_deliveries where webhook_id = ${webhook.id}
      and (due_at is not null or claimed_slot is not null or changed_in is not null or claims > 0)`.execute(world.db);
    expect(rows).toEqual([]);
    expect(endpoint.received.length).toBe(connections + 3);
    expect((await webhook.call('GET', '/deliveries?status=pending')).body.items).toHaveLength(3);
  });

  it('is not sent what a worker of the release before queued', async () => {
    const connections = endpoint.received.length;
    const webhook = await createWebhook(pull);
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }]);
    await sql`update webhook_deliveries set due_at = clock_timestamp() where webhook_id = ${webhook.id}`.execute(
      world.db,
    );
    world.app.wake.notify('webhook_deliveries');
    await webhook.waitForDeliveries([{ status: 'pending', attempts_made: 0, next_attempt_at: null }]);
    expect(endpoint.received.length).toBe(connections);
    expect((await acknowledge(webhook, 1)).body).toEqual({ acknowledged: 1 });
  });

  it('counts among the webhooks that an app may have', async () => {
    const { app, path } = await createWebhook(pull);
    for (let n = 1; n < 20; n += 1) await createWebhook(pull, { on: app });
    const body = { mode: 'pull', events: ['message.created'] };
    const got = await world.call('POST', path.slice(0, path.lastIndexOf('/')), { as: token, body });
    expect(got).toMatchObject({ status: 409, body: { code: 'limit_reached' } });
  });
});

describe('ackAppDeliveries', () => {
  it('acknowledges everything up to a number, and repeats change nothing', async () => {
    const webhook = await createWebhook(pull, { scope: 'app' });
    await webhook.publishEvents(2);
    await webhook.waitForDeliveries(Array(2).fill({ status: 'pending' }));
    await webhook.patch({ enabled: false });
    await webhook.publishEvents(2);
    await webhook.waitForDeliveries([...Array(2).fill({ status: 'pending' }), ...Array(2).fill({ status: 'missed' })]);
    expect((await acknowledge(webhook, 3)).body).toEqual({ acknowledged: 3 });
    await webhook.waitForDeliveries([
      ...Array(3).fill({ status: 'delivered' }),
      { status: 'missed', delivered_at: null },
    ]);
    const before = await webhook.listDeliveries();
    expect(before[0].delivered_at).not.toBeNull();
    const repeated = await acknowledge(webhook, 3);
    expect([repeated.body, repeated.headers['x-changed']]).toEqual([{ acknowledged: 0 }, 'false']);
    expect(await webhook.listDeliveries()).toEqual(before);
    expect((await acknowledge(webhook, 1_000_000)).body).toEqual({ acknowledged: 1 });
    expect((await webhook.get()).last_trigger_time).not.toBeNull();
  });

  it('acknowledges more than a batch in one call', async () => {
    const webhook = await createWebhook(pull, { scope: 'app' });
    await sql`insert into webhook_deliveries (id, workspace_id, webhook_id, event_id, event_type, sequence, status,
        attempts, created_date, concurrency_key)
      select gen_random_uuid(), ${workspace}, ${webhook.id}, ${newId()}, 'entity.updated', n, 'pending', '[]', now(), 'x'
      from generate_series(1, 12000) n`.execute(world.db);
    expect((await acknowledge(webhook, 11_000)).body).toEqual({ acknowledged: 11_000 });
    expect((await acknowledge(webhook, 12_000)).body).toEqual({ acknowledged: 1_000 });
  });

  it('is refused for a push webhook', async () => {
    const webhook = await createWebhook({}, { scope: 'app' });
    expect(await acknowledge(webhook, 1)).toMatchObject({ status: 409, body: { code: 'webhook_is_push' } });
    const agentWebhook = await createWebhook();
    expect(await acknowledge(agentWebhook, 1)).toMatchObject({ status: 409, body: { code: 'webhook_is_push' } });
  });
});

describe('what waits for a reader', () => {
  it('counts towards the storage, expires after 30 days, and is removed six days later', async () => {
    const own = await world.workspace(owner);
    const as = await world.token(owner, own);
    const app = await world.appOf(owner, own, { app_type: 'user_agent' });
    const webhook = await createWebhook(pull, { on: app, as });
    await webhook.publishEvents(3);
    await webhook.waitForDeliveries(Array(3).fill({ status: 'pending' }));
    const readBytes = async () => (await readStorageUsage(db, own)).deliveries_bytes;
    await expect.poll(readBytes).toBeGreaterThan(3 * (600 + 150));
    expect(await recountWorkspace(db, own)).toBeUndefined();
    const stored = await readBytes();
    await acknowledge(webhook, 1);
    expect(await readBytes()).toBe(stored);

    await runJob('remove old deliveries', 29);
    await webhook.waitForDeliveries([{ status: 'delivered' }, { status: 'pending' }, { status: 'pending' }]);
    await runJob('remove old deliveries', 31);
    await webhook.waitForDeliveries([
      { sequence: 2, status: 'expired' },
      { sequence: 3, status: 'expired' },
    ]);
    expect((await acknowledge(webhook, 3)).body).toEqual({ acknowledged: 0 });
    await runJob('remove old deliveries', 37);
    await webhook.waitForDeliveries([]);
    expect(await readBytes()).toBeLessThan(stored); // the bodies are removed with their day
  });
});

describe('a pull webhook that nobody reads for 30 days', () => {
  it('is turned off, with an audit entry and a mail; turned on again, it stays on', async () => {
    const webhook = await createWebhook(pull);
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }]);
    await acknowledge(webhook, 1);
    const read = await createWebhook(pull);
    await sql`update webhooks set last_trigger_time = now() + interval '2 days' where id = ${read.id}`.execute(
      world.db,
    );
    await runJob('turn off unread webhooks', 29);
    expect((await webhook.get()).disabled_at).toBeNull();
    await runJob('turn off unread webhooks', 31);
    expect((await webhook.get()).disabled_at).not.toBeNull();
    expect((await read.get()).disabled_at).toBeNull();

    const { rows } = await sql<{ after: object }>`select entry->'after' as after from
      (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->>'type' = 'webhook.turned_off' and entry->'target'->>'id' = ${webhook.id}`.execute(world.db);
    expect(rows).toEqual([{ after: { last_read_at: (await webhook.get()).last_trigger_time } }]);
    await sql`update webhook_warnings set due_at = now() where webhook_id = ${webhook.id}`.execute(world.db); // not in 31 days
    const mailOf = () => mail.inbox.find(({ text }) => text.includes(webhook.id));
    await expect.poll(mailOf).toMatchObject({ subject: 'A pull webhook was turned off' });

    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'delivered' }, { status: 'missed' }]);
    const on = await webhook.patch({ enabled: true });
    expect([on.body.disabled_at, on.headers['x-webhook-missed']]).toEqual([null, '1']);
    await runJob('turn off unread webhooks', 1);
    expect((await webhook.get()).disabled_at).toBeNull();
  });
});
