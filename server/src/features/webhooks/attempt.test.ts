// Tests single attempts by using the test operation, which sends its request immediately. Covers the request, and the
// part of the response that is kept.
import { describe, expect, it } from 'vitest';
import { startWebhookScene } from '../../../test/support/webhook-receiver.ts';

const { createWebhook } = await startWebhookScene();

describe('testAgentWebhook', () => {
  it('sends a sample of message.completed, signed, without a number', async () => {
    const webhook = await createWebhook();
    const { body } = await webhook.call('POST', '/test');
    expect(body).toEqual({
      ok: true,
      delivery_id: expect.any(String),
      status_code: 200,
      error_type: null,
      response_body: '',
      duration_ms: expect.any(Number),
    });
    const [request] = webhook.received();
    expect(request?.headers).toMatchObject({
      'x-service-event': 'message.completed',
      'x-service-delivery': body.delivery_id,
      'x-service-attempt': '1',
      'x-service-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(request?.headers).not.toHaveProperty('x-service-sequence');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ type: 'message.completed', data: { test: true } });
  });

  it('writes nothing, whether it succeeds or fails, and works while the webhook is off', async () => {
    const webhook = await createWebhook();
    await webhook.patch({ enabled: false });
    const before = await webhook.get();
    expect((await webhook.call('POST', '/test')).body.ok).toBe(true);
    webhook.respondWith(() => ({ status: 500, body: 'broken' }));
    expect((await webhook.call('POST', '/test')).body).toMatchObject({
      ok: false,
      status_code: 500,
      response_body: 'broken',
    });
    expect(await webhook.get()).toEqual(before);
    expect(await webhook.listDeliveries()).toEqual([]);
  });

  it('of an app webhook sends a sample of its first event', async () => {
    const webhook = await createWebhook(
      { events: ['entity.deleted', 'entity.created'], entity_names: ['Invoice'] },
      { scope: 'app' },
    );
    await webhook.call('POST', '/test');
    expect(JSON.parse(webhook.received()[0]?.body ?? '')).toMatchObject({
      type: 'entity.deleted',
      app_id: webhook.app.id,
      entity_name: 'Invoice',
      data: { test: true },
    });
  });
});

describe('what an endpoint answered', () => {
  const four = '💥';
  it.each([
    ['short text is kept whole', Buffer.from('no, thank you'), 'no, thank you'],
    ['512 bytes are kept', Buffer.alloc(512, 'x'), 'x'.repeat(512)],
    ['513 are cut to 512', Buffer.alloc(513, 'x'), 'x'.repeat(512)],
    ['a character across the boundary is left out whole', Buffer.from(`${'x'.repeat(510)}${four}`), 'x'.repeat(510)],
    [
      'one that ends at the boundary is kept',
      Buffer.from(`${'x'.repeat(508)}${four}${four}`),
      `${'x'.repeat(508)}${four}`,
    ],
    ['invalid UTF-8 is replaced', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ['a character broken off by the end is replaced', Buffer.from([0x61, 0xf0, 0x9f]), 'a\ufffd'],
    ['NUL is left out', Buffer.from('a\0b'), 'ab'],
    ['nothing is nothing', Buffer.alloc(0), ''],
  ])('%s', async (_rule, body, expected) => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500, body }));
    const got = await webhook.call('POST', '/test');
    expect(got.body.response_body).toBe(expected);
  });

  it('replacement characters stay within 512 bytes', async () => {
    const webhook = await createWebhook();
    webhook.respondWith(() => ({ status: 500, body: Buffer.alloc(600, 0xff) }));
    const { response_body } = (await webhook.call('POST', '/test')).body;
    expect(Buffer.byteLength(response_body)).toBe(510);
    expect(response_body).toBe('\ufffd'.repeat(170));
  });
});
