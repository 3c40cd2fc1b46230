// Endpoints that fail: what is said of it, how often they are tried again, who is warned, and what is kept while they are
// off (docs/contract.md §4.5).
import { createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../../sandbox/src/certificates.ts';
import { startHookSandbox } from '../../../../sandbox/src/hooks.ts';
import { startReceiver } from '../../../../sandbox/src/receiver.ts';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { type Hook, outside, startHookScene } from '../../../test/support/webhook-receiver.ts';
import { transaction } from '../../kit/db/database.ts';

const mail = await startMailSandbox();
const { world, endpoint, url, authority, workspace, hook, whileNoneBegins } = await startHookScene({
  environment: { SMTP_URL: mail.smtpUrl },
});
await world.startWorker();
afterAll(() => mail.close());
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

/** A port where nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, outside);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function entriesOf(made: Hook) {
  const { rows } = await sql<{ entry: { type: string; after: object } }>`
    select entry from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->'target'->>'id' = ${made.id} and entry->>'type' <> 'webhook.created'
    order by (entry->'after'->>'consecutive_failures')::int`.execute(world.db);
  return rows.map((row) => row.entry);
}

describe('last_error', () => {
  it('says of each failure what it was, always with five keys', async () => {
    const unknown = await makeAuthority();
    const untrusted = await startHookSandbox({
      address: outside,
      certificate: await unknown.issue('DNS:*.outside.test'),
    });
    const babbler = await startReceiver({
      address: outside,
      tls: await authority.issue('DNS:*.outside.test'),
      behave: (socket) => void socket.end('nonsense\r\n\r\n'),
    });
    const silent = await hook();
    silent.behave(() => 'silence');
    const cut = await hook();
    cut.behave(() => 'cut');
    const moved = await hook();
    moved.behave(() => ({ status: 302, headers: { location: url('/followed') }, body: 'over there' }));
    const broken = await hook();
    broken.behave(() => ({ status: 500, body: 'x\0'.repeat(600) }));
    const gone = await hook();
    gone.behave(() => ({ status: 410 }));
    const inside = await hook();
    await sql`update webhooks set target_url = 'https://inner.outside.test/' where id = ${inside.id}`.execute(world.db);
    const failures: [Hook, object][] = [
      [silent, { error_type: 'timeout', message: 'The endpoint did not answer within 10 seconds.' }],
      [cut, { error_type: 'connection_reset', message: 'The connection to the endpoint was cut.' }],
      [
        await hook({ target_url: `https://hook.outside.test:${await freePort()}/` }),
        { error_type: 'connection_refused', message: 'The endpoint refused the connection.' },
      ],
      [
        await hook({ target_url: `https://hook.outside.test:${untrusted.port}/` }),
        { error_type: 'tls_error', message: 'No secure connection to the endpoint could be made.' },
      ],
      [
        await hook({ target_url: `https://hook.outside.test:${babbler.port}/` }),
        { error_type: 'protocol_error', message: 'The endpoint did not answer in HTTP.' },
      ],
      [
        await hook({ target_url: url('/', 'gone') }),
        { error_type: 'dns_error', message: 'The name of the endpoint could not be resolved.' },
      ],
      [
        await hook({ target_url: url('/', 'broken') }),
        { error_type: 'dns_error', message: 'The name of the endpoint could not be resolved.' },
      ],
      [inside, { error_type: 'address_not_allowed', message: 'The endpoint is not at a public address.' }],
      [moved, { status_code: 302, response_body: 'over there', message: 'The endpoint answered 302.' }],
      [broken, { status_code: 500, response_body: 'x'.repeat(256), message: 'The endpoint answered 500.' }],
      [gone, { status_code: 410, response_body: '', message: 'The endpoint answered 410.' }],
    ];
    for (const [made] of failures) await made.tell();
    for (const [made, said] of failures) {
      await expect.poll(async () => (await made.get()).last_error, { timeout: 20_000 }).not.toBeNull();
      const { last_error, last_trigger_time, consecutive_failures } = await made.get();
      const none = { status_code: null, response_body: null, error_type: null };
      expect(last_error).toEqual({ ...none, attempted_at: last_trigger_time, ...said });
      expect(consecutive_failures).toBe(1);
      const [delivery] = await made.log();
      expect(delivery).toMatchObject({ last_status_code: last_error.status_code, delivered_at: null });
    }
    expect(endpoint.heard.filter(({ path }) => path === '/followed')).toEqual([]);
    expect(untrusted.heard).toEqual([]);
    await Promise.all([untrusted.close(), babbler.close(), unknown.close()]);
  });

  it('is cleared by a success, and last_trigger_time is of the last attempt either way', async () => {
    const made = await hook();
    made.behave(() => ({ status: 500 }));
    await made.tell();
    await expect.poll(async () => (await made.get()).last_error).not.toBeNull();
    const { last_trigger_time } = await made.get();
    made.behave(() => ({}));
    await made.hurry();
    await made.logs([{ status: 'delivered', attempts_made: 2, last_status_code: 200 }]);
    const healed = await made.get();
    expect(healed).toMatchObject({ last_error: null, consecutive_failures: 0 });
    expect(healed.last_trigger_time > last_trigger_time).toBe(true);
  });
});

describe('attempts', () => {
  it('are eight, of one delivery with one body; then it has failed, and counts once', async () => {
    const made = await hook();
    // The first wait, of 5 s, is made longer, so that this test is never too slow for it.
    made.behave(() => ({ status: 503, body: 'no', headers: { 'retry-after': '60' } }));
    await made.tell();
    const waits = [60, 300, 1800, 7200, 18_000, 36_000, 36_000];
    for (const [index, seconds] of waits.entries()) {
      await made.logs([{ status: 'pending', attempts_made: index + 1 }]);
      const [{ next_attempt_at }] = await made.log();
      const waitsMs = Date.parse(next_attempt_at) - Date.parse((await made.get()).last_trigger_time);
      expect(waitsMs).toBeGreaterThan(seconds * 900);
      expect(waitsMs).toBeLessThan(seconds * 1100 + 20_000); // and what the attempt took
      await made.hurry();
    }
    await made.logs([{ status: 'failed', attempts_made: 8, next_attempt_at: null }]);
    const [delivery] = await made.log();
    const heard = made.heard();
    expect(heard.map(({ headers }) => headers['x-service-attempt'])).toEqual(numbers(8).map(String));
    expect(new Set(heard.map(({ body }) => body)).size).toBe(1);
    expect(new Set(heard.map(({ headers }) => headers['x-service-delivery']))).toEqual(new Set([delivery.id]));
    expect(new Set(heard.map(({ headers }) => headers['x-service-sequence']))).toEqual(new Set(['1']));
    const { attempts } = (await made.call('GET', `/deliveries/${delivery.id}`)).body;
    expect(attempts).toHaveLength(8);
    expect(attempts[7]).toEqual({
      number: 8,
      attempted_at: (await made.get()).last_trigger_time,
      duration_ms: expect.any(Number),
      status_code: 503,
      error_type: null,
      response_body: 'no',
      kind: 'scheduled',
    });
    expect(await made.get()).toMatchObject({ consecutive_failures: 1, disabled_at: null });
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
  ])('asked to wait with %s', async (_rule, status, header, seconds) => {
    const made = await hook();
    made.behave(() => ({ status, headers: { 'retry-after': header() } }));
    await made.tell();
    /** Between the first attempt and the next: the one to come, or the one already made. */
    const waitsMs = async () => {
      const [{ id }] = await made.log();
      const { attempts, next_attempt_at } = (await made.call('GET', `/deliveries/${id}`)).body;
      return Date.parse(attempts[1]?.attempted_at ?? next_attempt_at) - Date.parse(attempts[0]?.attempted_at);
    };
    await expect.poll(async () => (await made.log())[0]?.attempts_made).toBeGreaterThan(0);
    await expect.poll(waitsMs).toBeGreaterThan(seconds * 900 - 1_000);
    expect(await waitsMs()).toBeLessThan(seconds * 1100 + 20_000);
  });
});

describe('failing on and on', () => {
  it('warns at 10, 15 and 18, is turned off at 20, keeps what it lacks, and is told it once it is on', async () => {
    const keeper = await world.member(workspace, 'editor', 'keeper@example.com');
    await world.member(workspace, 'admin', 'admin@example.com');
    await world.member(workspace, 'editor', 'bystander@example.com');
    const made = await hook({}, { on: await world.appOf(keeper, workspace, { app_type: 'user_agent' }) });
    made.behave(() => ({ status: 500 }));
    await made.tell(20);

    // Off: what waited is held.
    await expect.poll(async () => (await made.get()).disabled_at).not.toBeNull();
    expect(await made.get()).toMatchObject({ consecutive_failures: 20 });
    await made.logs(numbers(20).map((sequence) => ({ sequence, status: 'held', next_attempt_at: null })));
    expect(await entriesOf(made)).toMatchObject([
      { type: 'webhook.failing', after: { consecutive_failures: 10 } },
      { type: 'webhook.failing', after: { consecutive_failures: 15 } },
      { type: 'webhook.failing', after: { consecutive_failures: 18 } },
      { type: 'webhook.turned_off', after: { consecutive_failures: 20 } },
    ]);

    // Its owner, and the workspace's owner and admins, know.
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
    const { pathname } = new URL((await made.get()).target_url);
    for (const { text } of mail.inbox) expect(text).not.toContain(pathname);

    // What happens now is numbered and kept, and not sent.
    const before = made.heard().length;
    await made.tell(2);
    await expect
      .poll(async () => (await made.log()).slice(20))
      .toMatchObject([
        { sequence: 21, status: 'missed', attempts_made: 0, next_attempt_at: null },
        { sequence: 22, status: 'missed' },
      ]);
    const missed = (await made.log())[20];
    expect((await made.call('GET', `/deliveries/${missed.id}`)).body.payload.data.message.content).toBe('hello');
    await made.hurry();
    expect(made.heard()).toHaveLength(before);

    // On again: what was held goes on in its order, but for what is too old.
    made.behave(() => ({}));
    await sql`update webhook_deliveries set created_date = now() - interval '8 days'
      where webhook_id = ${made.id} and sequence in (1, 7)`.execute(world.db);
    await whileNoneBegins(async () => {
      const on = await made.patch({ enabled: true });
      expect(on).toMatchObject({
        body: { disabled_at: null, consecutive_failures: 0 },
        headers: { 'x-webhook-held': '18', 'x-webhook-missed': '2' },
      });
      const { rows } = await sql<{ sequence: number }>`select sequence from webhook_deliveries
        where webhook_id = ${made.id} and due_at is not null order by due_at`.execute(world.db);
      expect(rows.map((row) => row.sequence)).toEqual(numbers(20).filter((n) => n !== 1 && n !== 7));
    });
    const statusOf = (n: number) => (n === 1 || n === 7 ? 'expired' : n > 20 ? 'missed' : 'delivered');
    await made.logs(numbers(22).map((sequence) => ({ sequence, status: statusOf(sequence) })));
    await made.tell();
    await expect.poll(async () => (await made.log()).slice(22)).toMatchObject([{ sequence: 23, status: 'delivered' }]);
    expect(await made.get()).toMatchObject({ consecutive_failures: 0, last_error: null });
  });

  it('one delivery that fails again and again does not turn it off', async () => {
    const made = await hook();
    await sql`update webhooks set consecutive_failures = 18 where id = ${made.id}`.execute(world.db);
    made.behave(() => ({ status: 503, headers: { 'retry-after': '600' } }));
    await made.tell();
    for (const attempts_made of numbers(3)) {
      await made.logs([{ attempts_made }]);
      await made.hurry();
    }
    expect(await made.get()).toMatchObject({ consecutive_failures: 19, disabled_at: null });
  });

  it('a redelivery that waits while it is turned off is held; one that had arrived is delivered still when it expires', async () => {
    const made = await hook();
    await made.tell();
    await made.logs([{ status: 'delivered' }]);
    const [{ id }] = await made.log();
    await whileNoneBegins(async () => {
      await made.call('POST', `/deliveries/${id}/redeliver`);
      await made.patch({ enabled: false });
    });
    await made.logs([{ status: 'held' }]);
    await sql`update webhook_deliveries set created_date = now() - interval '8 days' where id = ${id}`.execute(
      world.db,
    );
    expect((await made.patch({ enabled: true })).headers['x-webhook-held']).toBe('0');
    await made.logs([{ status: 'delivered', attempts_made: 1 }]);
  });
});

it('an attempt under way while its webhook is turned off is held when it fails, and kept when it succeeds', async () => {
  for (const [status, expected] of [
    [500, 'held'],
    [200, 'delivered'],
  ] as const) {
    const made = await hook();
    const until = Promise.withResolvers<void>();
    made.behave(() => ({ status, until: until.promise }));
    await made.tell();
    await expect.poll(() => made.heard().length).toBe(1);
    await made.patch({ enabled: false });
    await made.logs([{ status: 'delivering', next_attempt_at: null }]);
    until.resolve();
    await made.logs([{ status: expected, attempts_made: 1, next_attempt_at: null }]);
  }
});

it('what was queued for a webhook that is off by then is held, not sent', async () => {
  const made = await hook();
  await whileNoneBegins(async () => {
    await made.tell();
    await made.logs([{ status: 'pending' }]);
    // As a fan-out leaves it that had read the webhook just before it was turned off.
    await sql`update webhooks set disabled_at = now() where id = ${made.id}`.execute(world.db);
  });
  await made.logs([{ status: 'held', attempts_made: 0, next_attempt_at: null }]);
  expect((await made.patch({ enabled: true })).headers['x-webhook-held']).toBe('1');
  await made.logs([{ status: 'delivered', attempts_made: 1 }]);
});

it('what a worker was about to hold goes on when its webhook is turned on just then', async () => {
  const made = await hook();
  await made.patch({ enabled: false });
  await made.tell();
  await made.logs([{ status: 'missed' }]);
  const waiting = async () =>
    (
      await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%for no key update%'`.execute(world.db)
    ).rows.length;
  await transaction(world.db, async (db) => {
    await sql`update webhooks set disabled_at = null where id = ${made.id}`.execute(db);
    await sql`update webhook_deliveries set status = 'pending', due_at = now() where webhook_id = ${made.id}`.execute(
      world.db,
    );
    world.app.wake.notify('webhook_deliveries');
    // The worker has read that it is off, and wants to hold what it claimed.
    await expect.poll(waiting).toBe(1);
  });
  await made.logs([{ status: 'delivered', attempts_made: 1 }]);
});

it('what goes wrong on our side is tried again, says so where operators look, and is no failure of the endpoint', async () => {
  const made = await hook();
  await whileNoneBegins(async () => {
    await made.tell();
    await made.logs([{ status: 'pending' }]);
    await sql`delete from webhook_bodies where event_id in
      (select event_id from webhook_deliveries where webhook_id = ${made.id})`.execute(world.db);
  });
  const row = async () =>
    (
      await sql<{ failures: number; last_error: string }>`select failures, last_error, due_at is null as over
      from webhook_deliveries where webhook_id = ${made.id}`.execute(world.db)
    ).rows[0];
  await expect.poll(row).toMatchObject({ last_error: 'what was to be told is no longer kept', over: false });
  expect(await made.get()).toMatchObject({ consecutive_failures: 0, last_error: null, last_trigger_time: null });
  await sql`update webhook_deliveries set failures = 6 where webhook_id = ${made.id}`.execute(world.db);
  await made.hurry();
  await made.logs([{ status: 'failed', attempts_made: 0 }]);
  expect(made.heard()).toEqual([]);
});
