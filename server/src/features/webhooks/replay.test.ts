// Tests redelivering a single delivery, and replaying many deliveries in order (docs/api/webhooks.md#replay).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWebhookScene, type TestWebhook } from '../../../test/support/webhook-receiver.ts';
import { newId } from '../../kit/ids.ts';

const { world, createWebhook, withClaimsPaused } = await startWebhookScene();
await world.startWorker();
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);
const attemptsOf = async (webhook: TestWebhook, id: string) =>
  (await webhook.call('GET', `/deliveries/${id}`)).body.attempts;
const failing = () => ({ status: 503, headers: { 'retry-after': '3600' } });

/** Creates a webhook with `count` deliveries. `others` maps sequence numbers to a different status. */
async function createWithDeliveries(
  count: number,
  others: Record<number, 'failed' | 'missed' | 'expired' | 'pending'> = {},
) {
  const webhook = await createWebhook();
  await webhook.publishEvents(count);
  await webhook.waitForDeliveries(Array(count).fill({ status: 'delivered' }));
  for (const [sequence, status] of Object.entries(others))
    await sql`update webhook_deliveries set status = ${status}, delivered_at = null, scheduled_attempts = 8
      where webhook_id = ${webhook.id} and sequence = ${sequence}`.execute(world.db);
  return webhook;
}

describe('redeliverAgentDelivery', () => {
  const again = (webhook: TestWebhook, id: string, headers = {}) =>
    webhook.call('POST', `/deliveries/${id}/redeliver`, { headers });

  it('attempts a delivered one again with the same id, sequence and body, and records the kind manual', async () => {
    const webhook = await createWithDeliveries(1);
    const [{ id }] = await webhook.listDeliveries();
    expect((await again(webhook, id)).body).toEqual({ delivery_id: id, queued: true });
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
    const [first, second] = webhook.received();
    expect(second?.body).toBe(first?.body);
    for (const name of ['x-service-delivery', 'x-service-sequence', 'webhook-id'])
      expect(second?.headers[name]).toBe(first?.headers[name]);
    expect(second?.headers['x-service-attempt']).toBe('2');
    expect(await attemptsOf(webhook, id)).toMatchObject([{ kind: 'scheduled' }, { kind: 'manual', number: 2 }]);
    const { rows } = await sql<{ after: object }>`select entry->'after' as after from
      (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->>'type' = 'webhook.redelivered' and entry->'target'->>'id' = ${webhook.id}`.execute(world.db);
    expect(rows).toEqual([{ after: { delivery_id: id, sequence: 1 } }]);
  });

  it('leaves a delivered one delivered if it fails, and sets last_error on the webhook', async () => {
    const webhook = await createWithDeliveries(1);
    const [{ id, delivered_at }] = await webhook.listDeliveries();
    webhook.respondWith(() => ({ status: 500, body: 'not now' }));
    await again(webhook, id);
    await webhook.waitForDeliveries([
      { status: 'delivered', attempts_made: 2, delivered_at, last_status_code: 500, next_attempt_at: null },
    ]);
    expect(await webhook.get()).toMatchObject({ last_error: { response_body: 'not now' }, consecutive_failures: 1 });
  });

  it('leaves the schedule of a pending delivery as it is', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(failing);
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending', attempts_made: 1 }]);
    const [{ id, next_attempt_at }] = await webhook.listDeliveries();
    await again(webhook, id);
    await webhook.waitForDeliveries([{ status: 'pending', attempts_made: 2 }]);
    const [after] = await webhook.listDeliveries();
    expect(Math.abs(Date.parse(after.next_attempt_at) - Date.parse(next_attempt_at))).toBeLessThan(10_000);
    const { rows } = await sql`select scheduled_attempts from webhook_deliveries where id = ${id}`.execute(world.db);
    expect(rows).toEqual([{ scheduled_attempts: 1 }]);
    expect(await webhook.get()).toMatchObject({ consecutive_failures: 1 });
  });

  it.each(['failed', 'missed', 'expired'] as const)(
    'sends one that is %s; it is failed if the attempt fails',
    async (status) => {
      const webhook = await createWithDeliveries(1, { 1: status });
      const [{ id }] = await webhook.listDeliveries();
      webhook.respondWith(failing);
      await again(webhook, id);
      await webhook.waitForDeliveries([{ status: 'failed', attempts_made: 2, next_attempt_at: null }]);
      webhook.respondWith(() => ({}));
      await again(webhook, id);
      await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 3 }]);
    },
  );

  it('queues nothing more for a repeat with the same idempotency key', async () => {
    const webhook = await createWithDeliveries(1);
    const [{ id }] = await webhook.listDeliveries();
    const key = { 'idempotency-key': newId() };
    await again(webhook, id, key);
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
    expect((await again(webhook, id, key)).headers['idempotent-replayed']).toBe('true');
    await webhook.makeDueNow();
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
  });

  it('is refused while an attempt is running', async () => {
    const webhook = await createWebhook();
    const until = Promise.withResolvers<void>();
    webhook.respondWith(() => ({ until: until.promise }));
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'delivering' }]);
    const [{ id }] = await webhook.listDeliveries();
    expect(await again(webhook, id)).toMatchObject({ status: 409, body: { code: 'delivery_in_progress' } });
    until.resolve();
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 1 }]);
  });

  it('is refused while the webhook is off, and for a delivery of another webhook', async () => {
    const [webhook, other] = [await createWithDeliveries(1), await createWithDeliveries(1)];
    const [{ id }] = await webhook.listDeliveries();
    await webhook.patch({ enabled: false });
    expect(await again(webhook, id)).toMatchObject({ status: 409, body: { code: 'webhook_off' } });
    expect(await again(other, id)).toMatchObject({ status: 404, body: { code: 'delivery_not_found' } });
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 1 }]);
  });
});

describe('replayAgentWebhook', () => {
  const replay = (webhook: TestWebhook, body: object = {}) => webhook.call('POST', '/replay', { body });
  /** The queued deliveries in sending order, and the gaps between them in milliseconds. */
  const queued = async (webhook: TestWebhook) =>
    (
      await sql<{ sequence: number; gap: number | null }>`select sequence,
        round(extract(epoch from due_at - lag(due_at) over (order by due_at)) * 1000)::int as gap
        from webhook_deliveries where webhook_id = ${webhook.id} and due_at is not null order by due_at`.execute(
        world.db,
      )
    ).rows;

  it('sends failed and missed deliveries in order, ten per second, each with a new schedule', async () => {
    const webhook = await createWithDeliveries(9, { 2: 'failed', 3: 'missed', 5: 'expired', 6: 'failed', 9: 'missed' });
    await withClaimsPaused(async () => {
      expect((await replay(webhook)).body).toEqual({ queued: 4, first_seq: 2, last_seq: 9 });
      expect(await queued(webhook)).toEqual([
        { sequence: 2, gap: null },
        { sequence: 3, gap: 100 },
        { sequence: 6, gap: 100 },
        { sequence: 9, gap: 100 },
      ]);
    });
    await expect.poll(() => webhook.received().length).toBe(13);
    await webhook.waitForDeliveries(
      numbers(9).map((n) => ({ sequence: n, status: n === 5 ? 'expired' : 'delivered' })),
    );
    const [, second] = await webhook.listDeliveries();
    expect(await attemptsOf(webhook, second.id)).toMatchObject([{ kind: 'scheduled' }, { kind: 'replay' }]);
  });

  it('queues behind an earlier replay, so both together stay within ten per second', async () => {
    const webhook = await createWithDeliveries(6, { 1: 'failed', 2: 'failed', 3: 'missed', 4: 'missed' });
    await withClaimsPaused(async () => {
      await replay(webhook, { statuses: ['missed'] });
      await replay(webhook, { statuses: ['failed'] });
      expect((await queued(webhook)).map(({ sequence }) => sequence)).toEqual([3, 4, 1, 2]);
      for (const { gap } of (await queued(webhook)).slice(1)) expect(gap).toBeGreaterThanOrEqual(100);
    });
    await webhook.waitForDeliveries(Array(6).fill({ status: 'delivered' }));
  });

  it.each([
    ['statuses', { statuses: ['delivered', 'expired'] }, [1, 4, 5]],
    ['after_seq', { after_seq: 3 }, [6]],
    ['to_seq', { to_seq: 3 }, [2, 3]],
    ['both', { after_seq: 2, to_seq: 5 }, [3]],
    ['limit', { limit: 2 }, [2, 3]],
    ['from', { from: '2100-01-01T00:00:00Z' }, []],
    ['to', { to: '2020-01-01T00:00:00Z' }, []],
    ['from and to', { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }, [2, 3, 6]],
  ])('keeps to %s', async (_bound, body, expected) => {
    const webhook = await createWithDeliveries(6, { 2: 'failed', 3: 'missed', 5: 'expired', 6: 'failed' });
    await withClaimsPaused(async () => {
      const [first_seq = null, last_seq = null] = [expected[0], expected.at(-1)];
      expect((await replay(webhook, body)).body).toEqual({ queued: expected.length, first_seq, last_seq });
      expect((await queued(webhook)).map(({ sequence }) => sequence)).toEqual(expected);
    });
  });

  it('starts a new schedule; a delivered one stays delivered if it fails', async () => {
    const webhook = await createWithDeliveries(2, { 1: 'failed' });
    webhook.respondWith(failing);
    await replay(webhook, { statuses: ['failed', 'delivered'] });
    await webhook.waitForDeliveries(Array(2).fill({ status: 'pending', attempts_made: 2 }));
    for (const n of numbers(7)) {
      await webhook.makeDueNow();
      await webhook.waitForDeliveries(Array(2).fill({ attempts_made: 2 + n }));
    }
    await webhook.waitForDeliveries([{ status: 'failed' }, { status: 'delivered' }]);
  });

  it('sends pending deliveries now, ten per second, and continues counting their attempts', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(failing);
    await webhook.publishEvents(3);
    await webhook.waitForDeliveries(Array(3).fill({ status: 'pending', attempts_made: 1 }));
    await withClaimsPaused(async () => {
      expect((await replay(webhook, { statuses: ['pending'] })).body).toEqual({ queued: 3, first_seq: 1, last_seq: 3 });
      const waiting = await queued(webhook);
      expect(waiting.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
      for (const { gap } of waiting.slice(1)) expect(gap).toBeGreaterThanOrEqual(100);
    });
    await webhook.waitForDeliveries(Array(3).fill({ status: 'pending', attempts_made: 2 }));
    const { rows } = await sql`select distinct scheduled_attempts from webhook_deliveries
      where webhook_id = ${webhook.id}`.execute(world.db);
    expect(rows).toEqual([{ scheduled_attempts: 2 }]);
    webhook.respondWith(() => ({ status: 200 }));
    await replay(webhook, { statuses: ['pending'] });
    await webhook.waitForDeliveries(Array(3).fill({ status: 'delivered', attempts_made: 3 }));
  });

  it('leaves a pending delivery alone that is due earlier, or that a person sends again', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(failing);
    await webhook.publishEvents(2);
    await webhook.waitForDeliveries(Array(2).fill({ status: 'pending', attempts_made: 1 }));
    await withClaimsPaused(async () => {
      const [first, second] = await webhook.listDeliveries();
      await webhook.call('POST', `/deliveries/${first.id}/redeliver`);
      await sql`update webhook_deliveries set due_at = now() - interval '1 minute' where id = ${second.id}`.execute(
        world.db,
      );
      const before = await queued(webhook);
      expect((await replay(webhook, { statuses: ['pending'] })).body.queued).toBe(1);
      expect(await queued(webhook)).toEqual(before);
    });
  });

  it('is refused while the webhook is off, and queues nothing', async () => {
    const webhook = await createWithDeliveries(1, { 1: 'failed' });
    await webhook.patch({ enabled: false });
    expect(await replay(webhook)).toMatchObject({ status: 409, body: { code: 'webhook_off' } });
    expect(await queued(webhook)).toEqual([]);
  });

  it.each([
    ['a limit of 0', { limit: 0 }, ['body', 'limit'], 'greater_than_equal'],
    ['a limit beyond ten thousand', { limit: 10_001 }, ['body', 'limit'], 'less_than_equal'],
    ['what is held', { statuses: ['held'] }, ['body', 'statuses', 0], 'enum'],
    ['no status', { statuses: [] }, ['body', 'statuses'], 'too_short'],
  ])('refuses %s', async (_what, body, loc, type) => {
    const webhook = await createWebhook();
    expect(await replay(webhook, body)).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });

  it('sends the same bodies again for a webhook of an app', async () => {
    const webhook = await createWebhook({}, { scope: 'app' });
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
    const [{ id }] = await webhook.listDeliveries();
    expect((await replay(webhook, { statuses: ['delivered'] })).body.queued).toBe(1);
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
    expect((await webhook.call('POST', `/deliveries/${id}/redeliver`)).body.queued).toBe(true);
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 3 }]);
    expect(new Set(webhook.received().map(({ body }) => body)).size).toBe(1);
    await webhook.patch({ enabled: false });
    expect(await replay(webhook)).toMatchObject({ status: 409, body: { code: 'webhook_off' } });
    const again = await webhook.call('POST', `/deliveries/${id}/redeliver`);
    expect(again).toMatchObject({ status: 409, body: { code: 'webhook_off' } });
  });
});

it.each(['agent', 'app'] as const)('a cursor of another log of an %s is refused', async (scope) => {
  const [webhook, other] = [await createWebhook({}, { scope }), await createWebhook({}, { scope })];
  await other.publishEvents(2);
  await expect.poll(other.listDeliveries).toHaveLength(2);
  const { next_cursor } = (await other.call('GET', '/deliveries?limit=1')).body;
  const got = await webhook.call('GET', `/deliveries?limit=1&cursor=${next_cursor}`);
  expect(got).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
});

it('deliveries are removed after 30 days; their bodies stay for a week longer', async () => {
  const webhook = await createWithDeliveries(1);
  const forget = world.app.background.jobs.find(({ name }) => name === 'remove old deliveries');
  const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000);
  const [{ event_id }] = await webhook.listDeliveries();
  await forget?.run(world.app.database.db, inDays(29));
  expect(await webhook.listDeliveries()).toHaveLength(1);
  await forget?.run(world.app.database.db, inDays(31));
  expect(await webhook.listDeliveries()).toEqual([]);
  const { rows } = await sql`select 1 from webhook_bodies where event_id = ${event_id}`.execute(world.db);
  expect(rows).toHaveLength(1);
  const { rows: kept } = await sql`select days, kept_days from partitioned_tables
    where name = 'webhook_bodies'`.execute(world.db);
  expect(kept).toEqual([{ days: 1, kept_days: 37 }]);
});
