// Counts a worker's round trips to PostgreSQL on the wire: from a committed event to the first byte of its deliveries,
// for completing the deliveries, and while idle. The slot's connection is not counted.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '../src/kit/db/database.ts';
import type { Tables } from '../src/tables.ts';
import { startDatabaseProxy } from './support/database-proxy.ts';
import { startWebhookScene } from './support/webhook-receiver.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close(); // runs after the World has stopped the worker
});
const { world, createWebhook } = await startWebhookScene();
const proxy = await startDatabaseProxy(world.config.DATABASE_URL);
const sent: string[] = [];
const proxied = openDatabase<Tables>({ url: proxy.url, poolSize: 10, onStatement: (text) => sent.push(text) });
closing.push(proxied.close, proxy.close);
await world.startWorker({ db: proxied.db });
const webhook = await createWebhook();
const others = await Promise.all(Array.from({ length: 4 }, () => createWebhook({}, { on: webhook.app })));

/** Returns the lowest count of several turns, to exclude round trips by polling and jobs. */
async function measure(turns: number, run: () => Promise<number>): Promise<number> {
  const counts: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    await sleep(100);
    counts.push(await run());
  }
  return Math.min(...counts);
}

async function publishAndWait(): Promise<{ untilSent: number; untilCompleted: number }> {
  const [before, deliveries] = [proxy.roundTrips, (await webhook.listDeliveries()).length + 1];
  let untilSent = Number.NaN;
  for (const each of [webhook, ...others])
    each.respondWith(() => {
      if (Number.isNaN(untilSent)) untilSent = proxy.roundTrips - before;
      return {};
    });
  await webhook.publishEvents();
  await expect.poll(() => webhook.listDeliveries()).toHaveLength(deliveries);
  for (const each of [webhook, ...others])
    await expect.poll(async () => (await each.listDeliveries()).at(-1)).toMatchObject({ status: 'delivered' });
  return { untilSent, untilCompleted: proxy.roundTrips - before };
}

it('an event takes 3 round trips until the first byte of its deliveries is sent', async () => {
  expect(await measure(8, async () => (await publishAndWait()).untilSent)).toBeLessThanOrEqual(3);
});

it('completing a delivery takes one more', async () => {
  for (const each of others) await each.call('DELETE');
  others.length = 0;
  expect(await measure(8, async () => (await publishAndWait()).untilCompleted)).toBeLessThanOrEqual(4);
});

it('an idle worker takes 2 round trips a second at most', async () => {
  await sleep(1_000);
  const seconds = 5;
  const rate = await measure(3, async () => {
    sent.length = 0;
    const before = proxy.roundTrips;
    await sleep(seconds * 1_000);
    return (proxy.roundTrips - before) / seconds;
  });
  expect(rate, sent.map((text) => text.slice(0, 120)).join('\n')).toBeLessThanOrEqual(2);
});
