// Tests the example receivers in docs/guides/receivers, each in its own process, with real deliveries.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { type Received, receive } from '../../../../docs/guides/receivers/missing.ts';
import { freePort } from '../../../../harness/ports.ts';
import type { ReceivedRequest } from '../../../../sandbox/src/webhook-endpoint.ts';
import { runRecipe, startRecipe } from '../../../test/support/recipe.ts';
import { messageEvent, startWebhookScene, type TestWebhook } from '../../../test/support/webhook-receiver.ts';
import { newSecret } from './signing.ts';

const { world, token, createWebhook } = await startWebhookScene();
await world.startWorker();
const folder = mkdtempSync(join(tmpdir(), 'receivers-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Publishes a message event and returns the request that the webhook's endpoint received. */
async function delivered(webhook: TestWebhook): Promise<ReceivedRequest> {
  const before = webhook.received().length;
  const event = messageEvent(webhook.app, 'grüße\n"quoted" 💥 $(echo) `echo` %s \\');
  await world.app.publish(world.app.database.db, 'message.created', event, new Date());
  await expect.poll(() => webhook.received().length).toBe(before + 1);
  return webhook.received().at(-1) as ReceivedRequest;
}

describe.each(['verify.ts', 'verify.py', 'verify.sh'])('%s', (recipe) => {
  async function verdict(secret: string, { headers, body }: Pick<ReceivedRequest, 'body'> & { headers: object }) {
    const file = join(folder, 'headers');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    writeFileSync(file, lines.join(''));
    const { code, error } = await runRecipe(recipe, [file], { WEBHOOK_SECRET: secret }, body);
    return code === 0 ? 'genuine' : error.trim();
  }
  const changed = (request: ReceivedRequest, headers: object) => ({
    ...request,
    headers: { ...request.headers, ...headers },
  });

  it('accepts a genuine delivery, also with its body in a file', async () => {
    const webhook = await createWebhook();
    const request = await delivered(webhook);
    expect(await verdict(webhook.secret, request)).toBe('genuine');
    const file = join(folder, 'body');
    writeFileSync(file, request.body);
    const env = { WEBHOOK_SECRET: webhook.secret };
    expect((await runRecipe(recipe, [join(folder, 'headers'), file], env, '')).code).toBe(0);
  });

  it('refuses a changed body, timestamp or id, a wrong secret, and signatures that are wrong or missing', async () => {
    const webhook = await createWebhook();
    const request = await delivered(webhook);
    const timestamp = request.headers['webhook-timestamp'];
    const signature = String(request.headers['webhook-signature']);
    const wrong = 'webhook-signature does not match';
    expect(await verdict(webhook.secret, { ...request, body: request.body.replace('quoted', 'Quoted') })).toBe(wrong);
    expect(await verdict(webhook.secret, { ...request, body: `${request.body}\n` })).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-timestamp': Number(timestamp) - 1 }))).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-id': 'another' }))).toBe(wrong);
    expect(await verdict(newSecret(), request)).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-signature': 'v1,' }))).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-signature': '' }))).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-signature': signature.slice(3) }))).toBe(wrong);
    expect(await verdict(webhook.secret, changed(request, { 'webhook-signature': 'é'.repeat(signature.length) }))).toBe(
      wrong,
    );
    for (const other of ['', '0'.repeat(64), 'é'.repeat(64)])
      expect(await verdict(webhook.secret, changed(request, { 'x-service-signature': other }))).toBe(
        'X-Service-Signature does not match',
      );
    expect(await verdict(webhook.secret, changed(request, { 'webhook-timestamp': 'now' }))).toContain(
      'webhook-timestamp',
    );
  });

  it('refuses every delivery if no secret is set, also one signed with an empty secret', async () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'webhook-id': 'id',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${createHmac('sha256', '').update(`id.${timestamp}.{}`).digest('base64')}`,
      'x-service-signature': createHmac('sha256', '').update('{}').digest('hex'),
    };
    for (const secret of ['', 'whsec_'])
      expect(await verdict(secret, { headers, body: '{}' })).toBe(
        'WEBHOOK_SECRET is missing or does not begin with whsec_',
      );
  });

  it('refuses a correct signature that is more than five minutes old or from the future', async () => {
    const secret = newSecret();
    for (const [seconds, expected] of [
      [-360, 'webhook-timestamp is more than five minutes off'],
      [-240, 'genuine'],
      [360, 'webhook-timestamp is more than five minutes off'],
    ] as const) {
      const [id, body, timestamp] = ['id', '{}', Math.floor(Date.now() / 1000) + seconds];
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const headers = {
        'Webhook-Id': id,
        'Webhook-Timestamp': timestamp,
        'Webhook-Signature': `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
        'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
      };
      expect(await verdict(secret, { headers, body })).toBe(expected);
    }
  });

  it('accepts the old and the new secret during the overlap of a rotation, then only the new one', async () => {
    const webhook = await createWebhook();
    const { secret } = (await webhook.patch({ signing: 'rotate' })).body;
    const during = await delivered(webhook);
    expect(await verdict(secret, during)).toBe('genuine');
    expect(await verdict(webhook.secret, during)).toBe('genuine');
    expect(await verdict(newSecret(), during)).toBe('webhook-signature does not match');
    expect(await verdict(webhook.secret, { ...during, body: '{}' })).toBe('webhook-signature does not match');
    await sql`update webhooks set previous_secret_expires_at = now() where id = ${webhook.id}`.execute(world.db);
    const after = await delivered(webhook);
    expect(await verdict(secret, after)).toBe('genuine');
    expect(await verdict(webhook.secret, after)).toBe('webhook-signature does not match');
  });
});

describe('receive.ts', () => {
  const file = join(folder, 'deliveries.txt');

  /** Starts the receiver on a free port. `lines` is what it has printed since. */
  async function startReceiver(secret: string) {
    const port = await freePort();
    const child = startRecipe('receive.ts', [String(port), file], { WEBHOOK_SECRET: secret });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
    await expect.poll(() => printed).toContain('listening');
    return {
      lines: () => printed.split('\n').slice(1, -1),
      kill: async () => {
        child.kill('SIGKILL');
        await once(child, 'close');
      },
      async send({ headers, body }: ReceivedRequest, changes: object = {}) {
        const { host, connection, 'content-length': length, 'transfer-encoding': encoding, ...sent } = headers;
        const init = { method: 'POST', headers: { ...sent, ...changes } as Record<string, string>, body };
        return (await fetch(`http://127.0.0.1:${port}/`, init)).status;
      },
    };
  }

  it('stores each delivery once before it answers, also over a crash, and says which number it waits for', async () => {
    const webhook = await createWebhook();
    await webhook.publishEvents(4);
    await expect.poll(() => webhook.received().length).toBe(4);
    const inOrder = webhook
      .received()
      .sort((a, b) => Number(a.headers['x-service-sequence']) - Number(b.headers['x-service-sequence']));
    const [first, second, third, fourth] = inOrder as [
      ReceivedRequest,
      ReceivedRequest,
      ReceivedRequest,
      ReceivedRequest,
    ];
    const before = await startReceiver(webhook.secret);
    expect(await before.send(first, { 'webhook-signature': 'v1,wrong' })).toBe(400);
    expect(await before.send(first)).toBe(204);
    expect(await before.send(third)).toBe(204);
    expect(await before.send(third)).toBe(204);
    expect(before.lines()).toEqual([
      'refused: webhook-signature does not match',
      'message.created 1',
      'message.created 3, waiting for 2',
      `repeated: ${third.headers['x-service-delivery']}`,
    ]);
    await before.kill();
    appendFileSync(file, '2 a-delivery-that-was-cut-off {"id"');

    const after = await startReceiver(webhook.secret);
    expect(await after.send(fourth)).toBe(204);
    expect(await after.send(second)).toBe(204);
    expect(await after.send(first)).toBe(204);
    expect(after.lines()).toEqual([
      'message.created 4, waiting for 2',
      'message.created 2',
      `repeated: ${first.headers['x-service-delivery']}`,
    ]);
    await after.kill();
    const stored = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    expect(stored).toEqual(
      [first, third, fourth, second].map(
        ({ headers, body }) => `${headers['x-service-sequence']} ${headers['x-service-delivery']} ${body}`,
      ),
    );
  });
});

describe('missing.ts', () => {
  it.each([
    [[], 0, []],
    [[1, 2, 3], 3, []],
    [[3, 1, 2], 3, []],
    [[1, 3, 5, 3], 1, [3, 5]],
    [[5, 3, 4, 1, 2, 2, 7], 5, [7]],
  ])('reports for %j that all numbers up to %i were received, and %j beyond', (numbers, upTo, beyond) => {
    const none: Received = { upTo: 0, beyond: new Set() };
    const received = numbers.reduce(receive, none);
    expect([received.upTo, [...received.beyond].sort()]).toEqual([upTo, beyond]);
  });

  it('lists each sequence number that the receiver lacks with its status: delivered, missed, pending or forgotten', async () => {
    const webhook = await createWebhook();
    await webhook.publishEvents(130);
    await expect.poll(() => webhook.received().length).toBe(130);
    await expect
      .poll(async () => (await webhook.call('GET', '/deliveries?status=delivered&limit=1')).body.items[0]?.sequence)
      .toBe(130);
    const missing = async (numbers: number[]) => {
      const at = [`${world.url}${webhook.path}`];
      const { code, out, error } = await runRecipe('missing.ts', at, { PLINTH_TOKEN: token }, numbers.join('\n'));
      expect(error).toBe('');
      return {
        code,
        lines: out
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split(' ').slice(0, 2).join(' ')),
      };
    };
    const came = webhook.received().map(({ headers }) => Number(headers['x-service-sequence']));
    expect(await missing(came)).toEqual({ code: 0, lines: [] });
    expect(await missing(came.filter((n) => n !== 4 && n !== 120))).toEqual({
      code: 1,
      lines: ['4 delivered', '120 delivered'],
    });
    await webhook.patch({ enabled: false });
    await webhook.publishEvents(1);
    await expect.poll(() => missing(came)).toEqual({ code: 1, lines: ['131 missed'] });
    await sql`update webhook_deliveries set status = 'pending', due_at = now() + interval '1 hour'
      where webhook_id = ${webhook.id} and sequence = 131`.execute(world.db);
    expect(await missing(came)).toEqual({ code: 0, lines: ['131 pending'] });
    await sql`delete from webhook_deliveries where webhook_id = ${webhook.id} and sequence < 10`.execute(world.db);
    expect(await missing(came.filter((n) => n !== 8))).toEqual({ code: 1, lines: ['8 forgotten', '131 pending'] });
  });

  it("fails if the delivery log can't be read, instead of reporting that nothing is missing", async () => {
    const at = [`${world.url}/api/agents/nobody/webhooks/none`];
    const { code, error } = await runRecipe('missing.ts', at, { PLINTH_TOKEN: token }, '1\n');
    expect(code).not.toBe(0);
    expect(error).toContain("can't read the delivery log: 404");
  });
});
