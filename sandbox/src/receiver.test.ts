// The receiver of the sandbox says of every delivery whether its signature is genuine, and never that it is if it is not.
import { createHmac } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { startReceiver } from './receiver.ts';

const lines: string[] = [];
const receiver = await startReceiver(0, (line) => lines.push(line));
afterAll(() => receiver.close());

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
const body = '{"type":"entity.created","data":{"item":"Tea"}}';

/** As a sender signs, written from docs/api/webhooks.md#signatures. */
function sign(text: string, timestamp = Math.floor(Date.now() / 1000)) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return {
    'webhook-id': 'd1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${createHmac('sha256', key).update(`d1.${timestamp}.${text}`).digest('base64')}`,
    'x-service-signature': createHmac('sha256', secret).update(text).digest('hex'),
    'x-service-event': 'entity.created',
    'x-service-delivery': 'd1',
    'x-service-sequence': '1',
    'x-service-attempt': '1',
  };
}
const deliver = (path: string, headers: Record<string, string>, text = body) =>
  fetch(receiver.url + path, { method: 'POST', headers, body: text });
const received = async (path: string) => (await fetch(`${receiver.url}/received?path=${path}`)).json();

it('says that it knows no secret, until it does', async () => {
  expect((await deliver('/orders', sign(body))).status).toBe(200);
  expect(await received('/orders')).toMatchObject([{ signature: 'not checked: send the secret to POST /secrets' }]);
  expect((await fetch(`${receiver.url}/secrets`, { method: 'POST', body: 'hunter2' })).status).toBe(400);
  expect((await fetch(`${receiver.url}/secrets`, { method: 'POST', body: `${secret}\n` })).status).toBe(200);
  expect(await received('/orders')).toEqual([
    {
      path: '/orders',
      event: 'entity.created',
      delivery: 'd1',
      sequence: 1,
      attempt: 1,
      answered: 200,
      signature: 'valid',
      body: JSON.parse(body),
    },
  ]);
});

it.each([
  ['a changed body', '/changed', sign(body), body.replace('Tea', 'Tee'), 'webhook-signature does not match'],
  ['an old timestamp', '/old', sign(body, 1_700_000_000), body, 'webhook-timestamp is more than five minutes off'],
])('calls %s invalid', async (_what, path, headers, text, reason) => {
  await deliver(path, headers, text);
  expect(await received(path)).toMatchObject([{ signature: `invalid with each of the 1 known secrets: ${reason}` }]);
});

it('calls a delivery without a signature unsigned', async () => {
  await deliver('/bare', { 'x-service-event': 'entity.created' });
  expect(await received('/bare')).toMatchObject([{ signature: 'missing: the delivery is not signed', sequence: null }]);
});

it('answers with the status in the path, and prints a line for each delivery', async () => {
  expect((await deliver('/status/503/orders', sign(body))).status).toBe(503);
  expect(lines.at(-1)).toBe('/status/503/orders  entity.created, number 1, attempt 1: signature valid');
  expect((await fetch(`${receiver.url}/orders`)).status).toBe(404);
});

it('answers one request after the other with the statuses in the path', async () => {
  const statuses: number[] = [];
  for (const _ of Array(3)) statuses.push((await deliver('/status/503,201/chat', {})).status);
  expect(statuses).toEqual([503, 201, 201]);
  expect(await received('/status/503,201/chat')).toMatchObject(statuses.map((answered) => ({ answered })));
  expect(lines.at(-1)).toBe('/status/503,201/chat  answered 201: not from a webhook');
});

it('shows the headers that are asked for', async () => {
  await deliver('/headers', { authorization: 'Bearer t-1' });
  expect(await received('/headers&headers=Authorization,idempotency-key')).toMatchObject([
    { headers: { authorization: 'Bearer t-1', 'idempotency-key': '' } },
  ]);
});
