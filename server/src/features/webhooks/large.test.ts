// Tests that, with large logs, no operation changes or reads the whole log in one statement.
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startWebhookScene } from '../../../test/support/webhook-receiver.ts';

const { world, createWebhook, url, withClaimsPaused } = await startWebhookScene();
await world.startWorker();

/** Inserts copies of the first delivery directly into the table. */
const insertDeliveries = async (id: string, count: number, status: string, dueInHours: number | null = null) => {
  await sql`with first as (
      select workspace_id, webhook_id, event_id, event_type, concurrency_key from webhook_deliveries where webhook_id = ${id} limit 1),
    made as (
      insert into webhook_deliveries (id, workspace_id, webhook_id, event_id, event_type, concurrency_key, sequence, status, created_date, due_at)
      select gen_random_uuid(), workspace_id, webhook_id, event_id, event_type, concurrency_key, 1 + n, ${status}, now(),
        now() + ${dueInHours}::float * interval '1 hour'
      from first, generate_series(1, ${sql.lit(count)}) n),
    counted as (
      update webhook_bodies b set deliveries = b.deliveries + ${sql.lit(count)} from first where b.event_id = first.event_id)
    update webhook_sequences set last_sequence = 1 + ${sql.lit(count)} where webhook_id = ${id}`.execute(world.db);
};
const statuses = async (id: string) => {
  const { rows } = await sql<{ status: string; count: number }>`select status, count(*)::int as count
    from webhook_deliveries where webhook_id = ${id} group by 1 order by 1`.execute(world.db);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};
const delivered = (webhook: { waitForDeliveries(expected: object[]): Promise<void> }) =>
  webhook.waitForDeliveries([{ status: 'delivered' }]);

it('queued deliveries are held and resumed in batches, until none is left', async () => {
  const webhook = await createWebhook();
  await webhook.publishEvents();
  await delivered(webhook);
  await insertDeliveries(webhook.id, 12_000, 'pending', 1);
  await webhook.patch({ enabled: false });
  await expect.poll(() => statuses(webhook.id)).toEqual({ delivered: 1, held: 12_000 });
  await withClaimsPaused(async () => {
    const { headers } = await webhook.patch({ enabled: true });
    expect(headers).toMatchObject({ 'x-webhook-held': '12000', 'x-webhook-missed': '0' });
    await expect.poll(() => statuses(webhook.id)).toEqual({ delivered: 1, pending: 12_000 });
    const { rows } = await sql<{ in_order: boolean }>`select bool_and(due_at > before) as in_order from (
      select due_at, lag(due_at) over (order by sequence) as before from webhook_deliveries
      where webhook_id = ${webhook.id} and due_at is not null) x where before is not null`.execute(world.db);
    expect(rows[0]?.in_order).toBe(true);
    await webhook.call('DELETE');
  });
  await expect.poll(() => statuses(webhook.id)).toEqual({});
});

it('the whole log of a deleted webhook is removed, each body with the last of its deliveries', async () => {
  const first = await createWebhook();
  const second = await createWebhook({}, { on: first.app });
  await first.publishEvents();
  await Promise.all([delivered(first), delivered(second)]);
  const bodies = async () =>
    (await sql`select 1 from webhook_bodies b where position(${first.app.id} in body) > 0`.execute(world.db)).rows
      .length;
  await insertDeliveries(first.id, 6_000, 'missed');
  await first.call('DELETE');
  await expect.poll(() => statuses(first.id)).toEqual({});
  expect(await bodies()).toBe(1);
  await second.call('DELETE');
  await expect.poll(bodies).toBe(0);
});

it('a redelivery is sent before a backlog', async () => {
  const webhook = await createWebhook();
  await webhook.publishEvents();
  await delivered(webhook);
  await insertDeliveries(webhook.id, 300, 'pending', 0);
  await withClaimsPaused(async () => {
    const [first] = await webhook.listDeliveries();
    await webhook.call('POST', `/deliveries/${first.id}/redeliver`);
    const { rows } = await sql<{ sequence: number }>`select sequence from webhook_deliveries
      where webhook_id = ${webhook.id} and due_at is not null and claimed_slot is null order by due_at limit 1`.execute(
      world.db,
    );
    expect(rows).toEqual([{ sequence: 1 }]);
  });
});

it('waiting deliveries go to a new URL and get its concurrency key', async () => {
  const webhook = await createWebhook();
  await webhook.publishEvents();
  await delivered(webhook);
  await insertDeliveries(webhook.id, 20, 'pending', 1);
  await webhook.patch({ target_url: url(`/${webhook.id}`, 'other') });
  await webhook.makeDueNow();
  await expect.poll(() => statuses(webhook.id)).toEqual({ delivered: 21 });
  const { rows } = await sql<{ concurrency_key: string }>`select distinct concurrency_key from webhook_deliveries
    where webhook_id = ${webhook.id} and sequence > 1`.execute(world.db);
  expect(rows).toEqual([{ concurrency_key: `${webhook.app.workspace_id} other.outside.test` }]);
});

it('the log can be filtered by time, and an unknown event type matches nothing', async () => {
  const webhook = await createWebhook();
  await webhook.publishEvents();
  await delivered(webhook);
  await insertDeliveries(webhook.id, 50, 'missed');
  await sql`update webhook_deliveries set created_date = '2026-01-01'::timestamptz + sequence * interval '1 minute'
    where webhook_id = ${webhook.id}`.execute(world.db);
  const seen = async (query: string) =>
    (await webhook.call('GET', `/deliveries?${query}`)).body.items.map((item: { sequence: number }) => item.sequence);
  expect(await seen('from=2026-01-01T00:10:00Z&to=2026-01-01T00:12:00Z')).toEqual([12, 11, 10]);
  expect(await seen('from=2027-01-01T00:00:00Z')).toEqual([]);
  expect(await seen('to=2025-01-01T00:00:00Z')).toEqual([]);
  expect(await seen('event_type=nope')).toEqual([]);
});

it('turning a webhook on resets the end of an earlier replay', async () => {
  const webhook = await createWebhook();
  await webhook.publishEvents();
  await delivered(webhook);
  await sql`update webhooks set replay_until = now() + interval '1 day' where id = ${webhook.id}`.execute(world.db);
  await webhook.patch({ enabled: false });
  await webhook.patch({ enabled: true });
  const { rows } = await sql`select 1 from webhooks where id = ${webhook.id} and replay_until is not null`.execute(
    world.db,
  );
  expect(rows).toEqual([]);
});

it('a previous secret is removed after its 24 hours', async () => {
  const webhook = await createWebhook();
  await webhook.patch({ signing: 'rotate' });
  const old = async () =>
    (await sql`select 1 from webhooks where id = ${webhook.id} and previous_secret is not null`.execute(world.db)).rows
      .length;
  expect(await old()).toBe(1);
  await sql`update webhooks set previous_secret_expires_at = now() - interval '1 second' where id = ${webhook.id}`.execute(
    world.db,
  );
  await world.app.background.jobs
    .find((job) => job.name === 'remove expired webhook secrets')
    ?.run(world.app.database.db, new Date());
  expect(await old()).toBe(0);
});
