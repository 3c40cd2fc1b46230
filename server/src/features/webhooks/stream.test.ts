// Tests following a webhook's deliveries (docs/api/webhooks.md#stream-deliveries).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { verify } from '../../../../docs/guides/receivers/verify.ts';
import { type EventStream, type StreamedEvent, stream } from '../../../test/support/client.ts';
import { startWebhookScene, type TestWebhook } from '../../../test/support/webhook-receiver.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const { world, workspace, token, createWebhook, withClaimsPaused } = await startWebhookScene();
await world.startWorker();
const beside = await startSecondApp(world, { streamLimits: { ofCredential: 100, accessEveryMs: 200 } });

const pull = { mode: 'pull', target_url: undefined } as const;
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

const follow = (webhook: TestWebhook, { after = '', id = '', as = token, url = beside.url } = {}) =>
  stream(url, `${webhook.path}/deliveries/stream${after && `?after_seq=${after}`}`, {
    as,
    headers: id === '' ? {} : { 'last-event-id': id },
  });
const listOf = ({ events }: EventStream, name: string): StreamedEvent[] => events.filter(({ event }) => event === name);
const listSequences = (followed: EventStream): number[] =>
  listOf(followed, 'delivery').map(({ data }) => data.delivery.sequence);
const acknowledge = (webhook: TestWebhook, up_to_sequence: number) =>
  webhook.call('POST', '/deliveries/ack', { body: { up_to_sequence } });

/** Verifies the signatures with the receiver of the guide. Undefined if they are valid. */
const verifyStreamed = ({ headers, body }: StreamedEvent['data'], secret: string) =>
  verify(secret, (name) => headers[name] ?? '', Buffer.from(body), Date.now());

async function createWithPending(count: number): Promise<TestWebhook> {
  const webhook = await createWebhook(pull);
  await webhook.publishEvents(count);
  await webhook.waitForDeliveries(Array(count).fill({ status: 'pending' }));
  return webhook;
}

/** Inserts `count` deliveries with bodies of this size. */
async function insertDeliveries(webhook: TestWebhook, count: number, bytes = 20): Promise<void> {
  const eventIds = Array.from({ length: count }, () => newId());
  await sql`with bodies as (
      insert into webhook_bodies (workspace_id, event_id, body, deliveries)
      select ${workspace}, id, '{"n":"' || repeat('x', ${bytes}) || '"}', 1 from unnest(${eventIds}::uuid[]) id
      returning event_id)
    insert into webhook_deliveries (id, workspace_id, webhook_id, event_id, event_type, sequence, status, attempts,
      created_date, concurrency_key)
    select gen_random_uuid(), ${workspace}, ${webhook.id}, event_id, 'message.created', row_number() over (), 'pending', '[]',
      now(), 'x' from bodies`.execute(world.db);
  await sql`update webhook_sequences set last_sequence = ${count} where webhook_id = ${webhook.id}`.execute(world.db);
}

describe('streamAgentDeliveries', () => {
  it('begins with what nobody has acknowledged, and sends what is added, signed as an attempt would be', async () => {
    const webhook = await createWithPending(2);
    await acknowledge(webhook, 1);
    const followed = await follow(webhook);
    expect((await followed.until('ready')).data).toEqual({ from_sequence: 2 });
    await expect.poll(() => listSequences(followed)).toEqual([2]);
    await webhook.publishEvents();
    await expect.poll(() => listSequences(followed)).toEqual([2, 3]);
    const log = await webhook.listDeliveries();
    for (const { id, data } of listOf(followed, 'delivery')) {
      const { delivery, headers, body } = data;
      expect(verifyStreamed(data, webhook.secret)).toBeUndefined();
      expect(JSON.parse(body).id).toBe(delivery.event_id);
      expect(delivery).toEqual(log[delivery.sequence - 1]);
      expect(id).toBe(String(delivery.sequence));
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'x-service-event': 'message.created',
        'x-service-delivery': delivery.id,
        'x-service-sequence': id,
        'x-service-attempt': '1',
      });
    }
    expect(listOf(followed, 'ready')[0]?.id).toBeUndefined();
    followed.close();
  });

  it('signs at the moment of sending, with the secret as it is then', async () => {
    const webhook = await createWebhook(pull);
    const followed = await follow(webhook);
    await followed.until('ready');
    const { secret } = (await webhook.patch({ signing: 'rotate' })).body;
    await webhook.publishEvents();
    const { data } = await followed.until('delivery');
    for (const each of [secret, webhook.secret]) expect(verifyStreamed(data, each)).toBeUndefined();
    expect(data.headers['webhook-signature'].split(' ')).toHaveLength(2);
    followed.close();
  });

  it('continues after any event in another process, and after a number, without losing or repeating one', async () => {
    const webhook = await createWithPending(12);
    for (const [index, options] of [{ id: '5' }, { after: '5' }, { after: '0', id: '11' }, { after: '12' }].entries()) {
      const followed = await follow(webhook, { ...options, url: index % 2 === 0 ? world.url : beside.url });
      const first = Number(options.id ?? options.after) + 1;
      expect((await followed.until('ready')).data).toEqual({ from_sequence: first });
      await expect.poll(() => listSequences(followed)).toEqual(numbers(12 - first + 1, first));
      followed.close();
    }
  });

  it('gives followers at different numbers everything after theirs, in order, however many there are', async () => {
    const webhook = await createWebhook(pull);
    await insertDeliveries(webhook, 700);
    const after = [0, 650, 333, 700, 0];
    const followers = await Promise.all(after.map((number) => follow(webhook, { after: String(number) })));
    await webhook.publishEvents(2);
    for (const [index, followed] of followers.entries()) {
      const first = (after[index] as number) + 1;
      await expect.poll(() => listSequences(followed).length).toBe(702 - first + 1);
      expect(listSequences(followed)).toEqual(numbers(702 - first + 1, first));
      followed.close();
    }
  });

  it('sends bodies of any size', async () => {
    const webhook = await createWebhook(pull);
    await insertDeliveries(webhook, 6, 250_000);
    const followed = await follow(webhook, { after: '0' });
    await expect.poll(() => listSequences(followed)).toEqual(numbers(6));
    followed.close();
  });

  it('says with which number it begins if earlier ones are no longer in the log', async () => {
    const webhook = await createWithPending(5);
    await sql`delete from webhook_deliveries where webhook_id = ${webhook.id} and sequence <= 3`.execute(world.db);
    const followed = await follow(webhook, { after: '1' });
    expect((await followed.until('ready')).data).toEqual({ from_sequence: 4 });
    await expect.poll(() => listSequences(followed)).toEqual([4, 5]);
    followed.close();
  });

  it('includes what was missed while the webhook was off', async () => {
    const webhook = await createWithPending(1);
    await webhook.patch({ enabled: false });
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending' }, { status: 'missed' }]);
    const followed = await follow(webhook);
    await expect.poll(() => listSequences(followed)).toEqual([1, 2]);
    followed.close();
  });

  it.each([
    ['a number that no delivery has yet', { after: '2' }, ['query', 'after_seq']],
    ['an id that no delivery has yet', { id: '2' }, ['header', 'Last-Event-ID']],
    ['an id that is no number', { id: 'x:1' }, ['header', 'Last-Event-ID']],
  ])('refuses %s', async (_name, options, loc) => {
    const webhook = await createWithPending(1);
    const path = `/deliveries/stream${'after' in options ? `?after_seq=${options.after}` : ''}`;
    const headers: Record<string, string> = 'id' in options ? { 'last-event-id': options.id } : {};
    const got = await webhook.call('GET', path, { headers });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  });

  it('counts as reading the webhook', async () => {
    const webhook = await createWebhook(pull);
    expect((await webhook.get()).last_trigger_time).toBeNull();
    (await follow(webhook)).close();
    expect((await webhook.get()).last_trigger_time).not.toBeNull();
  });

  it('ends when the webhook is deleted', async () => {
    const webhook = await createWithPending(1);
    const followed = await follow(webhook);
    await followed.until('delivery');
    await webhook.call('DELETE');
    await followed.ended;
  });

  it('ends when the credential is revoked', async () => {
    const webhook = await createWithPending(1);
    const editor = await world.member(workspace, 'editor', `${newId()}@example.com`);
    await world.share(webhook.app, editor, 'editor');
    const followed = await follow(webhook, { as: await world.token(editor, workspace) });
    await followed.until('delivery');
    await sql`update credentials set revoked_at = now() where user_id = ${editor.id}`.execute(world.db);
    expect((await followed.until('error')).data).toMatchObject({ status: 401 });
    await followed.ended;
  });

  it('is refused if too many streams are open', async () => {
    const webhook = await createWithPending(1);
    const few = await startSecondApp(world, { streamLimits: { ofCredential: 1 } });
    const first = await follow(webhook, { url: few.url });
    await first.until('ready');
    const second = await stream(few.url, `${webhook.path}/deliveries/stream`, { as: token });
    expect(second.status).toBe(429);
    first.close();
  });
});

describe('delivery.changed', () => {
  it('tells everybody who has seen a delivery what becomes of it', async () => {
    const webhook = await createWithPending(3);
    const [first, second] = [await follow(webhook, { after: '0' }), await follow(webhook, { after: '3' })];
    await expect.poll(() => listSequences(first)).toEqual([1, 2, 3]);
    await second.until('ready');
    await acknowledge(webhook, 2);
    for (const followed of [first, second]) {
      await expect
        .poll(() => listOf(followed, 'delivery.changed').map(({ data }) => [data.sequence, data.status]))
        .toEqual([
          [1, 'delivered'],
          [2, 'delivered'],
        ]);
      expect(listOf(followed, 'delivery.changed').every(({ id }) => id === undefined)).toBe(true);
    }
    await webhook.publishEvents();
    await expect.poll(() => listSequences(second)).toEqual([4]);
    await acknowledge(webhook, 4);
    await expect.poll(() => listOf(second, 'delivery.changed').length).toBe(4);
    first.close();
    second.close();
  });

  it('follows the attempts of a push webhook', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500 }));
    const followed = await follow(webhook, { after: '0' });
    await followed.until('ready');
    await withClaimsPaused(async () => {
      await webhook.publishEvents();
      const { data } = await followed.until('delivery');
      expect(data.delivery).toMatchObject({ sequence: 1, attempts_made: 0 });
      expect(verifyStreamed(data, webhook.secret)).toBeUndefined();
    });
    const last = () => listOf(followed, 'delivery.changed').at(-1)?.data;
    await expect.poll(last).toMatchObject({ status: 'pending', attempts_made: 1 });
    webhook.respondWith(() => ({}));
    await webhook.makeDueNow();
    await expect.poll(last).toMatchObject({ status: 'delivered', attempts_made: 2 });
    expect(listSequences(followed)).toEqual([1]);
    followed.close();
  });
});
