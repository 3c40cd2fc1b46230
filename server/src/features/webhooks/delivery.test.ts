// Tests deliveries end to end: events are published, workers deliver them, and a real endpoint receives them over TLS.
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { ReceivedRequest } from '../../../../sandbox/src/webhook-endpoint.ts';
import { messageEvent, publish, recordEvent, startWebhookScene } from '../../../test/support/webhook-receiver.ts';
import { transaction } from '../../kit/db/database.ts';

const { world, url, token, createWebhook } = await startWebhookScene();
await world.startWorker();
const as = { as: token };
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);
const sequences = (requests: { headers: Record<string, unknown> }[]) =>
  requests.map(({ headers }) => Number(headers['x-service-sequence']));

describe('a delivery', () => {
  it('of a message has the documented body, headers and signatures, byte for byte', async () => {
    const webhook = await createWebhook();
    const event = messageEvent(webhook.app, 'grüße "quoted" 💥');
    const at = new Date('2126-11-14T09:30:00.123Z');
    await world.app.publish(world.app.database.db, 'message.created', event, at);
    await expect.poll(webhook.received).toHaveLength(1);
    const { headers, body } = webhook.received()[0] as ReceivedRequest;
    const [delivery] = await webhook.listDeliveries();
    const { message, user } = event.data;
    expect(body).toBe(
      `{"id":"${delivery.event_id}","type":"message.created","created_at":"2126-11-14T09:30:00.123Z",` +
        `"agent_id":"${webhook.app.id}","conversation_id":"${event.conversation_id}","data":{"message":{"id":"${message.id}",` +
        `"role":"user","content":"grüße \\"quoted\\" 💥","file_urls":[],"created_date":"${message.created_date}",` +
        `"updated_date":"${message.updated_date}"},"user":{"id":"${user.id}","email":"${user.email}"}}}`,
    );
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Plinth-Webhooks/1',
      'x-service-event': 'message.created',
      'x-service-delivery': delivery.id,
      'x-service-attempt': '1',
      'x-service-sequence': '1',
      'x-service-signature': createHmac('sha256', webhook.secret).update(body).digest('hex'),
      'webhook-id': delivery.id,
    });
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60);
    expect((await webhook.call('GET', `/deliveries/${delivery.id}`)).body.payload).toEqual(JSON.parse(body));
  });

  it('is counted in the metrics by outcome, with its duration and the time since its event', async () => {
    const readCount = async (name: string) =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await world.app.metrics.render())?.[1] ?? 0);
    const names = [
      'plinth_webhook_attempts_total{outcome="delivered"}',
      'plinth_webhook_attempt_duration_seconds_count',
      'plinth_webhook_first_attempt_seconds_count',
    ];
    const before = await Promise.all(names.map(readCount));
    const webhook = await createWebhook();
    await publish(world, 'message.created', messageEvent(webhook.app, 'counted'));
    await expect.poll(webhook.received).toHaveLength(1);
    await expect.poll(() => Promise.all(names.map(readCount))).toEqual(before.map((count) => count + 1));
  });

  it('of a record has the documented body, byte for byte', async () => {
    const webhook = await createWebhook({}, { scope: 'app' });
    const event = recordEvent(webhook.app);
    await publish(world, 'entity.updated', event);
    await expect.poll(webhook.received).toHaveLength(1);
    const [delivery] = await webhook.listDeliveries();
    const { id, created_at } = JSON.parse(webhook.received()[0]?.body ?? '');
    expect(id).toBe(delivery.event_id);
    expect(webhook.received()[0]?.body).toBe(
      `{"id":"${id}","type":"entity.updated","created_at":"${created_at}","app_id":"${webhook.app.id}",` +
        `"entity_name":"Order","entity_id":"${event.entity_id}","data":{"total":2},"old_data":{"total":1},` +
        `"changed_fields":["total"],"actor":{"id":"${event.actor?.id}","email":"person@example.com"},"depth":0,` +
        `"payload_too_large":false}`,
    );
  });

  it('of a truncated message says content_truncated', async () => {
    const webhook = await createWebhook();
    const { data, ...event } = messageEvent(webhook.app, 'the start of it');
    const message = { ...data.message, content_truncated: true } as const;
    await publish(world, 'message.created', { ...event, data: { ...data, message } });
    await expect.poll(webhook.received).toHaveLength(1);
    expect(webhook.received()[0]?.body).toContain(
      '"content":"the start of it","content_truncated":true,"file_urls":[]',
    );
  });

  it('of a webhook without a secret has no signatures', async () => {
    const webhook = await createWebhook({ generate_secret: false });
    await webhook.publishEvents();
    await expect.poll(webhook.received).toHaveLength(1);
    expect(webhook.received()[0]?.headers).not.toHaveProperty('x-service-signature');
    expect(webhook.received()[0]?.headers).not.toHaveProperty('webhook-signature');
    expect(webhook.received()[0]?.headers).toHaveProperty('webhook-id');
  });

  it('is not made for a change that was rolled back, which uses no sequence number', async () => {
    const webhook = await createWebhook();
    await transaction(world.app.database.db, async (db) => {
      await world.app.publish(db, 'message.created', messageEvent(webhook.app, 'undone'), new Date());
      throw new Error('undone');
    }).catch(() => {});
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ sequence: 1, status: 'delivered' }]);
    expect(webhook.received()[0]?.body).not.toContain('undone');
  });
});

describe('a webhook', () => {
  it('receives events of its own agent only', async () => {
    const [mine, theirs] = [await createWebhook(), await createWebhook()];
    await theirs.publishEvents(3);
    await mine.publishEvents();
    await expect.poll(() => [mine.received().length, theirs.received().length]).toEqual([1, 3]);
    expect(JSON.parse(mine.received()[0]?.body ?? '')).toMatchObject({ agent_id: mine.app.id });
  });

  it('receives the events it subscribes to; others use none of its sequence numbers', async () => {
    const webhook = await createWebhook({ events: ['message.completed'] });
    await webhook.publishEvents(2);
    await publish(world, 'message.completed', messageEvent(webhook.app));
    await webhook.waitForDeliveries([{ sequence: 1, event_type: 'message.completed', status: 'delivered' }]);
  });

  it('of an app receives events of the entities it names, and of all once entity_names is cleared', async () => {
    const webhook = await createWebhook(
      { events: ['entity.created', 'entity.deleted'], entity_names: ['Order'] },
      { scope: 'app' },
    );
    await publish(world, 'entity.created', recordEvent(webhook.app, 'Invoice'));
    await publish(world, 'entity.updated', recordEvent(webhook.app, 'Order'));
    await publish(world, 'entity.created', recordEvent(webhook.app, 'Order'));
    await webhook.waitForDeliveries([{ sequence: 1, event_type: 'entity.created' }]);
    await webhook.patch({ entity_names: null });
    await publish(world, 'entity.deleted', recordEvent(webhook.app, 'Invoice'));
    await webhook.waitForDeliveries([{ sequence: 1 }, { sequence: 2, event_type: 'entity.deleted' }]);
    await expect.poll(webhook.received).toHaveLength(2);
    expect(webhook.received().map(({ body }) => JSON.parse(body).entity_name)).toEqual(['Order', 'Invoice']);
  });

  it('keeps receiving events after a downgrade of the plan', async () => {
    const poor = await world.person('poor@example.com');
    const downgraded = await world.workspace(poor, 'pro');
    const on = await world.appOf(poor, downgraded, { app_type: 'user_agent' });
    const webhook = await createWebhook({}, { on, as: await world.token(poor, downgraded) });
    await sql`update workspaces set plan = 'free' where id = ${downgraded}`.execute(world.db);
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'delivered' }]);
  });

  it('receives pending deliveries at its new URL', async () => {
    const [webhook, other] = [await createWebhook(), await createWebhook()];
    webhook.respondWith(() => ({ status: 500 }));
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ status: 'pending', attempts_made: 1 }]);
    await webhook.patch({ target_url: (await other.get()).target_url });
    await webhook.makeDueNow();
    await expect.poll(other.received).toHaveLength(1);
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
    expect(other.received()[0]?.body).toBe(webhook.received()[0]?.body);
  });
});

describe('the sequence', () => {
  it('numbers the deliveries of each webhook from 1 without a gap, in event order, over many batches', async () => {
    const first = await createWebhook();
    const second = await createWebhook({}, { on: first.app });
    await first.publishEvents(30);
    await expect.poll(() => first.received().length).toBe(30);
    const third = await createWebhook({}, { on: first.app });
    await transaction(world.app.database.db, async (db) => {
      for (const n of numbers(70))
        await world.app.publish(db, 'message.created', messageEvent(first.app, `${n}`), new Date());
    });
    await expect.poll(() => [first, second, third].map((each) => each.received().length)).toEqual([100, 100, 70]);
    for (const [each, count] of [
      [first, 100],
      [second, 100],
      [third, 70],
    ] as const)
      expect(sequences(each.received()).sort((a, b) => a - b)).toEqual(numbers(count));
    const order = await sql<{ sequence: number }>`select sequence from webhook_deliveries
      where webhook_id = ${first.id} order by event_id`.execute(world.db);
    expect(order.rows.map((row) => row.sequence)).toEqual(numbers(100));
    const contents = third
      .received()
      .toSorted((a, b) => Number(a.headers['x-service-sequence']) - Number(b.headers['x-service-sequence']));
    expect(contents.map(({ body }) => JSON.parse(body).data.message.content)).toEqual(numbers(70).map(String));
  });

  it('has no gap and no repeats after a fan-out that failed and was retried', async () => {
    const webhook = await createWebhook();
    await webhook.publishEvents(2);
    await webhook.waitForDeliveries([{ status: 'delivered' }, { status: 'delivered' }]);
    await sql`alter table webhook_deliveries add constraint no_fourth check (webhook_id <> ${sql.lit(webhook.id)} or sequence <> 4)`.execute(
      world.db,
    );
    await transaction(world.app.database.db, async (db) => {
      for (const n of numbers(3))
        await world.app.publish(db, 'message.created', messageEvent(webhook.app, `${n}`), new Date());
    });
    await expect
      .poll(
        async () =>
          (await sql`select 1 from events where failures > 0 and dispatched_at is null`.execute(world.db)).rows.length,
      )
      .toBe(2);
    await sql`alter table webhook_deliveries drop constraint no_fourth`.execute(world.db);
    await webhook.waitForDeliveries(numbers(5).map((sequence) => ({ sequence, status: 'delivered' })));
    expect(sequences(webhook.received()).sort()).toEqual(numbers(5));
    expect(new Set(webhook.received().map(({ body }) => body)).size).toBe(5);
  });

  it('orders and filters the log, together with status, event type and time', async () => {
    const webhook = await createWebhook({ events: ['message.created', 'message.completed'] });
    await webhook.publishEvents(4);
    await publish(world, 'message.completed', messageEvent(webhook.app));
    await webhook.waitForDeliveries(numbers(5).map((sequence) => ({ sequence, status: 'delivered' })));
    const list = async (query: string) =>
      (await webhook.call('GET', `/deliveries?${query}`)).body.items.map((each: { sequence: number }) => each.sequence);
    expect(await list('')).toEqual([5, 4, 3, 2, 1]);
    expect(await list('after_seq=2')).toEqual([3, 4, 5]);
    expect(await list('before_seq=3')).toEqual([2, 1]);
    expect(await list('after_seq=1&before_seq=4')).toEqual([2, 3]);
    expect(await list('event_type=message.completed')).toEqual([5]);
    expect(await list('status=delivered&limit=2')).toEqual([5, 4]);
    expect(await list('status=failed')).toEqual([]);
    const at = (await webhook.listDeliveries())[2].created_date;
    expect(await list(`from=${at}`)).toContain(3);
    expect(await list('to=2020-01-01T00:00:00Z')).toEqual([]);
    const first = (await webhook.call('GET', '/deliveries?after_seq=0&limit=2')).body;
    const next = (await webhook.call('GET', `/deliveries?after_seq=0&limit=2&cursor=${first.next_cursor}`)).body;
    expect(next.items.map((each: { sequence: number }) => each.sequence)).toEqual([3, 4]);
  });
});

describe('rotation', () => {
  it('signs with both secrets for 24 hours, then with the new one only; disable drops both at once', async () => {
    const webhook = await createWebhook();
    const { secret } = (await webhook.patch({ signing: 'rotate' })).body;
    const lastSigned = async () => {
      const before = webhook.received().length;
      await webhook.publishEvents();
      await expect.poll(() => webhook.received().length).toBe(before + 1);
      const { headers, body } = webhook.received().at(-1) as { headers: Record<string, string>; body: string };
      const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
      const signers = [secret, webhook.secret].filter((each) =>
        headers['webhook-signature']?.split(' ').includes(
          `v1,${createHmac('sha256', Buffer.from(each.slice(6), 'base64'))
            .update(text)
            .digest('base64')}`,
        ),
      );
      const own = createHmac('sha256', secret).update(body).digest('hex') === headers['x-service-signature'];
      return { signers, count: headers['webhook-signature']?.split(' ').length, own };
    };
    expect(await lastSigned()).toEqual({ signers: [secret, webhook.secret], count: 2, own: true });
    await sql`update webhooks set previous_secret_expires_at = now() where id = ${webhook.id}`.execute(world.db);
    expect(await lastSigned()).toEqual({ signers: [secret], count: 1, own: true });
    await webhook.patch({ signing: 'rotate' });
    await webhook.patch({ signing: 'disable' });
    expect(await lastSigned()).toEqual({ signers: [], count: undefined, own: false });
  });
});

describe('deletion', () => {
  it('of a webhook stops pending and new deliveries; a job removes its log', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500 }));
    await webhook.publishEvents(2);
    await webhook.waitForDeliveries([{ attempts_made: 1 }, { attempts_made: 1 }]);
    await webhook.call('DELETE');
    await webhook.makeDueNow();
    await webhook.publishEvents(2);
    const left = async () =>
      (
        await sql`select webhook_id from webhook_deliveries where webhook_id = ${webhook.id}
          union all select webhook_id from deleted_webhooks where webhook_id = ${webhook.id}`.execute(world.db)
      ).rows;
    await expect.poll(left).toEqual([]);
    expect(webhook.received()).toHaveLength(2);
  });

  it('of an app delays its deliveries until the app is restored', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500 }));
    await webhook.publishEvents();
    await webhook.waitForDeliveries([{ attempts_made: 1 }]);
    const path = `/api/agents/${webhook.app.id}`;
    expect((await world.call('DELETE', path, as)).status).toBe(200);
    await webhook.makeDueNow();
    const waits = async () =>
      (
        await sql<{ waits: boolean }>`select due_at > now() + interval '50 minutes' as waits from webhook_deliveries
        where webhook_id = ${webhook.id}`.execute(world.db)
      ).rows[0]?.waits;
    await expect.poll(waits).toBe(true);
    expect(webhook.received()).toHaveLength(1);
    expect((await world.call('POST', `/api/apps/${webhook.app.id}/restore`, as)).status).toBe(200);
    webhook.respondWith(() => ({}));
    await webhook.makeDueNow();
    await webhook.waitForDeliveries([{ status: 'delivered', attempts_made: 2 }]);
  });
});

describe('isolation', () => {
  /** Counts the endpoint's concurrent requests, and their maximum. */
  function counting(afterMs: number) {
    const seen = { now: 0, most: 0 };
    const behave = () => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      setTimeout(() => {
        seen.now -= 1;
      }, afterMs - 5);
      return { afterMs };
    };
    return { seen, behave };
  }

  it('runs at most four attempts per webhook and sixteen per host; other hosts are not delayed', async () => {
    const hooks = await Promise.all(numbers(6).map(() => createWebhook({})));
    const other = await createWebhook({ target_url: url('/another-host', 'other') });
    const one = counting(150);
    const all = counting(150);
    for (const each of hooks)
      each.respondWith(() => {
        if (each === hooks[0]) one.behave();
        return all.behave();
      });
    for (const each of hooks) await each.publishEvents(8);
    await other.publishEvents();
    await expect.poll(async () => (await other.listDeliveries())[0]?.status).toBe('delivered');
    await expect.poll(() => hooks.map((each) => each.received().length)).toEqual(Array(6).fill(8));
    expect(one.seen.most).toBeLessThanOrEqual(4);
    expect(all.seen.most).toBeLessThanOrEqual(16);
    expect(all.seen.most).toBeGreaterThan(8);
  });

  it('reuses connections within a workspace and never shares them with another', async () => {
    const stranger = await world.person('stranger@example.com');
    const elsewhere = await world.workspace(stranger);
    const on = await world.appOf(stranger, elsewhere, { app_type: 'user_agent' });
    const [mine, theirs] = [
      await createWebhook(),
      await createWebhook({}, { on, as: await world.token(stranger, elsewhere) }),
    ];
    for (const each of Array(5).fill([mine, theirs]).flat()) {
      const before = each.received().length;
      await each.publishEvents();
      await expect.poll(() => each.received().length).toBe(before + 1);
    }
    const ports = (each: typeof mine) => new Set(each.received().map((request) => request.from));
    expect(ports(theirs).size).toBeLessThan(5);
    expect(ports(mine).isDisjointFrom(ports(theirs))).toBe(true);
  });
});
