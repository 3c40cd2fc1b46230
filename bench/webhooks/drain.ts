// Measures how fast a backlog is delivered, against a bare loop, and how fast events are delivered while they are published.
import { once } from 'node:events';
import { newId } from '../../server/src/kit/ids.ts';
import { median, rounded } from '../lib/statistics.ts';
import type { LoopOrder } from './bare-loop.ts';
import {
  type Agent,
  agentCount,
  type Environment,
  publishMessage,
  publishMessages,
  webhooksPerAgent,
} from './environment.ts';
import { bodyOf } from './message.ts';
import type { Seen } from './receiver.ts';

const concurrentPerAgent = 16;

type Progress = (line: string) => void;

const perSecond = ({ count, firstAt, lastAt }: Seen): number => (count - 1) / ((lastAt - firstAt) / 1000);

/** Publishes all events in one transaction. The rate is measured at the receiver, from the first delivery to the last. */
export async function measureDrain(environment: Environment, events: number, blocks: number, progress: Progress) {
  const { agents, receiver, bareLoop } = environment;
  const drain = async (start: () => Promise<unknown>) => {
    await receiver.request('reset');
    await start();
    return perSecond(await receiver.until(events * webhooksPerAgent));
  };
  const order = { atOnce: concurrentPerAgent, each: events / agentCount, body: bodyOf(newId(), newId()) };
  const runLoop = (client: LoopOrder['client']) => {
    bareLoop.send({ ...order, client } satisfies LoopOrder);
    return once(bareLoop, 'message');
  };
  const runBlock = async () => ({
    bare: await drain(() => runLoop('plinth')),
    plinth: await drain(() => publishMessages(environment, agents, events)),
    undici: await drain(() => runLoop('undici')),
  });
  await runBlock(); // warm-up
  const rates: Awaited<ReturnType<typeof runBlock>>[] = [];
  for (let block = 1; block <= blocks; block += 1) {
    const rate = await runBlock();
    rates.push(rate);
    const described = Object.entries(rate).map(([name, value]) => `${name} ${rounded(value, 0)}/s`);
    progress(`drain, block ${block} of ${blocks}: ${described.join(', ')}`);
  }
  return {
    drain_ratio: rounded(median(rates.map(({ plinth, bare }) => plinth / bare)), 3),
    drain_ratio_to_undici: rounded(median(rates.map(({ plinth, undici }) => plinth / undici)), 3),
    drain_per_second: rounded(median(rates.map(({ plinth }) => plinth)), 0),
    bare_per_second: rounded(median(rates.map(({ bare }) => bare)), 0),
    undici_per_second: rounded(median(rates.map(({ undici }) => undici)), 0),
  };
}

export async function publishAndDeliver(environment: Environment, seconds: number, progress: Progress) {
  const { agents, receiver } = environment;
  await receiver.request('reset');
  const end = performance.now() + seconds * 1000;
  let published = 0;
  const client = async () => {
    while (performance.now() < end) {
      published += 1;
      await publishMessage(environment, agents[published % agentCount] as Agent);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const rate = perSecond(await receiver.until(published * webhooksPerAgent, 120_000));
  progress(`published ${rounded(published / seconds, 0)} events/s, delivered ${rounded(rate, 0)}/s`);
  return { published_per_second: rounded(published / seconds, 0), deliveries_per_second: rounded(rate, 0) };
}
