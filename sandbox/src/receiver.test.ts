// Tests that the sandbox's receiver reports whether each delivery's signature is genuine, and never accepts a forged
// one.
import { createHmac } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { startReceiver } from './receiver.ts';

const lines: string[] = [];
const receiver = await startReceiver(0, (line) => lines.push(line));
afterAll(() => receiver.close());

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
const body = '{"type":"entity.created","data":{"item":"Tea"}}';

/** Signs as a sender would. Implemented from docs/api/webhooks.md#signatures. */
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

const openPage = async (path: string) => {
  const response = await fetch(receiver.url + path, { headers: { accept: 'text/html,*/*;q=0.8' }, redirect: 'manual' });
  return { headers: response.headers, text: await response.text() };
};

it('shows browsers the newest delivery first: how it was signed and answered, its headers and its body', async () => {
  await deliver('/page', sign(body));
  await deliver('/status/500/page', { ...sign(body), 'webhook-signature': 'v1,forged' });
  await deliver('/page/plain', {}, 'only text');
  const { text, headers } = await openPage('/received');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  const [plain = '', forged = '', valid = ''] = text.split('<li id=').slice(1);
  expect(plain).toContain('POST /page/plain');
  expect(plain).toContain('none: this request is not from a webhook');
  expect(plain).toContain('signature missing');
  expect(plain).toContain('only text');
  expect(forged).toContain('signature invalid');
  expect(forged).toContain('answered 500');
  expect(valid).toContain('<span class="badge good">signature valid</span>');
  expect(valid).toContain('entity.created, number 1, attempt 1');
  expect(valid).toMatch(/<dt>webhook-id<\/dt><dd>d1<\/dd>/);
  expect(valid).toMatch(/<dt>webhook-timestamp<\/dt><dd>\d+ \(<time datetime="20/);
  expect(valid).toContain('&#34;data&#34;: {\n    &#34;item&#34;: &#34;Tea&#34;\n  }');
  expect((await openPage('/')).headers.get('location')).toBe('/received');
});

it('filters its page by the path, and says what will appear', async () => {
  const { text } = await openPage('/received?path=/page');
  expect(text.match(/<li id=/g)).toHaveLength(1);
  const fresh = await startReceiver();
  const empty = await (await fetch(`${fresh.url}/received`, { headers: { accept: 'text/html' } })).text();
  expect(empty).toContain('Nothing received yet');
  expect(empty).toContain('No deliveries. The sandbox keeps the last 1,000, until it restarts.');
  await fresh.close();
});

it('escapes markup in the path, the headers and the body of a delivery', async () => {
  const hostile = `<script>alert('x')</script>`;
  await deliver(
    `/x?${hostile}"'`,
    { 'x-service-event': hostile, 'webhook-id': hostile, [`x-${'a'}`]: `"${hostile}` },
    hostile,
  );
  await deliver('/json', {}, JSON.stringify({ [hostile]: `</pre>${hostile}` }));
  const { text } = await openPage('/received');
  expect(text).toContain('&#60;/pre&#62;&#60;script&#62;');
  expect(text).toContain('<dt>webhook-id</dt><dd>&#60;script&#62;');
  expect(text.match(/<script/g)).toHaveLength(1);
});
