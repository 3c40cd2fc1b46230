// Tests failing endpoints: error types, retries, warnings, and deliveries that are held while a webhook is off
// (docs/api/webhooks.md#failing-webhooks).
import { createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../../sandbox/src/certificates.ts';
import { startRawServer } from '../../../../sandbox/src/raw-server.ts';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startWebhookEndpoint } from '../../../../sandbox/src/webhook-endpoint.ts';
import { endpointAddress, startWebhookScene, type TestWebhook } from '../../../test/support/webhook-receiver.ts';
import { transaction } from '../../kit/db/database.ts';

const mail = await startMailSandbox();
const { world, endpoint, url, authority, workspace, createWebhook, withClaimsPaused } = await startWebhookScene({
  environment: { SMTP_URL: mail.smtpUrl },
});
await world.startWorker();
afterAll(() => mail.close());
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

/** Returns a port that no process listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, endpointAddress);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function entriesOf(webhook: TestWebhook) {
  const { rows } = await sql<{ entry: { type: string; after: object } }>`
    select entry from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->'target'->>'id' = ${webhook.id} and entry->>'type' <> 'webhook.created'
    order by (entry->'after'->>'consecutive_failures')::int`.execute(world.db);
  return rows.map((row) => row.entry);
}

/** This webhook's first attempt takes ten seconds, so it runs alongside the other tests. */
const silent = await createWebhook();
silent.respondWith(() => 'silence');
beforeAll(() => silent.publishEvents());

describe('a failing delivery', () => {
  it('gives up after eight attempts and counts one failure', async () => {
    const webhook = await createWebhook();
    // `Retry-After` extends the first delay of 5 s, so the second attempt doesn't start before the test has made its
    // checks.
    webhook.respondWith(() => ({ status: 503, body: 'no', headers: { 'retry-after': '60' } }));
    await webhook.publishEvents();
    const waits = [60, 300, 1800, 7200, 18_000, 36_000, 36_000];
    for (const [index, seconds] of waits.entries()) {
      await webhook.waitForDeliveries([{ status: 'pending', attempts_made: index + 1 }]);
      const [{ next_attempt_at }] = await webhook.listDeliveries();
      const waitsMs = Date.parse(next_attempt_at) - Date.parse((await webhook.get()).last_trigger_time);
      expect(waitsMs).toBeGreaterThan(seconds * 900);
      expect(waitsMs).toBeLessThan(seconds * 1100 + 20_000); // plus the attempt's duration
      await webhook.makeDueNow();
    }
    await webhook.waitForDeliveries([{ status: 'failed', attempts_made: 8, next_attempt_at: null }]);
    const [delivery] = await webhook.listDeliveries();
    const requests = webhook.received();
    expect(requests.map(({ headers }) => headers['x-service-attempt'])).toEqual(numbers(8).map(String));
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['x-service-delivery']))).toEqual(new Set([delivery.id]));
    expect(new Set(requests.map(({ headers }) => headers['x-service-sequence']))).toEqual(new Set(['1']));
    const { attempts } = (await webhook.call('GET', `/deliveries/${delivery.id}`)).body;
    expect(attempts).toHaveLength(8);
    expect(attempts[7]).toEqual({
      number: 8,
      attempted_at: (await webhook.get()).last_trigger_time,
      duration_ms: expect.any(Number),
      status_code: 503,
      error_type: null,
      response_body: 'no',
      kind: 'scheduled',
    });
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 1, disabled_at: null });
  });

  const inTenMinutes = () => new Date(Date.now() + 600_000).toUTCString();
  it.each([
    ['429, seconds: as long as asked', 429, () => '120', 120],
    ['503, a date: until then', 503, inTenMinutes, 600],
    ['more than twelve hours: twelve hours', 503, () => '999999', 43_200],
    ['less than the schedule: the schedule', 429, () => '1', 5],
    ['neither seconds nor a date: the schedule', 503, () => 'soon', 5],
    ['a date that is over: the schedule', 503, () => new Date(0).toUTCString(), 5],
    ['another status: the schedule', 500, () => '120', 5],
  ])('honours Retry-After: %s', async (_rule, status, header, seconds) => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status, headers: { 'retry-after': header() } }));
    await webhook.publishEvents();
    /** The delay between the first two attempts. The second may not have been made yet. */
    const waitsMs = async () => {
      const [{ id }] = await webhook.listDeliveries();
      const { attempts, next_attempt_at } = (await webhook.call('GET', `/deliveries/${id}`)).body;
      return Date.parse(attempts[1]?.attempted_at ?? next_attempt_at) - Date.parse(attempts[0]?.attempted_at);
    };
    await expect.poll(async () => (await webhook.listDeliveries())[0]?.attempts_made).toBeGreaterThan(0);
    await expect.poll(waitsMs).toBeGreaterThan(seconds * 900 - 1_000);
    expect(await waitsMs()).toBeLessThan(seconds * 1100 + 20_000);
  });
});

describe('a failing webhook', () => {
  it('warns at 10, 15 and 18 failures, is turned off at 20, and sends held deliveries once it is on again', async () => {
    const keeper = await world.member(workspace, 'editor', 'keeper@example.com');
    await world.member(workspace, 'admin', 'admin@example.com');
    await world.member(workspace, 'editor', 'bystander@example.com');
    const gone = await world.member(workspace, 'admin', 'deactivated@example.com');
    await world.db.updateTable('users').set({ deactivated_at: new Date() }).where('id', '=', gone.id).execute();
    // This admin gets no mail, because the address is unverified and may belong to someone else.
    const stranger = await world.member(workspace, 'admin', 'unproven@example.com');
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', stranger.id).execute();
    const webhook = await createWebhook({}, { on: await world.appOf(keeper, workspace, { app_type: 'user_agent' }) });
    webhook.respondWith(() => ({ status: 500 }));
    await webhook.publishEvents(20);

    // The webhook is turned off, and its waiting deliveries are held.
    await expect.poll(async () => (await webhook.get()).disabled_at).not.toBeNull();
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 20 });
    await webhook.waitForDeliveries(
      numbers(20).map((sequence) => ({ sequence, status: 'held', next_attempt_at: null })),
    );
    expect(await entriesOf(webhook)).toMatchObject([
      { type: 'webhook.failing', after: { consecutive_failures: 10 } },
      { type: 'webhook.failing', after: { consecutive_failures: 15 } },
      { type: 'webhook.failing', after: { consecutive_failures: 18 } },
      { type: 'webhook.turned_off', after: { consecutive_failures: 20 } },
    ]);

    // The app's owner, the workspace's owner and the active admins get mail.
    await expect.poll(() => mail.inbox.length).toBe(12);
    for (const person of ['keeper@example.com', 'admin@example.com', 'owner@example.com'])
      expect(
        mail.inbox
          .filter(({ to }) => to.includes(person))
          .map(({ subject }) => subject)
          .sort(),
      ).toEqual([
        ...Array(3).fill(`A webhook to hook.outside.test:${endpoint.port} is failing`),
        `A webhook to hook.outside.test:${endpoint.port} was turned off`,
      ]);
    const { pathname } = new URL((await webhook.get()).target_url);
    for (const { text } of mail.inbox) expect(text).not.toContain(pathname);

    // New events are numbered and kept, but not sent.
    const before = webhook.received().length;
    await webhook.publishEvents(2);
    await expect
      .poll(async () => (await webhook.listDeliveries()).slice(20))
      .toMatchObject([
        { sequence: 21, status: 'missed', attempts_made: 0, next_attempt_at: null },
        { sequence: 22, status: 'missed' },
      ]);
    const missed = (await webhook.listDeliveries())[20];
    expect((await webhook.call('GET', `/deliveries/${missed.id}`)).body.payload.data.message.content).toBe('hello');
    await webhook.makeDueNow();
    expect(webhook.received()).toHaveLength(before);

    // The webhook is turned back on. Held deliveries continue in order, except those that are too old.
    webhook.respondWith(() => ({}));
    await sql`update webhook_deliveries set created_date = now() - interval '8 days'
      where webhook_id = ${webhook.id} and sequence in (1, 7)`.execute(world.db);
    await withClaimsPaused(async () => {
      const on = await webhook.patch({ enabled: true });
      expect(on).toMatchObject({
        body: { disabled_at: null, consecutive_failures: 0 },
        headers: { 'x-webhook-held': '18', 'x-webhook-missed': '2' },
      });
      const { rows } = await sql<{ sequence: number }>`select sequence from webhook_deliveries
        where webhook_id = ${webhook.id} and due_at is not null order by due_at`.execute(world.db);
      expect(rows.map((row) => row.sequence)).toEqual(numbers(20).filter((n) => n !== 1 && n !== 7));
    });
    const statusOf = (n: number) => (n === 1 || n === 7 ? 'expired' : n > 20 ? 'missed' : 'delivered');
    await webhook.waitForDeliveries(numbers(22).map((sequence) => ({ sequence, status: statusOf(sequence) })));
    await webhook.publishEvents();
    await expect
      .poll(async () => (await webhook.listDeliveries()).slice(22))
      .toMatchObject([{ sequence: 23, status: 'delivered' }]);
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 0, last_error: null });
  });

  it('is not turned off by one delivery that fails repeatedly', async () => {
    const webhook = await createWebhook();
    await sql`update webhooks set consecutive_failures = 18 where id = ${webhook.id}`.execute(world.db);
    webhook.respondWith(() => ({ status: 503, headers: { 'retry-after': '600' } }));
    await webhook.publishEvents();
    for (const attempts_made of numbers(3)) {
      await webhook.waitForDeliveries([{ attempts_made }]);
      await webhook.makeDueNow();
    }
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 19, disabled_at: null });
  });

  it('holds a queued redelivery when it is turned off; a delivered one stays delivered when it expires', async () => {
    const webhook = await createWebhook();
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
    const [{ id }] = await webhook.listDeliveries();
    await withClaimsPaused(async () => {
      await webhook.call('POST', `/deliveries/${id}/redeliver`);
      await webhook.patch({ enabled: false });
    });
    await webhook.waitForDeliveries([{ status: 'held' }]);
    await sql`update webhook_deliveries set created_date = now() - interval '8 days' where id = ${id}`.execute(
      world.db,
    );
    expect((await webhook.patch({ enabled: true })).headers['x-webhook-held']).toBe('0');
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 1 }]);
  });
});

it('an attempt that runs while its webhook is turned off is held if it fails and delivered if it succeeds', async () => {
  for (const [status, expected] of [
    [500, 'held'],
    [200, 'delivered'],
  ] as const) {
    const webhook = await createWebhook();
    const until = Promise.withResolvers<void>();
    webhook.respondWith(() => ({ status, until: until.promise }));
    await webhook.publishEvents();
    await expect.poll(() => webhook.received().length).toBe(1);
    await webhook.patch({ enabled: false });
    await webhook.waitForDeliveries([{ status: 'delivering', next_attempt_at: null }]);
    until.resolve();
    await webhook.waitForDeliveries([{ status: expected, attempts_made: 1, next_attempt_at: null }]);
  }
});

it('a delivery queued for a webhook that is off when it is claimed is held, not sent', async () => {
  const webhook = await createWebhook();
  await withClaimsPaused(async () => {
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }]);
    // Simulates a fan-out that read the webhook just before it was turned off.
    await sql`update webhooks set disabled_at = now() where id = ${webhook.id}`.execute(world.db);
  });
  await webhook.waitForDeliveries([{ status: 'held', attempts_made: 0, next_attempt_at: null }]);
  expect((await webhook.patch({ enabled: true })).headers['x-webhook-held']).toBe('1');
  await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 1 }]);
});

it('a delivery that a worker is about to hold is sent if its webhook is turned on meanwhile', async () => {
  const webhook = await createWebhook();
  await webhook.patch({ enabled: false });
  await webhook.publishEvents();
  await webhook.waitForDeliveries([{ status: 'missed' }]);
  const waiting = async () =>
    (
      await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%for no key update%'`.execute(world.db)
    ).rows.length;
  await transaction(world.db, async (db) => {
    await sql`update webhooks set disabled_at = null where id = ${webhook.id}`.execute(db);
    await sql`update webhook_deliveries set status = 'pending', due_at = now() where webhook_id = ${webhook.id}`.execute(
      world.db,
    );
    world.app.wake.notify('webhook_deliveries');
    // The worker has read that the webhook is off. To hold the claimed delivery, it now waits for the webhook's lock.
    await expect.poll(waiting).toBe(1);
  });
  await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 1 }]);
});

it('an error on our side is retried, recorded on the row, and not counted as a failure of the endpoint', async () => {
  const webhook = await createWebhook();
  await withClaimsPaused(async () => {
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }]);
    await sql`delete from webhook_bodies where event_id in
      (select event_id from webhook_deliveries where webhook_id = ${webhook.id})`.execute(world.db);
  });
  const row = async () =>
    (
      await sql<{ failures: number; last_error: string }>`select failures, last_error, due_at is null as is_finished
      from webhook_deliveries where webhook_id = ${webhook.id}`.execute(world.db)
    ).rows[0];
  await expect.poll(row).toMatchObject({ last_error: 'webhook body has expired', is_finished: false });
  expect(await webhook.get()).toMatchObject({ consecutive_failures: 0, last_error: null, last_trigger_time: null });
  await sql`update webhook_deliveries set failures = 6 where webhook_id = ${webhook.id}`.execute(world.db);
  await webhook.makeDueNow();
  await webhook.waitForDeliveries([{ status: 'failed', attempts_made: 0 }]);
  expect(webhook.received()).toEqual([]);
});

describe('last_error', () => {
  it('describes each kind of failure, always with five keys', async () => {
    const unknown = await makeAuthority();
    const untrusted = await startWebhookEndpoint({
      address: endpointAddress,
      certificate: await unknown.issue('DNS:*.outside.test'),
    });
    const babbler = await startRawServer({
      address: endpointAddress,
      tls: await authority.issue('DNS:*.outside.test'),
      onData: (socket) => void socket.end('nonsense\r\n\r\n'),
    });
    const cut = await createWebhook();
    cut.respondWith(() => 'cut');
    const moved = await createWebhook();
    moved.respondWith(() => ({ status: 302, headers: { location: url('/followed') }, body: 'over there' }));
    const broken = await createWebhook();
    broken.respondWith(() => ({ status: 500, body: 'x\0'.repeat(600) }));
    const gone = await createWebhook();
    gone.respondWith(() => ({ status: 410 }));
    const inside = await createWebhook();
    await sql`update webhooks set target_url = 'https://inner.outside.test/' where id = ${inside.id}`.execute(world.db);
    const failures: [TestWebhook, object][] = [
      [silent, { error_type: 'timeout', message: 'The endpoint did not respond within 10 seconds.' }],
      [cut, { error_type: 'connection_reset', message: 'The endpoint closed the connection before responding.' }],
      [
        await createWebhook({ target_url: `https://hook.outside.test:${await freePort()}/` }),
        { error_type: 'connection_refused', message: 'The endpoint refused the connection.' },
      ],
      [
        await createWebhook({ target_url: `https://hook.outside.test:${untrusted.port}/` }),
        {
          error_type: 'tls_error',
          message: "A TLS connection could not be established. Check the endpoint's certificate.",
        },
      ],
      [
        await createWebhook({ target_url: `https://hook.outside.test:${babbler.port}/` }),
        { error_type: 'protocol_error', message: 'The endpoint did not send a valid HTTP response.' },
      ],
      [
        await createWebhook({ target_url: url('/', 'gone') }),
        { error_type: 'dns_error', message: "The endpoint's host name could not be resolved." },
      ],
      [
        await createWebhook({ target_url: url('/', 'broken') }),
        { error_type: 'dns_error', message: "The endpoint's host name could not be resolved." },
      ],
      [inside, { error_type: 'address_not_allowed', message: 'The endpoint does not resolve to a public address.' }],
      [moved, { status_code: 302, response_body: 'over there', message: 'The endpoint responded with status 302.' }],
      [
        broken,
        { status_code: 500, response_body: 'x'.repeat(256), message: 'The endpoint responded with status 500.' },
      ],
      [gone, { status_code: 410, response_body: '', message: 'The endpoint responded with status 410.' }],
    ];
    for (const [webhook] of failures) if (webhook !== silent) await webhook.publishEvents();
    for (const [webhook, said] of failures) {
      await expect.poll(async () => (await webhook.get()).last_error).not.toBeNull();
      const { last_error, last_trigger_time, consecutive_failures } = await webhook.get();
      const none = { status_code: null, response_body: null, error_type: null };
      expect(last_error).toEqual({ ...none, attempted_at: last_trigger_time, ...said });
      expect(consecutive_failures).toBe(1);
      const [delivery] = await webhook.listDeliveries();
      expect(delivery).toMatchObject({ last_status_code: last_error.status_code, delivered_at: null });
    }
    expect(endpoint.received.filter(({ path }) => path === '/followed')).toEqual([]);
    expect(untrusted.received).toEqual([]);
    await Promise.all([untrusted.close(), babbler.close(), unknown.close()]);
  });

  it('is cleared by a success; last_trigger_time is that of the last attempt either way', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500 }));
    await webhook.publishEvents();
    await expect.poll(async () => (await webhook.get()).last_error).not.toBeNull();
    const { last_trigger_time } = await webhook.get();
    webhook.respondWith(() => ({}));
    await webhook.makeDueNow();
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2, last_status_code: 200 }]);
    const healed = await webhook.get();
    expect(healed).toMatchObject({ last_error: null, consecutive_failures: 0 });
    expect(healed.last_trigger_time > last_trigger_time).toBe(true);
  });
});
