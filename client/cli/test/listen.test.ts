// `plinthctl listen` with a real server, worker and receiver: what the receiver gets, even when either side fails.
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { startWorld } from '../../../server/test/support/world.ts';
import { Plinth } from '../../sdk/src/index.ts';
import { verifyWebhook } from '../../sdk/src/webhooks.ts';
import { isOld } from '../src/commands/listen.ts';
import { type Ended, openTerminal, type Terminal } from './plinthctl.ts';

const world = await startWorld();
await world.startWorker();
const ada = await world.person('ada@example.com');
const workspace = await world.workspace(ada, 'enterprise');
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(ada, workspace);
const plinth = new Plinth({ url: world.url, token });

const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);
const lines = (printed: string) => printed.trim().split('\n').filter(Boolean);

interface Received {
  readonly sequence: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** A receiver that answers as `answer` decides. */
async function startReceiver() {
  const received: Received[] = [];
  const receiver = {
    received,
    answer: (_: number): number => 200,
    url: '',
    listSequences: () => received.map(({ sequence }) => sequence),
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const sequence = Number(request.headers['x-service-sequence']);
    response.statusCode = receiver.answer(sequence);
    received.push({ sequence, headers: request.headers, body });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}

interface Scene extends Terminal {
  readonly app_id: string;
  listen(...more: string[]): Promise<Ended>;
  /** Creates tasks, and waits until their deliveries have numbers. */
  create(count: number): Promise<void>;
  webhook(): Promise<{ id: string; disabled_at: string | null }>;
  /** The status of every delivery, by number. */
  statuses(): Promise<string[]>;
}

/** An app of its own, and a terminal of its own. */
async function openScene(): Promise<Scene> {
  const { id: app_id } = await world.appOf(ada, workspace);
  await plinth.putEntitySchema({ app_id, entity_name: 'Task', name: 'Task', properties: {} });
  const terminal = await openTerminal({ PLINTH_URL: world.url, PLINTH_TOKEN: token });
  let created = 0;
  const scene = {
    ...terminal,
    app_id,
    listen: (...more: string[]) => terminal.run(['listen', '--app', app_id, '--until-idle', '1', ...more]),
    async create(count: number) {
      await plinth.app(app_id).entity('Task').createMany(Array(count).fill({}));
      created += count;
      const { id: webhook_id } = await scene.webhook();
      const newest = async () => (await plinth.listAppDeliveries({ app_id, webhook_id, limit: 1 })).items[0]?.sequence;
      while ((await newest()) !== created) await wait(50);
    },
    async webhook() {
      const [webhook] = await plinth.listAppWebhooks({ app_id });
      if (webhook === undefined) throw new Error('there is no webhook');
      return webhook;
    },
    async statuses() {
      const { id: webhook_id } = await scene.webhook();
      const { items } = await plinth.listAppDeliveries({ app_id, webhook_id, after_seq: 0, limit: 100 });
      return items.map(({ status }) => status);
    },
  };
  return scene;
}

describe.concurrent('listen', () => {
  it('forwards every delivery in order, signed, and acknowledges it', async ({ expect }) => {
    const { listen, create, statuses, run, app_id } = await openScene();
    const receiver = await startReceiver();
    const first = await listen('--forward-to', receiver.url);
    expect([first.status, first.stdout]).toEqual([0, '']);
    await create(3);
    const { status, stdout } = await listen('--forward-to', receiver.url);
    expect(status).toBe(0);
    expect(lines(stdout).map((line) => JSON.parse(line))).toMatchObject(
      numbers(3).map((sequence) => ({ sequence, event_type: 'entity.created', status: 200 })),
    );
    expect(receiver.listSequences()).toEqual([1, 2, 3]);
    const secret = (await run(['listen', '--app', app_id, '--print-secret'])).stdout.trim();
    for (const each of receiver.received) {
      const verified = await verifyWebhook(each, { secret });
      expect([verified.sequence, verified.event.type]).toEqual([each.sequence, 'entity.created']);
    }
    expect(await statuses()).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('prints deliveries if there is nowhere to send them', async ({ expect }) => {
    const { listen, create } = await openScene();
    await listen();
    await create(2);
    const { stdout, stderr } = await listen();
    expect(lines(stdout).map((line) => JSON.parse(line))).toMatchObject([
      { sequence: 1, event: { type: 'entity.created', entity_name: 'Task' } },
      { sequence: 2, event: { type: 'entity.created', entity_name: 'Task' } },
    ]);
    expect(lines(stderr).at(-1)).toBe('Received 2 deliveries, up to number 2.');
  });

  it('sends a delivery again until the receiver takes it, and no later one before', async ({ expect }) => {
    const { listen, create, statuses } = await openScene();
    const receiver = await startReceiver();
    await listen();
    await create(3);
    let refusals = 0;
    receiver.answer = (sequence) => (sequence === 2 && refusals++ < 2 ? 503 : 204);
    const { stderr } = await listen('--forward-to', receiver.url);
    expect(receiver.listSequences()).toEqual([1, 2, 2, 2, 3]);
    expect(stderr).toContain('2: the receiver answered 503. Trying again in 1 s.');
    expect(await statuses()).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('acknowledges nothing that the receiver has not taken, and ends with Ctrl+C', async ({ expect }) => {
    const { listen, create, statuses, start, app_id } = await openScene();
    await listen();
    await create(2);
    const receiver = await startReceiver();
    receiver.answer = (sequence) => (sequence === 1 ? 200 : 500);
    const child = start(['listen', '--app', app_id, '--forward-to', receiver.url]);
    await expect.poll(() => receiver.received.length).toBe(2);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await statuses()).toEqual(['delivered', 'pending']);
    receiver.answer = () => 200;
    await listen('--forward-to', receiver.url);
    expect(receiver.listSequences().slice(-2)).toEqual([2, 2]);
  });

  it('begins again with a number, and leaves out what is before it', async ({ expect }) => {
    const { listen, create } = await openScene();
    await listen();
    await create(3);
    const receiver = await startReceiver();
    await listen('--forward-to', receiver.url, '--from', '3');
    await listen('--forward-to', receiver.url, '--from', '2');
    expect(receiver.listSequences()).toEqual([3, 2, 3]);
  });

  it('says which numbers the log no longer has', async ({ expect }) => {
    const { listen, create, webhook } = await openScene();
    await listen();
    await create(4);
    const { id } = await webhook();
    const removeTwo = () =>
      world.db
        .deleteFrom('webhook_deliveries')
        .where('workspace_id', '=', workspace)
        .where('webhook_id', '=', id)
        .where('sequence', 'in', [2, 3])
        .executeTakeFirst();
    expect((await removeTwo()).numDeletedRows).toBe(2n);
    const { stderr, stdout } = await listen();
    expect(lines(stdout).map((line) => JSON.parse(line).sequence)).toEqual([1, 4]);
    expect(stderr).toContain('Deliveries 2 to 3 are no longer in the log.');
  });

  it('uses its webhook again, turns it on, and creates another one only if it was deleted', async ({ expect }) => {
    const { listen, webhook, app_id, folder } = await openScene();
    await listen();
    const { id: webhook_id } = await webhook();
    await plinth.updateAppWebhook({ app_id, webhook_id, enabled: false });
    expect((await listen()).stderr).toContain('is on again');
    expect(await webhook()).toMatchObject({ id: webhook_id, disabled_at: null });
    await plinth.deleteAppWebhook({ app_id, webhook_id });
    expect((await listen()).status).toBe(0);
    expect((await webhook()).id).not.toBe(webhook_id);
    const files = join(folder, 'config/plinth/listen');
    expect(await readdir(files)).toEqual([`${app_id}.json`]);
    expect((await stat(join(files, `${app_id}.json`))).mode & 0o777).toBe(0o600);
  });

  it('refuses a second one of the same, and a push webhook', async ({ expect }) => {
    const { listen, start, app_id } = await openScene();
    const child = start(['listen', '--app', app_id]);
    await once(child.stderr as NodeJS.ReadableStream, 'data');
    expect((await listen()).stderr).toContain('already_listening');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await listen()).status).toBe(0);
    const target_url = 'https://93.184.215.14/hook';
    const { id } = await plinth.createAppWebhook({ app_id, target_url, events: ['entity.created'] });
    const refused = await listen('--webhook', id);
    expect([refused.status, refused.stderr]).toMatchObject([1, /"webhook_is_push"/]);
  });

  it('follows the messages of an agent', async ({ expect }) => {
    const agent = await world.appOf(ada, workspace, { app_type: 'user_agent' });
    const { run } = await openTerminal({ PLINTH_URL: world.url, PLINTH_TOKEN: token });
    const { status } = await run(['listen', '--agent', agent.id, '--until-idle', '1', '--events', 'message.created']);
    expect(status).toBe(0);
    const webhooks = await plinth.listAgentWebhooks({ agent_id: agent.id });
    expect(webhooks).toMatchObject([{ mode: 'pull', events: ['message.created'] }]);
  });

  it('killed five times over 300 deliveries, sends every number, and repeats only the last one', async ({ expect }) => {
    const { listen, create, start, app_id } = await openScene();
    const receiver = await startReceiver();
    await listen();
    await create(300);
    const killedAt: number[] = [];
    for (const until of [30, 80, 130, 190, 260]) {
      const child = start(['listen', '--app', app_id, '--forward-to', receiver.url]);
      await expect.poll(() => receiver.received.length, { interval: 1 }).toBeGreaterThan(until);
      child.kill('SIGKILL');
      await once(child, 'exit');
      killedAt.push(receiver.received.at(-1)?.sequence ?? 0);
    }
    await listen('--forward-to', receiver.url);
    const sequences = receiver.listSequences();
    expect([...new Set(sequences)]).toEqual(numbers(300));
    const repeated = sequences.filter((each, index) => sequences.indexOf(each) < index);
    expect(repeated.filter((each) => !killedAt.includes(each))).toEqual([]);
  });
});

describe('a delivery', () => {
  const at = (seconds: number) => ({ headers: { 'webhook-timestamp': String(seconds) } });

  it.each([
    ['was signed a minute ago', at(940), 0, false],
    ['was signed three minutes ago', at(820), 0, true],
    ['was read a moment ago, with clocks that differ', at(820), 990_000, false],
    ['is not signed', { headers: {} }, 0, false],
  ])('that %s', (_, delivery, openedAt, expected) => {
    expect(isOld(delivery, openedAt, 1_000_000)).toBe(expected);
  });
});
